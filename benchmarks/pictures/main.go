// Command pictures compares what pictures show of 50 kernels, with 1 to 5,000 periods in range, with the mean at 100,000 equally
// spaced places: how far the line is off, or how far the mean leaves the strips of the envelope, in percent of its range. The model
// has 200 rows at random places of [0, 1], drawn from the kernel. Here the kernels are formulas, and Cholesky's factor is Gonum's.
//
//	go run -C benchmarks ./pictures > benchmarks/results/DATE-pictures.txt
package main

import (
	"context"
	"fmt"
	"log"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"

	"gonum.org/v1/gonum/mat"

	"gpfit/cpu"
	"gpfit/device"
	"gpfit/gp"
	"gpfit/mean"
	"gpfit/show/effect"
	"gpfit/show/plotting"
)

const (
	rows, grid = 200, 100_000
	noise      = 0.01
	allowed    = 0.02
)

// term is a term of a kernel, as text and as a formula of the distance.
type term struct {
	text string
	k    func(d float64) float64
}

// problem is a kernel with a mean function.
type problem struct {
	terms []term
	waves []mean.Function
}

func rbf(l float64) term {
	return term{fmt.Sprintf("rbf(lengthscale=%g)", l), func(d float64) float64 { return math.Exp(-d * d / (2 * l * l)) }}
}

func periodic(l, p float64) term {
	return term{fmt.Sprintf("periodic(lengthscale=%g, period=%g)", l, p), func(d float64) float64 {
		sine := math.Sin(math.Pi*d/p) / l
		return math.Exp(-2 * sine * sine)
	}}
}

func cosine(p float64) term {
	return term{fmt.Sprintf("cosine(period=%g)", p), func(d float64) float64 { return math.Cos(2 * math.Pi * d / p) }}
}

func matern(twice int, l float64) term {
	return term{fmt.Sprintf("matern%d2(lengthscale=%g)", twice, l), func(d float64) float64 {
		t := math.Sqrt(float64(twice)) * math.Abs(d) / l
		return math.Exp(-t) * []float64{1, 1 + t, 1 + t + t*t/3}[twice/2]
	}}
}

func times(a, b term) term {
	return term{a.text + "*" + b.text, func(d float64) float64 { return a.k(d) * b.k(d) }}
}

func problems() (all []problem) {
	add := func(terms ...term) { all = append(all, problem{terms: terms}) }
	for _, turns := range []float64{1, 3, 10, 30, 75, 100, 150, 300, 700, 1000, 2000, 5000} {
		add(times(rbf(0.2), periodic(1, 1/turns)))
	}
	for _, turns := range []float64{1, 10, 50, 100, 300, 1000, 2000, 5000} {
		add(periodic(0.3, 1/turns))
	}
	for _, turns := range []float64{10, 100, 1000, 5000} {
		add(times(rbf(0.5), periodic(0.1, 1/turns)))
	}
	for _, turns := range []float64{14, 52, 140, 365, 1000, 2000, 3500, 5000} {
		add(times(rbf(0.3), periodic(0.8, 1/turns)), periodic(1, 7/turns))
	}
	for _, turns := range []float64{5, 40, 120, 333, 900, 1500, 3000, 5000} {
		add(times(cosine(1/turns), matern(3, 0.1)))
	}
	for _, turns := range []float64{2, 50, 200, 800, 2500, 5000} {
		p := problem{terms: []term{matern(1, 0.3)}}
		for harmonic := range 2 {
			period := 1 / (turns * float64(harmonic+1))
			for _, group := range []string{mean.Cosine, mean.Sine} {
				p.waves = append(p.waves, mean.Function{Group: group, Width: period, Period: period})
			}
		}
		all = append(all, p)
	}
	add(matern(1, 1e-2))
	add(matern(1, 1e-4))
	add(matern(3, 1e-3))
	add(rbf(0.3), matern(5, 2e-4))
	return all
}

// cloud is a model with means by formulas.
type cloud struct {
	problem
	model        *gp.Model
	x, y, weight []float64
}

func (c *cloud) covariance(d float64) (sum float64) {
	for _, t := range c.terms {
		sum += t.k(d)
	}
	return sum
}

func (c *cloud) waved(x float64) (sum float64) {
	for i, f := range c.waves {
		angle := 2 * math.Pi * x / f.Width
		sum += []float64{1, 0.5, 0.3, -0.4}[i] * map[string]float64{mean.Cosine: math.Cos(angle), mean.Sine: math.Sin(angle)}[f.Group]
	}
	return sum
}

// newCloud draws rows of a problem and finds the weights.
func newCloud(p problem, rng *rand.Rand) *cloud {
	c := &cloud{problem: p, x: make([]float64, rows), y: make([]float64, rows), weight: make([]float64, rows)}
	var texts []string
	for _, t := range p.terms {
		texts = append(texts, t.text)
	}
	sigma, z := mat.NewSymDense(rows, nil), mat.NewVecDense(rows, nil)
	for i := range rows {
		c.x[i] = rng.Float64()
		z.SetVec(i, rng.NormFloat64())
		for j := range i + 1 {
			sigma.SetSym(i, j, c.covariance(c.x[i]-c.x[j]))
		}
		sigma.SetSym(i, i, sigma.At(i, i)+noise)
	}
	var factor mat.Cholesky
	if !factor.Factorize(sigma) {
		log.Fatal("singular")
	}
	var lower mat.TriDense
	factor.LTo(&lower)
	y, alpha := mat.NewVecDense(rows, c.y), mat.NewVecDense(rows, c.weight)
	y.MulVec(&lower, z)
	if err := factor.SolveVecTo(alpha, y); err != nil {
		log.Fatal(err)
	}
	for i := range c.y {
		c.y[i] += c.waved(c.x[i])
	}
	c.model = &gp.Model{Kernel: strings.Join(texts, " + "), Columns: []int{0}, FeatureNames: []string{"x"}, TargetName: "y", NoiseVariance: noise,
		Scaling: gp.Scaling{XMean: []float64{0}, XScale: []float64{1}, YScale: 1}, X: c.x, Y: c.y, Alpha: c.weight,
		Mean: gp.Mean{Basis: c.waves, Coefficients: []float64{1, 0.5, 0.3, -0.4}[:len(c.waves)]}}
	c.model.Theta = start(c.model)
	return c
}

// start returns the parameters that the text of a kernel gives, and 1 for others.
func start(m *gp.Model) (theta []float64) {
	program, err := m.Program()
	if err != nil {
		log.Fatal(err)
	}
	for _, p := range program.Params {
		if p.Start == nil {
			p.Start = slices.Repeat([]float64{1}, p.Size)
		}
		theta = append(theta, p.Start...)
	}
	return theta
}

// mean returns the mean at x by a formula.
func (c *cloud) mean(x float64, k func(d float64) float64) (sum float64) {
	for i, at := range c.x {
		sum += c.weight[i] * k(x-at)
	}
	return sum
}

// shown describes a picture.
type shown struct {
	what          string
	predictions   int
	missed, wider float64
}

// compare samples a function of a model and compares it with a formula up to an end.
func compare(ctx context.Context, m *gp.Model, p *gp.Posterior, least int, end float64, want func(x float64) float64) shown {
	columns, err := effect.Columns(m)
	if err != nil {
		log.Fatal(err)
	}
	c, made := &columns[0], shown{}
	c.High = max(c.High, end)
	means := func(values []float64) ([][]float64, error) {
		made.predictions += len(values)
		return p.PredictMeans(ctx, values, len(values))
	}
	s, err := c.Sample(m, least, means)
	if err != nil {
		log.Fatal(err)
	}
	if s.Values == nil {
		made.what = "not drawn"
		return made
	}
	predicted, err := p.PredictTargets(ctx, s.Values, len(s.Values), gp.RowNoise{})
	if err != nil {
		log.Fatal(err)
	}
	low, high := predicted[0].Function(0.95)
	dense := make([]float64, grid)
	for i := range dense {
		dense[i] = want(c.Low + (c.High-c.Low)*float64(i)/(grid-1))
	}
	size := slices.Max(dense) - slices.Min(dense)
	switch l := s.Layers("", predicted[0].Mean, low, high)[1].(type) {
	case *plotting.Line:
		made.what = fmt.Sprintf("line of %d", len(l.X))
		for i, v := range dense {
			place := float64(i) / (grid - 1) * float64(len(l.X)-1)
			k := min(int(place), len(l.X)-2)
			share := place - float64(k)
			made.missed = max(made.missed, math.Abs(v-l.Y[k]*(1-share)-l.Y[k+1]*share)/size)
		}
	case *plotting.Band:
		made.what = fmt.Sprintf("%d strips", len(l.X)/2)
		for k := 0; k < len(l.X); k += 2 {
			lowest, highest := math.Inf(1), math.Inf(-1)
			for i, v := range dense {
				if x := c.Low + (c.High-c.Low)*float64(i)/(grid-1); x >= l.X[k] && x <= l.X[k+1] {
					lowest, highest = min(lowest, v), max(highest, v)
				}
			}
			made.missed = max(made.missed, (l.Lower[k]-lowest)/size, (highest-l.Upper[k])/size)
			made.wider = max(made.wider, (lowest-l.Lower[k])/size, (l.Upper[k]-highest)/size)
		}
	}
	return made
}

func main() {
	log.SetFlags(0)
	ctx := context.Background()
	backend, err := cpu.New(device.Options{})
	if err != nil {
		log.Fatal(err)
	}
	all := problems()
	fmt.Printf("%s, %d kernels, %d rows each, %d places\n", time.Now().UTC().Format(time.DateOnly), len(all), rows, grid)
	fmt.Printf("missed: how far the mean leaves the picture; wider: how far strips go beyond the mean at these places, which are too few for the narrowest peaks; %% of the range\n\n")
	fmt.Printf("%-8s %-12s %8s %8s %12s  %s\n", "picture", "shows", "missed", "wider", "predictions", "kernel")
	counts := map[string]int{}
	for number, one := range all {
		c := newCloud(one, rand.New(rand.NewPCG(7, uint64(number))))
		p, err := c.model.Condition(ctx, backend)
		if err != nil {
			log.Fatal(err)
		}
		whole := func(x float64) float64 { return c.mean(x, c.covariance) + c.waved(x) }
		report := func(picture string, s shown, text string) {
			fmt.Printf("%-8s %-12s %8.3f %8.3f %12d  %s\n", picture, s.what, 100*s.missed, 100*s.wider, s.predictions, text)
			kind := "lines"
			if strings.Contains(s.what, "strips") {
				kind = "envelopes"
			} else if s.what == "not drawn" {
				kind = s.what
			}
			counts[kind]++
			if s.missed > allowed {
				counts["false"]++
			}
		}
		text := c.model.Kernel
		if c.waves != nil {
			text += fmt.Sprintf(" with waves of %.3g and %.3g", c.waves[0].Period, c.waves[2].Period)
		}
		report("effect", compare(ctx, c.model, p, 61, 0, whole), text)
		report("series", compare(ctx, c.model, p, 400, 1.2, whole), text)
		for i := range c.terms {
			if len(c.terms) == 1 {
				break
			}
			single := *c.model
			single.Kernel, single.Mean = c.terms[i].text, gp.Mean{}
			single.Theta = start(&single)
			alone, err := single.Attach(p.Workspace())
			if err != nil {
				log.Fatal(err)
			}
			report("term", compare(ctx, c.model, alone, 61, 0, func(x float64) float64 { return c.mean(x, c.terms[i].k) }), single.Kernel)
		}
		if err := p.Close(); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Printf("\n%d lines, %d envelopes, %d not drawn; %d false by more than %.0f %%\n", counts["lines"], counts["envelopes"], counts["not drawn"], counts["false"], 100*allowed)
	if counts["false"] > 0 {
		os.Exit(1)
	}
}

package reliability

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"gpfit/fit/problem"
	"gpfit/gp"
	"gpfit/graph"
	"gpfit/hyperopt"
	"gpfit/hyperopt/descent"
	"gpfit/kernel"
)

// composites are used in random problems in addition to the families.
var composites = []string{
	"rbf + matern32", "rbf(ard)*periodic + rq", "rbf*matern52 + linear*cosine", "poly(3) + constant", "poly(9)*rbf",
	"matern(7.5) + rbf*constant", "rbf(lengthscale=1e-3) + rbf(lengthscale=1e3)", "(rbf + linear)*(periodic + constant)",
	"rbf(dims=0) + matern12", "wendland(2) + arcsine", "gibbs*rbf + hamming",
	"formula(exp(-(r/a)^g), a=1, g=1)", "formula(exp(a*(x+y)), a=0.1, dims=0)*rbf", "formula(cos(r/a), a=1)",
	"formula(log1p(dot*dot)/a, a=2) + rbf", "formula((x + y - abs(x - y))/2, dims=0)", "formula(sqrt(xx*yy)*a, a=1)",
	"formula(1/(r - a), a=1)", "formula(tanh(dot)/(1 + r2/a), a=3, ard)",
}

var meanFunctions = []string{"", "", "constant", "linear", "poly(2)", "poly(7)", "bumps(3)", "linear + bumps(5)"}

// trial is a random problem generated from a seed.
type trial struct {
	seed uint64
	data problem.Data
	opts problem.Options
	// rows are m rows to predict.
	rows []float64
	m    int
}

func (p *trial) String() string {
	o := p.opts
	return fmt.Sprintf("seed %d: n %d, d %d, kernel %q ard %t, mean %q %s, no noise %t, standardize %q, objective %q, jitter %g, set %v, fix %v",
		p.seed, p.data.N, p.data.D, o.Kernel, o.ARD, o.Mean, o.MeanFit, o.NoNoise, o.Standardize, o.Objective, o.MaxJitter, o.Set, o.Fix)
}

func pick[T any](rng *rand.Rand, from ...T) T { return from[rng.IntN(len(from))] }

// often returns true in k of ten cases.
func often(rng *rand.Rand, k int) bool { return rng.IntN(10) < k }

// scale returns a power of ten from 1e-150 to 1e150, and 1 in half of the cases.
func scale(rng *rand.Rand) float64 {
	if often(rng, 5) {
		return 1
	}
	if often(rng, 5) {
		return math.Pow(10, 12*rng.Float64()-6)
	}
	return math.Pow(10, 300*rng.Float64()-150)
}

// newProblem returns a problem with 1 to largest rows and up to 30 columns.
func newProblem(seed uint64, largest int) *trial {
	rng := rand.New(rand.NewPCG(seed, 2026))
	p := &trial{seed: seed}
	n := int(math.Exp(rng.Float64() * math.Log(float64(largest)+0.99)))
	d := 1 + int(30*math.Pow(rng.Float64(), 2.5))
	p.data = problem.Data{N: n, D: d, TargetName: "y"}
	for c := range d {
		p.data.FeatureNames = append(p.data.FeatureNames, fmt.Sprintf("x%d", c))
	}
	wild := often(rng, 3)
	p.data.X = inputs(rng, n, d, wild)
	p.data.Y = targets(rng, p.data.X, n, d, wild)
	if often(rng, 1) {
		p.addKnownNoise(rng)
	}
	if n > 10 && often(rng, 2) {
		p.data.Test = make([]bool, n)
		for i := range p.data.Test {
			p.data.Test[i] = i%7 == 3
		}
	}
	p.opts = options(rng, n, d)
	p.chooseRows(rng)
	return p
}

// inputs returns rows that are normal, on a grid, on a line that makes Σ
// ill-conditioned, or repeated; columns may be constant and have any scale.
func inputs(rng *rand.Rand, n, d int, wild bool) []float64 {
	x := make([]float64, n*d)
	kind := rng.IntN(5)
	for i := range n {
		for c := range d {
			v := rng.NormFloat64()
			switch kind {
			case 1:
				v = float64(rng.IntN(4))
			case 2:
				v = float64(i) / float64(n)
			case 3:
				if i > 0 {
					v = x[(i-1)*d+c] + 1e-9*v
				}
			}
			x[i*d+c] = v
		}
		if i > 0 && kind == 4 && often(rng, 5) {
			copy(x[i*d:(i+1)*d], x[rng.IntN(i)*d:])
		}
	}
	for c := range d {
		factor, shift := 1.0, 0.0
		if wild {
			factor = scale(rng)
		}
		if often(rng, 1) {
			factor, shift = 0, 3
		} else if often(rng, 1) {
			shift = factor * math.Pow(10, 15*rng.Float64())
		}
		for i := range n {
			x[i*d+c] = x[i*d+c]*factor + shift
		}
	}
	return x
}

// targets returns targets that depend on the inputs, or are noise, constant or nearly constant.
func targets(rng *rand.Rand, x []float64, n, d int, wild bool) []float64 {
	factor, noise, shift, kind := 1.0, math.Pow(10, -16*rng.Float64()), 0.0, rng.IntN(10)
	if wild {
		factor = scale(rng)
	}
	if often(rng, 2) {
		shift = factor * math.Pow(10, 17*rng.Float64())
	}
	y := make([]float64, n)
	for i := range y {
		switch kind {
		case 0:
			y[i] = factor
			continue
		case 1:
			y[i] = rng.NormFloat64()
		case 2:
			y[i] = math.Pow(10, 30*rng.Float64()-15)
		default:
			y[i] = math.Sin(math.Mod(x[i*d], 10)) + noise*rng.NormFloat64()
		}
		y[i] = y[i]*factor + shift
	}
	return y
}

func (p *trial) addKnownNoise(rng *rand.Rand) {
	p.data.NoiseColumn = "s2"
	size := math.Pow(10, 40*rng.Float64()-20)
	for range p.data.N {
		p.data.NoiseVariance = append(p.data.NoiseVariance, size*rng.ExpFloat64())
	}
}

// options returns options for n rows of d columns. Mean functions with more
// coefficients than rows are errors, and therefore rare.
func options(rng *rand.Rand, n, d int) problem.Options {
	families := kernel.Families()
	o := problem.Options{Kernel: pick(rng, families...), ARD: often(rng, 4)}
	if n > 8*d || often(rng, 1) {
		o.Mean = pick(rng, meanFunctions...)
	}
	if often(rng, 4) {
		o.Kernel = pick(rng, composites...)
	}
	if o.Mean != "" && often(rng, 3) {
		o.MeanFit = problem.MeanFree
	}
	switch rng.IntN(8) {
	case 0:
		o.NoNoise = true
	case 1:
		o.Fix = []problem.Assignment{{Name: "noise_variance", Value: math.Pow(10, -20+8*rng.Float64()), Given: true}}
	case 2:
		o.Fix = []problem.Assignment{{Name: "noise_variance", Value: math.Pow(10, 12*rng.Float64()), Given: true}}
	case 3:
		o.Set = []problem.Assignment{{Name: "noise_variance", Value: 1e-6, Given: true}}
	}
	if often(rng, 2) {
		o.Standardize = pick(rng, gp.StandardizeNone, gp.StandardizeX, gp.StandardizeY)
	}
	if often(rng, 1) {
		o.Objective = problem.LOO
	}
	if often(rng, 2) {
		o.MaxJitter = math.Pow(10, -12+10*rng.Float64())
	}
	if often(rng, 1) && !o.NoNoise && !strings.Contains(o.Kernel, "formula") {
		o.Priors = []problem.ParameterPrior{{Name: "noise_variance", Density: graph.Prior{Family: "lognormal", Args: []float64{-3, 2}}}}
	}
	o.StdErrors = o.Objective != problem.LOO && often(rng, 1)
	o.LeaveOneOut = often(rng, 1)
	o.Settings = hyperopt.Settings{MaxEvaluations: 8, Seed: rng.Uint64N(1000)}
	if often(rng, 2) {
		o.Settings.Method = pick(rng, descent.Methods()...)
	}
	if often(rng, 1) {
		o.Settings.Restarts = 2
	}
	return o
}

// chooseRows chooses rows to predict: training rows, rows between them and rows far away.
func (p *trial) chooseRows(rng *rand.Rand) {
	d := p.data.D
	p.m = 12
	for i := range p.m {
		at := rng.IntN(p.data.N) * d
		far := []float64{0, 1e-3, 1, 1e6}[i%4]
		for c := range d {
			v := p.data.X[at+c]
			p.rows = append(p.rows, v+far*v*rng.NormFloat64())
		}
	}
}

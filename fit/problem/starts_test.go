package problem

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/gonum/mat"

	"gpfit/graph"
	"gpfit/internal/must"
	"gpfit/kernel"
)

// column returns n values of one feature from f, and targets from g.
func column(n int, f func(i int) float64, g func(x float64) float64) Data {
	d := Data{N: n, D: 1}
	for i := range n {
		x := f(i)
		d.X, d.Y = append(d.X, x), append(d.Y, g(x))
	}
	return d
}

// TestStartsCover checks that the starts combine levels of noise from 1e-6 to half of the variance
// with lengthscales from below the spacing of the points to beyond their range, within the bounds,
// that fixed parameters keep their values, and that no two leaves start equal.
func TestStartsCover(t *testing.T) {
	d := column(200, func(i int) float64 { return float64(i) / 10 }, func(x float64) float64 { return math.Sin(x) })
	for _, c := range []struct {
		o           Options
		noise, span [2]float64
	}{
		{Options{Kernel: "rbf", Mean: "zero"}, [2]float64{1e-6, 0.5}, [2]float64{2, 50}},
		{Options{Mean: "zero", Kernel: "rbf + matern32"}, [2]float64{1e-6, 0.5}, [2]float64{2, 50}},
		{Options{Kernel: "rbf", Mean: "zero", Bounds: []Interval{{"noise_variance", 1e-3, 10}}}, [2]float64{1e-3, 0.5}, [2]float64{2, 50}},
		{Options{Kernel: "rbf", Mean: "zero", Fix: []Assignment{{Name: "noise_variance", Value: 0.2, Given: true}}}, [2]float64{0.2, 0.2}, [2]float64{2, 50}},
	} {
		j := must.Get(New(d, c.o))(t)
		noise, length := [2]float64{math.Inf(1), 0}, [2]float64{math.Inf(1), 0}
		starts, _ := j.Starts()
		if len(starts) < 3 {
			t.Fatalf("%+v: %d starts", c.o, len(starts))
		}
		for _, z := range starts {
			var lengths []float64
			for i, q := range j.Params.Free {
				v := q.Natural(z[i])
				switch q.Name {
				case "noise_variance":
					noise = [2]float64{min(noise[0], v), max(noise[1], v)}
				case "lengthscale", "k1.lengthscale", "k2.lengthscale":
					length = [2]float64{min(length[0], v), max(length[1], v)}
					lengths = append(lengths, v)
				}
			}
			if slices.Sort(lengths); len(slices.Compact(lengths)) != len(lengths) {
				t.Errorf("%+v: leaves start equal at %v", c.o, lengths)
			}
		}
		must.Near(t, fmt.Sprintf("%+v: noise", c.o), noise[:], c.noise[:], 1e-9, 0) // rounding of exp and log
		spacing := 0.1 / j.Sample.Scalings[0].XScale[0]
		if length[0] > c.span[0]*spacing*1.001 || length[1] < c.span[1]*spacing {
			t.Errorf("%+v: lengthscales from %g to %g spacings", c.o, length[0]/spacing, length[1]/spacing)
		}
	}
}

// TestStartsOfTerms checks that without restarts each term of a sum begins on its own, too: with the
// variance of the targets, where the others have less than the noise. A sum of one term has no such
// starts.
func TestStartsOfTerms(t *testing.T) {
	d := column(100, func(i int) float64 { return float64(i) / 10 }, func(x float64) float64 { return math.Sin(x) + math.Sin(7*x) })
	for _, c := range []struct {
		kernel string
		alone  []string // the signal variances of the terms
	}{
		{"rbf", nil},
		{"rbf*periodic", nil},
		{"rbf + linear + matern12", []string{"k1.signal_variance", "k2.signal_variance", "k3.signal_variance"}},
	} {
		j := must.Get(New(d, Options{Mean: "zero", Kernel: c.kernel}))(t)
		starts, first := j.Starts()
		for _, name := range c.alone {
			begins := slices.ContainsFunc(starts[:first], func(z []float64) bool {
				noise, own, others := 0.0, 0.0, 0.0
				for i, q := range j.Params.Free {
					switch v := q.Natural(z[i]); {
					case q.Name == "noise_variance":
						noise = v
					case q.Name == name:
						own = v
					case slices.Contains(c.alone, q.Name):
						others += v
					}
				}
				return others < noise && noise < 0.2*own && own > 0.1
			})
			if !begins {
				t.Errorf("%s: no start with %s alone among %d", c.kernel, name, first)
			}
		}
		if want := firstSchemes + len(c.alone)*len(aloneSchemes); first != want {
			t.Errorf("%s: %d starts take part without restarts, want %d", c.kernel, first, want)
		}
	}
}

// TestPoorVariance checks that a poor start value of the signal variance is none of the suggested
// starts, and that a kernel that explains nothing is tried with large variances: with a fixed, long
// lengthscale the optimum has one.
func TestPoorVariance(t *testing.T) {
	d := column(100, func(i int) float64 { return float64(i) / 10 }, func(x float64) float64 { return math.Sin(x) })
	j := must.Get(New(d, Options{Kernel: "rbf", Mean: "zero", Set: []Assignment{{Name: "signal_variance", Value: 1e-6, Given: true}}}))(t)
	index := slices.IndexFunc(j.Params.Free, func(q *Parameter) bool { return q.Name == "signal_variance" })
	starts, _ := j.Starts()
	for _, z := range starts {
		if v := math.Exp(z[index]); v < 0.1 {
			t.Errorf("a start has the signal variance %g", v)
		}
	}
	near, far := j.Alternatives(j.Params.Start())
	if !slices.ContainsFunc(slices.Concat(near, far), func(z []float64) bool { return z[index] > math.Log(1e3) }) {
		t.Error("no alternative has a large signal variance")
	}
}

// TestPeriodogram checks that the highest peak is the period of a wave under a trend, on
// even and on random points, to a tenth of a turn over the range.
func TestPeriodogram(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 9))
	for name, f := range map[string]func(i int) float64{
		"even":   func(i int) float64 { return float64(i) / 12 },
		"random": func(int) float64 { return 25 * rng.Float64() },
	} {
		d := column(300, f, func(x float64) float64 {
			return 0.02*x*x + math.Sin(2*math.Pi*x/0.73) + 0.3*rng.NormFloat64()
		})
		peaks, _, _ := periodogram(d.X, d.Y, periodRows)
		// The width of a peak is one turn over the range of 25, a quarter of which is the step.
		if len(peaks) == 0 || math.Abs(25/peaks[0].period-25/0.73) > 0.25 {
			t.Errorf("%s: peaks %+v", name, peaks)
		}
	}
	if p, _, _ := periodogram([]float64{1, 1, 1}, []float64{1, 2, 3}, periodRows); p != nil {
		t.Errorf("a constant column has periods %v", p)
	}
}

// TestTwins checks that repeated and nearly repeated rows share a group, that others do
// not, and that a large group is split.
func TestTwins(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	var rows []float64
	place := make([]int, 0, 300)
	for i := range 300 {
		if i%3 == 0 || i >= 240 {
			rows = append(rows, rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64())
			place = append(place, i)
			continue
		}
		from := rows[3*place[i-1] : 3*place[i-1]+3]
		rows = append(rows, from[0], from[1]+1e-4*float64(i%3), from[2])
		place = append(place, place[i-1])
	}
	g := twinsOf(kernel.NewPoints(rows, 300, 3))
	for i := range 300 {
		for j := range i {
			if (g[i] == g[j]) != (place[i] == place[j]) {
				t.Fatalf("rows %d and %d: groups %d and %d, places %d and %d", i, j, g[i], g[j], place[i], place[j])
			}
		}
	}
	if g := twinsOf(kernel.NewPoints(rows[720:], 60, 3)); g != nil {
		t.Errorf("distinct rows have groups %v", g)
	}
	two := must.Slice(200, func(i int) float64 { return float64(i % 2) })
	if g := twinsOf(kernel.NewPoints(two, 200, 1)); slices.Max(g)+1 != 20 {
		t.Errorf("200 rows at two places have %d groups, want 20 of 10", slices.Max(g)+1)
	}
}

// TestRegular checks which columns are regular: months and weeks, also with a third of the rows missing
// and with one long gap, but neither random values nor a few levels.
func TestRegular(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	month := func(i int) float64 {
		return float64(time.Date(1990, time.Month(1+i), 1, 0, 0, 0, 0, time.UTC).Unix()) / 86400
	}
	for name, c := range map[string]struct {
		at     func(i int) float64
		kept   float64
		wanted bool
	}{
		"months":          {month, 1, true},
		"some months":     {month, 0.65, true},
		"months in years": {func(i int) float64 { return month(i) / 365.25 }, 0.75, true},
		"weeks with a gap": {func(i int) float64 {
			if i > 100 {
				i += 300
			}
			return float64(7 * i)
		}, 0.8, true},
		"random": {func(int) float64 { return rng.Float64() }, 1, false},
		"normal": {func(int) float64 { return rng.NormFloat64() }, 0.7, false},
		"levels": {func(i int) float64 { return float64(i % 12) }, 1, false},
	} {
		var values []float64
		for i := range 200 {
			if v := c.at(i); rng.Float64() < c.kept {
				values = append(values, v)
			}
		}
		rng.Shuffle(len(values), func(i, k int) { values[i], values[k] = values[k], values[i] })
		if got := regular(values); got != c.wanted {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestCommonMultiple checks the multiples of two periods, some of which are too long.
func TestCommonMultiple(t *testing.T) {
	for _, c := range []struct {
		periods []float64
		span    float64
		want    float64
	}{
		{[]float64{0.119, 0.2777}, 3.5, 0.833}, {[]float64{1, 0.5}, 15, 1}, {[]float64{3, 2}, 20, 6},
		{[]float64{3, 2}, 8, 0}, {[]float64{1, math.Sqrt2}, 1000, 0}, {[]float64{1}, 10, 0},
	} {
		must.Within(t, commonMultiple(c.periods, c.span), c.want, 1e-9, "%v over %v", c.periods, c.span)
	}
}

// TestColumnLengthscales checks that only the column with a wave gets a lengthscale of its
// own, a quarter of the wave, and that a start uses it.
func TestColumnLengthscales(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	d := Data{N: 300, D: 3}
	for range d.N {
		a, b, c := 10*rng.Float64(), rng.NormFloat64(), rng.NormFloat64()
		d.X = append(d.X, a, b, c)
		d.Y = append(d.Y, (1+0.3*b)*math.Sin(2*math.Pi*a/1.6)+0.3*rng.NormFloat64())
	}
	j := must.Get(New(d, Options{Mean: "zero", Kernel: "rbf(ard)", Standardize: "none"}))(t)
	own := columnLengthscales(j.Sample)
	if math.Abs(own[0]-0.4) > 0.02 || !math.IsInf(own[1], 1) || !math.IsInf(own[2], 1) {
		t.Errorf("lengthscales %v, want 0.4 and none", own)
	}
	starts, _ := j.Starts()
	if !slices.ContainsFunc(starts, func(z []float64) bool { return z[0] == math.Log(own[0]) && z[1] > z[0]+1 }) {
		t.Error("no start has them")
	}
}

// TestPeriodAlternatives checks that the alternatives have the period of a saw on a trend, to a
// hundredth, within the bounds.
func TestPeriodAlternatives(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	d := Data{N: 150, D: 1}
	for range d.N {
		x := 9 * rng.Float64()
		_, saw := math.Modf(x / 1.3)
		d.X, d.Y = append(d.X, x), append(d.Y, 3*math.Sin(x/4)+saw+0.05*rng.NormFloat64())
	}
	for _, text := range []string{"periodic + rbf", "periodic*rbf + linear"} {
		name := map[bool]string{true: "k1.k1.period", false: "k1.period"}[strings.Contains(text, "*")]
		j := must.Get(New(d, Options{Mean: "zero", Kernel: text, Standardize: "none", Bounds: []Interval{{Name: name, Lo: 0.2, Hi: 5}}}))(t)
		_, far := j.Alternatives(j.Params.Start())
		nearest := math.Inf(1)
		for _, z := range far {
			v := j.Params.Named(z)[name]
			if nearest = min(nearest, math.Abs(v-1.3)); v < 0.2*0.999 || v > 5*1.001 {
				t.Errorf("%s: an alternative has a period of %v", text, v)
			}
		}
		must.Within(t, nearest, 0, 0.013, "%s: distance of the nearest alternative from the period", text)
	}
}

// TestColumnAlternatives checks where a column without effect is tried: in the place of a correlated one,
// and with fine waves. The column with the longest lengthscale leaves, and one whose values have nothing
// in common is tried with a long one.
func TestColumnAlternatives(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	d := Data{N: 80, D: 4}
	for range d.N {
		a, b, c := rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()
		d.X, d.Y = append(d.X, a, b, -a+0.3*rng.NormFloat64(), c), append(d.Y, a+b)
	}
	j := must.Get(New(d, Options{Mean: "zero", Kernel: "rbf(ard)", Standardize: "none"}))(t)
	top := j.Params.Free[0].Upper
	for name, c := range map[string][2][]float64{ // lengthscales at the optimum and of an alternative
		"the same":   {{3, 2, top, top}, {top, 2, 3, top}},
		"fine waves": {{3, 2, top, top}, {3, 2, top, 2 * fineWave}},
		"left out":   {{3, 2, top, top}, {top, 2, top, top}},
		"apart":      {{3, 0.01, top, top}, {3, medianDistance(j.Sample.Points, []int{0, 1, 2, 3}), top, top}},
	} {
		z := j.Params.Start()
		for i, v := range c[0] {
			z[i] = math.Log(v)
		}
		near, _ := j.Alternatives(z)
		if !slices.ContainsFunc(near, func(z []float64) bool {
			return !slices.ContainsFunc([]int{0, 1, 2, 3}, func(i int) bool { return math.Abs(z[i]-math.Log(c[1][i])) > 1e-9 })
		}) {
			t.Errorf("%s: no alternative has the lengthscales %v", name, c[1])
		}
	}
}

// TestTermAlternatives checks the alternatives to an optimum of a sum: terms of different
// lengthscales change places with their variances, and a term without variance, or one that
// equals the other, gets another lengthscale and a share.
func TestTermAlternatives(t *testing.T) {
	d := column(60, func(i int) float64 { return float64(i) / 6 }, math.Sin)
	for name, c := range map[string]struct {
		kernel string
		at     [4]float64 // lengthscale and variance of both terms
		ok     func(v [4]float64) bool
	}{
		"exchanged": {"rbf + matern12", [4]float64{5, 2, 0.5, 0.3}, func(v [4]float64) bool {
			return math.Abs(v[0]-0.5)+math.Abs(v[1]-0.3)+math.Abs(v[2]-5)+math.Abs(v[3]-2) < 1e-9
		}},
		"dead":  {"rbf + matern12", [4]float64{5, 2, 50, 1e-6}, func(v [4]float64) bool { return v[2] < 1 && v[3] > 0.01 && v[0] == 5 && v[1] == 2 }},
		"equal": {"rbf + rbf", [4]float64{2, 1, 2.01, 1.5}, func(v [4]float64) bool { return v[2] > 9 && v[3] > 0.2 && v[0] == 2 && v[1] > 1.5 }},
	} {
		j := must.Get(New(d, Options{Mean: "zero", Kernel: c.kernel, Standardize: "none"}))(t)
		names := []string{"k1.lengthscale", "k1.signal_variance", "k2.lengthscale", "k2.signal_variance"}
		at := map[string]float64{"noise_variance": 0.05}
		for i, name := range names {
			at[name] = c.at[i]
		}
		near, _ := j.Alternatives(must.Get(j.Params.At(at))(t))
		if !slices.ContainsFunc(near, func(z []float64) bool {
			var v [4]float64
			for i, name := range names {
				if v[i] = j.Params.Named(z)[name]; math.Abs(v[i]-c.at[i]) < 1e-9 {
					v[i] = c.at[i] // rounding of exp and log
				}
			}
			return c.ok(v)
		}) {
			t.Errorf("%s: no such alternative among %v", name, near)
		}
	}
}

// TestWavePowers compares the powers of waves with least squares at each frequency.
func TestWavePowers(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	x, y := make([]float64, 60), make([]float64, 60)
	for i := range x {
		x[i], y[i] = 1000+rng.Float64()*7, rng.NormFloat64()
	}
	const first, step, count = 0.2, 0.05, 300
	for k, got := range wavePowers(x, [][]float64{y, y}, first, step, count) {
		design, target := mat.NewDense(len(x), 2, nil), mat.NewVecDense(len(x), y)
		for i, v := range x {
			sin, cos := math.Sincos(2 * math.Pi * (first + float64(k)*step) * v)
			design.SetRow(i, []float64{cos, sin})
		}
		var b, r mat.VecDense
		must.Do(t, b.SolveVec(design, target))
		r.MulVec(design, &b)
		r.SubVec(target, &r)
		// Angles of up to 70,000 turn by 300 a step, and each rounding error counts 32 times.
		must.Within(t, got, 2*(mat.Dot(target, target)-mat.Dot(&r, &r)), 1e-9, "frequency %d", k)
	}
}

func twinsOf(x *kernel.Points) []int { return twins(x, medianDistance(x, kernel.Columns(x.D))) }

// TestFoundStarts checks how far a start value widens default bounds: tenfold if the user chose
// it, and no further than itself if another fit found it, of noise not at all. Bounds, a floor and
// a prior of the options move a found start.
func TestFoundStarts(t *testing.T) {
	d := column(50, func(i int) float64 { return float64(i) }, func(x float64) float64 { return math.Sin(x / 5) })
	fresh := must.Get(New(d, Options{Kernel: "rbf", Mean: "zero"}))(t).Params
	noise, length := fresh.Free[fresh.Find("noise_variance")[0]], fresh.Free[fresh.Find("lengthscale")[0]]
	for _, c := range []struct {
		name                string
		value               float64
		found               bool
		o                   Options
		start, lower, upper float64
	}{
		{"noise_variance", 1e-12, true, Options{Kernel: "rbf", Mean: "zero"}, noise.Lower, noise.Lower, noise.Upper},
		{"noise_variance", 1e-12, false, Options{Kernel: "rbf", Mean: "zero"}, 1e-12, 1e-13, noise.Upper},
		{"noise_variance", 1e-12, true, Options{Kernel: "rbf", Mean: "zero", NoiseFloor: NoiseFloor{Variance: 1e-5}}, 1e-5, 1e-5, noise.Upper},
		{"noise_variance", 1e-12, true, Options{Kernel: "rbf", Mean: "zero", Bounds: []Interval{{"noise_variance", 1e-14, 1e-13}}}, 1e-13, 1e-14, 1e-13},
		{"noise_variance", 1e-12, true, Options{Kernel: "rbf", Mean: "zero", Priors: []ParameterPrior{{"noise_variance", must.Get(graph.ParsePrior("uniform(0.001, 1)"))(t)}}}, 1e-3, 1e-3, 1},
		{"noise_variance", 1e-12, true, Options{Kernel: "rbf", Mean: "zero", Fix: []Assignment{{Name: "noise_variance"}}}, 1e-12, 1e-12, noise.Upper},
		{"lengthscale", 1e6, true, Options{Kernel: "rbf", Mean: "zero"}, 1e6, length.Lower, 1e6},
		{"lengthscale", 1e6, false, Options{Kernel: "rbf", Mean: "zero"}, 1e6, length.Lower, 1e7},
		{"lengthscale", length.Upper, true, Options{Kernel: "rbf", Mean: "zero"}, length.Upper, length.Lower, length.Upper},
	} {
		c.o.Set = []Assignment{{Name: c.name, Value: c.value, Given: true, Found: c.found}}
		p := must.Get(New(d, c.o))(t).Params
		q := p.Free[p.Find(c.name)[0]]
		must.Near(t, fmt.Sprintf("%s=%v found %v", c.name, c.value, c.found), []float64{q.Start, q.Lower, q.Upper}, []float64{c.start, c.lower, c.upper}, 1e-15, 0)
	}
}

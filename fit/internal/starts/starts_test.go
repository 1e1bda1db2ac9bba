package starts

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gpfit/fit/internal/spread"
	"gpfit/fit/problem"
	"gpfit/internal/testcheck"
)

// column returns n values of one feature from f, and targets from g.
func column(n int, f func(i int) float64, g func(x float64) float64) problem.Data {
	d := problem.Data{N: n, D: 1}
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
		o           problem.Options
		noise, span [2]float64
	}{
		{problem.Options{Kernel: "rbf", Mean: "zero"}, [2]float64{1e-6, 0.5}, [2]float64{2, 50}},
		{problem.Options{Mean: "zero", Kernel: "rbf + matern32"}, [2]float64{1e-6, 0.5}, [2]float64{2, 50}},
		{problem.Options{Kernel: "rbf", Mean: "zero", Bounds: []problem.Interval{{Name: "noise_variance", Lo: 1e-3, Hi: 10}}}, [2]float64{1e-3, 0.5}, [2]float64{2, 50}},
		{problem.Options{Kernel: "rbf", Mean: "zero", Fix: []problem.Assignment{{Name: "noise_variance", Value: 0.2, Given: true}}}, [2]float64{0.2, 0.2}, [2]float64{2, 50}},
	} {
		j := testcheck.Get(problem.New(d, c.o))(t)
		noise, length := [2]float64{math.Inf(1), 0}, [2]float64{math.Inf(1), 0}
		starts, _ := Of(j)
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
		testcheck.Near(t, fmt.Sprintf("%+v: noise", c.o), noise[:], c.noise[:], 1e-9, 0) // rounding of exp and log
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
		j := testcheck.Get(problem.New(d, problem.Options{Mean: "zero", Kernel: c.kernel}))(t)
		starts, first := Of(j)
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
	j := testcheck.Get(problem.New(d, problem.Options{Kernel: "rbf", Mean: "zero", Set: []problem.Assignment{{Name: "signal_variance", Value: 1e-6, Given: true}}}))(t)
	index := slices.IndexFunc(j.Params.Free, func(q *problem.Parameter) bool { return q.Name == "signal_variance" })
	starts, _ := Of(j)
	for _, z := range starts {
		if v := math.Exp(z[index]); v < 0.1 {
			t.Errorf("a start has the signal variance %g", v)
		}
	}
	near, far := Alternatives(j, j.Params.Start())
	if !slices.ContainsFunc(slices.Concat(near, far), func(z []float64) bool { return z[index] > math.Log(1e3) }) {
		t.Error("no alternative has a large signal variance")
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
		testcheck.Within(t, commonMultiple(c.periods, c.span), c.want, 1e-9, "%v over %v", c.periods, c.span)
	}
}

// TestColumnLengthscales checks that only the column with a wave gets a lengthscale of its
// own, a quarter of the wave, and that a start uses it.
func TestColumnLengthscales(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	d := problem.Data{N: 300, D: 3}
	for range d.N {
		a, b, c := 10*rng.Float64(), rng.NormFloat64(), rng.NormFloat64()
		d.X = append(d.X, a, b, c)
		d.Y = append(d.Y, (1+0.3*b)*math.Sin(2*math.Pi*a/1.6)+0.3*rng.NormFloat64())
	}
	j := testcheck.Get(problem.New(d, problem.Options{Mean: "zero", Kernel: "rbf(ard)", Standardize: "none"}))(t)
	own := columnLengthscales(j.Sample.Points, j.Sample.Targets)
	if math.Abs(own[0]-0.4) > 0.02 || !math.IsInf(own[1], 1) || !math.IsInf(own[2], 1) {
		t.Errorf("lengthscales %v, want 0.4 and none", own)
	}
	starts, _ := Of(j)
	if !slices.ContainsFunc(starts, func(z []float64) bool { return z[0] == math.Log(own[0]) && z[1] > z[0]+1 }) {
		t.Error("no start has them")
	}
}

// TestPeriodAlternatives checks that the alternatives have the period of a saw on a trend, to a
// hundredth, within the bounds.
func TestPeriodAlternatives(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	d := problem.Data{N: 150, D: 1}
	for range d.N {
		x := 9 * rng.Float64()
		_, saw := math.Modf(x / 1.3)
		d.X, d.Y = append(d.X, x), append(d.Y, 3*math.Sin(x/4)+saw+0.05*rng.NormFloat64())
	}
	for _, text := range []string{"periodic + rbf", "periodic*rbf + linear"} {
		name := map[bool]string{true: "k1.k1.period", false: "k1.period"}[strings.Contains(text, "*")]
		j := testcheck.Get(problem.New(d, problem.Options{Mean: "zero", Kernel: text, Standardize: "none", Bounds: []problem.Interval{{Name: name, Lo: 0.2, Hi: 5}}}))(t)
		_, far := Alternatives(j, j.Params.Start())
		nearest := math.Inf(1)
		for _, z := range far {
			v := j.Params.Named(z)[name]
			if nearest = min(nearest, math.Abs(v-1.3)); v < 0.2*0.999 || v > 5*1.001 {
				t.Errorf("%s: an alternative has a period of %v", text, v)
			}
		}
		testcheck.Within(t, nearest, 0, 0.013, "%s: distance of the nearest alternative from the period", text)
	}
}

// TestColumnAlternatives checks where a column without effect is tried: in the place of a correlated one,
// and with fine waves. The column with the longest lengthscale leaves, and one whose values have nothing
// in common is tried with a long one.
func TestColumnAlternatives(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	d := problem.Data{N: 80, D: 4}
	for range d.N {
		a, b, c := rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()
		d.X, d.Y = append(d.X, a, b, -a+0.3*rng.NormFloat64(), c), append(d.Y, a+b)
	}
	j := testcheck.Get(problem.New(d, problem.Options{Mean: "zero", Kernel: "rbf(ard)", Standardize: "none"}))(t)
	top := j.Params.Free[0].Upper
	for name, c := range map[string][2][]float64{ // lengthscales at the optimum and of an alternative
		"the same":   {{3, 2, top, top}, {top, 2, 3, top}},
		"fine waves": {{3, 2, top, top}, {3, 2, top, 2 * fineWave}},
		"left out":   {{3, 2, top, top}, {top, 2, top, top}},
		"apart":      {{3, 0.01, top, top}, {3, spread.MedianDistance(j.Sample.Points, []int{0, 1, 2, 3}), top, top}},
	} {
		z := j.Params.Start()
		for i, v := range c[0] {
			z[i] = math.Log(v)
		}
		near, _ := Alternatives(j, z)
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
		j := testcheck.Get(problem.New(d, problem.Options{Mean: "zero", Kernel: c.kernel, Standardize: "none"}))(t)
		names := []string{"k1.lengthscale", "k1.signal_variance", "k2.lengthscale", "k2.signal_variance"}
		at := map[string]float64{"noise_variance": 0.05}
		for i, name := range names {
			at[name] = c.at[i]
		}
		near, _ := Alternatives(j, testcheck.Get(j.Params.At(at))(t))
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

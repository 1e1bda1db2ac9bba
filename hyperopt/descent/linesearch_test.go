package descent

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gpfit/internal/testcheck"
)

// searchProblem is a problem for line searches, from several starts.
type searchProblem struct {
	kind     string
	problem  arrays
	restarts int
}

// searchProblems are GP regressions of 40 rows with bounds, 16 starts each, Rosenbrock in 4
// dimensions and a quadratic of condition 1e3 in 10, 21 starts each.
func searchProblems() (out []searchProblem) {
	for i, d := range []int{1, 2, 4, 6, 8} {
		out = append(out, searchProblem{"gp", newGP(40, d, 0.2, uint64(i)).problem(), 15})
	}
	return append(out,
		searchProblem{"rosenbrock", arrays{Objective: total(rosenbrock), Start: make([]float64, 4)}, 20},
		searchProblem{"quadratic", arrays{Objective: total(quadratic(make([]float64, 10), 1e3)), Start: make([]float64, 10)}, 20})
}

// TestLineSearchCost bounds the weighted cost (value 1, gradient 2 more) of four starts for each
// problem, and checks that all bring the gradient below its tolerance.
func TestLineSearchCost(t *testing.T) {
	cost := 0
	for _, p := range searchProblems() {
		r := testcheck.Get(minimizeArrays(t.Context(), p.problem, how{Restarts: p.restarts / 5, RelativeTolerance: -1}))(t)
		cost += r.Evaluations.Value + 2*r.Evaluations.Gradient
		for _, st := range r.Starts {
			if st.Status != StatusGradientConverged {
				t.Errorf("%s: a start did not converge: %v", p.kind, st.Status)
			}
		}
	}
	if t.Logf("cost %d", cost); cost > 4380 {
		t.Errorf("cost %d", cost)
	}
}

// curve is a function of one variable, with the number of its values and slopes.
type curve struct {
	f              func(a float64) (v, d float64)
	a              float64
	values, slopes int
}

func (c *curve) value(a float64) (float64, error) {
	c.a = a
	c.values++
	v, _ := c.f(a)
	return v, nil
}

func (c *curve) slope() (float64, error) {
	c.slopes++
	_, d := c.f(c.a)
	return d, nil
}

func (c *curve) examine() error { return nil }

// phi searches along a function of one variable and returns the accepted step and the numbers of
// requested values and derivatives.
func phi(f func(a float64) (v, d float64), step, limit float64) (a float64, values, slopes int, err error) {
	c := &curve{f: f}
	s := &lineSearch{limit: &stepLimit{max: limit}, settings: Options{Precision: DefaultPrecision}, line: c}
	f0, g0 := f(0)
	err = s.run(sample{f: f0, g: g0, slope: true}, step)
	return c.a, c.values, c.slopes, err
}

func TestLineSearch(t *testing.T) {
	inf := math.Inf(1)
	parabola := func(c float64) func(a float64) (float64, float64) {
		return func(a float64) (float64, float64) { return (a - c) * (a - c), 2 * (a - c) }
	}
	for _, c := range []struct {
		name           string
		f              func(a float64) (float64, float64)
		step, limit    float64
		values, slopes int // at most
	}{
		{"exact step", parabola(1), 1, inf, 1, 1},
		{"much too long", parabola(1e-3), 1, inf, 4, 1},
		{"much too short", parabola(1e3), 1, inf, 7, 7},
		{"limit", parabola(1e3), 1, 5, 2, 2},
		{"wall", func(a float64) (float64, float64) {
			if a > 0.01 {
				return math.Inf(1), math.NaN()
			}
			return -a, -1
		}, 1, inf, 12, 6},
		{"NaN wall", func(a float64) (float64, float64) {
			if a > 0.5 {
				return math.NaN(), math.NaN()
			}
			return (a - 0.4) * (a - 0.4), 2 * (a - 0.4)
		}, 1, inf, 3, 2},
		{"slope not finite", func(a float64) (float64, float64) {
			if a > 0.5 {
				return -a, math.NaN()
			}
			return -a + a*a, -1 + 2*a
		}, 1, inf, 3, 3},
		{"quartic", func(a float64) (float64, float64) { return -a + a*a*a*a, -1 + 4*a*a*a }, 10, inf, 6, 2},
		{"oscillating", func(a float64) (float64, float64) {
			return -a + 0.5*math.Sin(20*a) - 0.5*math.Sin(0), -1 + 10*math.Cos(20*a) - 10.5
		}, 1, 3, 20, 20},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, values, slopes, err := phi(c.f, c.step, c.limit)
			testcheck.Do(t, err)
			f0, g0 := c.f(0)
			f, g := c.f(a)
			t.Logf("step %g after %d values, %d slopes", a, values, slopes)
			if !(f <= f0+armijo*a*g0) {
				t.Errorf("no sufficient decrease at %g: %g from %g", a, f, f0)
			}
			if math.Abs(g) > curvature*math.Abs(g0) && a < c.limit && c.name != "wall" && c.name != "oscillating" {
				t.Errorf("curvature condition fails at %g: %g, at first %g", a, g, g0)
			}
			if values > c.values || slopes > c.slopes {
				t.Errorf("%d values and %d slopes, want at most %d and %d", values, slopes, c.values, c.slopes)
			}
		})
	}
	if _, _, _, err := phi(func(a float64) (float64, float64) { return a, -1 }, 1, inf); err != errNoStep {
		t.Errorf("no decrease: %v", err)
	}
}

// TestInterpolation compares the minimizers with the minimizers of known polynomials.
func TestInterpolation(t *testing.T) {
	cubic := func(a float64) sample { // minimum at 2, maximum at −1
		return sample{a: a, f: a*a*a/3 - a*a/2 - 2*a, g: a*a - a - 2, slope: true}
	}
	for _, c := range []struct{ got, want float64 }{
		{quadraticMin(sample{a: 1, f: 4, g: -4}, sample{a: 5, f: 4}), 3},
		{cubicMin(cubic(0), cubic(3)), 2},
		{cubicMin(cubic(3), cubic(0)), 2},
		{cubicMin(cubic(0.5), cubic(1)), 2},
		{cubicMin3(cubic(0), cubic(3), cubic(4)), 2},
		{cubicMin3(cubic(1), cubic(2.5), cubic(7)), 2},
	} {
		if math.Abs(c.got-c.want) > 1e-12 {
			t.Errorf("minimum at %g, want %g", c.got, c.want)
		}
	}
}

// fading returns a function of a long lengthscale exp(z₀) and a second parameter: its slope
// along z₀ shrinks like ℓ⁻², and it is lowest at infinity, or where ℓ⁻² = at.
func fading(at float64) func(z, g []float64) float64 {
	return func(z, g []float64) float64 {
		r := math.Exp(-2 * z[0])
		f, slope := 50*(r-at)*(r-at), -200*(r-at)*r
		if at < 0 {
			f, slope = 30*r, -60*r
		}
		copy(g, []float64{slope, 2 * (z[1] - 1)})
		return f + (z[1]-1)*(z[1]-1)
	}
}

// minimizeFading descends over z₀ up to ln 10⁴, from where its effect vanishes at 2.
func minimizeFading(t *testing.T, at float64, limits func([]float64) []float64) *Result {
	t.Helper()
	inf := math.Inf(1)
	p := Search{
		Objectives: []Func{total(fading(at))}, Limits: limits, Starts: []Start{{Z: []float64{2, -1}}},
		Parameters: []Parameter{{Name: "lengthscale", Log: true, Start: 1, Upper: 1e4}, {Name: "b", Start: -1, Lower: -inf, Upper: inf}},
	}
	return testcheck.Get(Minimize(t.Context(), p, Options{GradientTolerance: 1e-9, RelativeTolerance: -1}))(t)
}

// TestVanish checks that a descent tries the bound of a parameter whose effect vanishes,
// that this saves evaluations, and that it does not stay there if f is higher.
func TestVanish(t *testing.T) {
	limits := func([]float64) []float64 { return []float64{2, math.Inf(1)} }
	slow, fast := minimizeFading(t, -1, nil), minimizeFading(t, -1, limits)
	if fast.X[0] != math.Log(1e4) || fast.Evaluations.Value >= slow.Evaluations.Value {
		t.Errorf("ends at %v after %+v; without limits at %v after %+v", fast.X, fast.Evaluations, slow.X, slow.Evaluations)
	}
	if r := minimizeFading(t, math.Exp(-2*7.0), limits); math.Abs(r.X[0]-7) > 1e-2 || r.Evaluations.Value > 40 {
		t.Errorf("ends at %v after %+v, want 7 far beyond the limit", r.X, r.Evaluations)
	}
	inside := math.Exp(-2 * 3.0)
	if r := minimizeFading(t, inside, limits); math.Abs(r.X[0]-3) > 1e-3 {
		t.Errorf("ends at %v, want 3 inside the bounds", r.X)
	}
}

// TestSlowDescentLooks checks that a descent of more than hessianAfter iterations computes the
// differences for the Hessian once, within the bounds, and reaches the minimum.
func TestSlowDescentLooks(t *testing.T) {
	// L-BFGS needs hundreds of iterations along such a steep valley.
	obj := total(func(z, grad []float64) float64 { return valley(1e5, z, grad) })
	p := arrays{Objective: obj, Start: []float64{-1, 0.5, -0.5, 0.3, 0.8, -0.2}, Lower: slices.Repeat([]float64{-3}, 6), Upper: slices.Repeat([]float64{3}, 6)}
	looks, at := 0, []float64(nil)
	r := mustMinimize(t, p, how{Callback: func(it Iteration) {
		if it.Iteration == hessianAfter {
			at = it.Z
		}
	}})
	if at == nil {
		t.Fatalf("only %d iterations: the function is not slow enough for this test", r.Iterations)
	}
	for _, c := range obj.calls {
		for i := range at {
			z := slices.Clone(at)
			if z[i] += hessianStep; slices.Equal(c.z, z) {
				looks++
			}
			if math.Abs(c.z[i]) > 3 {
				t.Fatalf("evaluated out of bounds: %v", c.z)
			}
		}
	}
	if looks != 2*len(at) { // a value and a gradient each
		t.Errorf("%d evaluations of the differences upwards, want %d", looks, 2*len(at))
	}
	testcheck.Near(t, "minimum", r.X, constant(6, 1), 0, 1e-4)
	if !r.Status.Converged() {
		t.Error(r.Status)
	}
}

// monkey has a saddle at 0, where the gradient vanishes, and minima at z₀ = ±1. The other
// elements are a well-conditioned bowl, along which a descent reaches the saddle.
func monkey(z, grad []float64) float64 {
	f, slopes := 50*(z[0]*z[0]*z[0]*z[0]/4-z[0]*z[0]/2), []float64{50 * (z[0]*z[0]*z[0] - z[0])}
	for _, x := range z[1:] {
		f += 20 * (x - 1) * (x - 1)
		slopes = append(slopes, 40*(x-1))
	}
	copy(grad, slopes)
	return f
}

// TestGainPassesSaddles checks that the products of the Hessian do not let a descent end at a saddle whose gradient is far within the tolerance.
func TestGainPassesSaddles(t *testing.T) {
	for _, off := range []float64{1e-4, -1e-5, 1e-6} {
		start := []float64{off, 3, -2, 0.5}
		r := mustMinimize(t, arrays{Objective: total(monkey), Start: start}, how{ToleranceNats: 1e-3, GradientTolerance: -1})
		if math.Abs(math.Abs(r.X[0])-1) > 0.02 || !r.Status.Converged() {
			t.Errorf("from %g: ends at %v (%v)", off, r.X, r.Status)
		}
	}
}

// TestGainEnds checks that a tolerance ends descents of quadratics of any condition within
// it and says so, without many evaluations for products of the Hessian that deny it.
func TestGainEnds(t *testing.T) {
	for _, condition := range []float64{1, 100, 1e4} {
		f := quadratic([]float64{1, -2, 0.5, 3, 0}, condition)
		start := []float64{-3, 2, 4, -1, 2}
		full := mustMinimize(t, arrays{Objective: total(f), Start: start}, how{GradientTolerance: 1e-9, RelativeTolerance: -1})
		for _, tolerance := range []float64{1, 1e-3, 1e-6} {
			r := mustMinimize(t, arrays{Objective: total(f), Start: start}, how{ToleranceNats: tolerance, GradientTolerance: 1e-9, RelativeTolerance: -1})
			if !r.Status.Converged() || condition > 1 && tolerance > 1e-4 && r.Status != StatusGainConverged || r.F-full.F > tolerance {
				t.Errorf("condition %g, tolerance %g: %v, %g above the minimum", condition, tolerance, r.Status, r.F-full.F)
			}
			if r.Evaluations.Gradient > full.Evaluations.Gradient*3/2 {
				t.Errorf("condition %g, tolerance %g: %+v, without a tolerance %+v", condition, tolerance, r.Evaluations, full.Evaluations)
			}
		}
		if full.Status != StatusGradientConverged {
			t.Errorf("condition %g: %v without a tolerance", condition, full.Status)
		}
	}
}

// TestGainAlong compares the decrease along a direction with a search over distances.
func TestGainAlong(t *testing.T) {
	for _, b := range []float64{0, 1e-3, 1, 50, -7} {
		for _, c := range []float64{-3, 0, 1e-6, 0.4, 10, 1e4} {
			best := 0.0
			for k := range 200001 {
				x := gainReach * float64(k) / 200000
				best = max(best, math.Abs(b)*x-c*x*x/2)
			}
			if got := gainAlong(b, c); math.Abs(got-best) > 1e-6*max(1, best) {
				t.Errorf("slope %g, curvature %g: %g, want %g", b, c, got, best)
			}
		}
	}
}

// TestECNoise checks the estimate on noise of known size over smooth functions, within the
// factor of four that Moré and Wild accept, and that smooth values show none.
func TestECNoise(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	far, none := 0, 0
	for range 500 {
		sigma := math.Exp(-20 * rng.Float64())
		slope := sigma * rng.NormFloat64()
		values := testcheck.Slice(noiseValues+1, func(k int) float64 { return 300 + slope*float64(k) + sigma*rng.NormFloat64() })
		switch got := ecNoise(values); {
		case got == 0:
			none++
		case got > 4*sigma || got < sigma/4:
			far++
		}
	}
	if far > 25 || none > 100 {
		t.Errorf("of 500 estimates %d are far off and %d found no noise", far, none)
	}
	smooth := testcheck.Slice(noiseValues+1, func(k int) float64 { return math.Exp(float64(k) / 4) })
	if got := ecNoise(smooth); got != 0 {
		t.Errorf("a smooth function has noise %g", got)
	}
}

// TestNoisyValues checks that a descent on values with scatter far above the precision
// ends at the minimum as converged, without long searches within the scatter.
func TestNoisyValues(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	smooth := quadratic([]float64{1, -2, 0.5}, 1e3)
	noisy := func(z, grad []float64) float64 {
		f := 500 + smooth(z, grad) + 2e-5*rng.NormFloat64()
		for i := range grad {
			grad[i] += 1e-3 * rng.NormFloat64()
		}
		return f
	}
	r := mustMinimize(t, arrays{Objective: total(noisy), Start: []float64{-3, 2, 4}}, how{GradientTolerance: 1e-6})
	if !r.Status.Converged() || math.Abs(r.F-500) > 1e-3 {
		t.Errorf("%v at %v, value %v", r.Status, r.X, r.F)
	}
	if r.Evaluations.Value > 100 {
		t.Errorf("%+v", r.Evaluations)
	}
}

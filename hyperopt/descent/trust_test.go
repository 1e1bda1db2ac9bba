package descent

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"gpfit/internal/testcheck"
)

// TestMinimum checks the conditions that characterize the minimum of a quadratic in a ball (N&W
// theorem 4.1): (B + λI)s = −g with B + λI positive semidefinite, λ ≥ 0 and λ(r − |s|) = 0.
func TestMinimum(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		n := 1 + rng.IntN(6)
		b := mat.NewSymDense(n, nil)
		for range 1 + rng.IntN(n+1) { // often singular
			v := mat.NewVecDense(n, testcheck.Slice(n, func(int) float64 { return rng.NormFloat64() }))
			b.SymRankOne(b, math.Exp(3*rng.NormFloat64())*float64(rng.IntN(3)-1), v)
		}
		g := testcheck.Slice(n, func(int) float64 { return rng.NormFloat64() })
		if rng.IntN(4) == 0 { // the hard case: nothing along the most negative curvature
			var e mat.EigenSym
			e.Factorize(b, true)
			var vectors mat.Dense
			e.VectorsTo(&vectors)
			first := mat.Col(nil, 0, &vectors)
			floats.AddScaled(g, -floats.Dot(g, first), first)
		}
		radius := math.Exp(rng.NormFloat64())
		s := minimum(b, g, radius)
		length := floats.Norm(s, 2)
		var bs mat.VecDense
		bs.MulVec(b, mat.NewVecDense(n, s))
		lambda := 0.0
		if length > 0 {
			lambda = -(floats.Dot(s, bs.RawVector().Data) + floats.Dot(s, g)) / (length * length)
		}
		size := mat.Norm(b, 2) + floats.Norm(g, 2)/radius
		residual := 0.0
		for i := range g {
			residual = max(residual, math.Abs(bs.AtVec(i)+lambda*s[i]+g[i]))
		}
		var e mat.EigenSym
		e.Factorize(b, false)
		if least := e.Values(nil)[0]; length > radius*(1+1e-9) || residual > 1e-6*size*radius || lambda < -1e-6*size || least+lambda < -1e-6*size || lambda > 1e-6*size && length < radius*(1-1e-6) {
			t.Errorf("B = %v, g = %v: |s| = %v of %v, λ = %v, residual %v", mat.Formatted(b), g, length, radius, lambda, residual)
		}
	}
}

// curvedFunc is f with its Hessian; the approximation without exact is the information, or steepness
// times |H|.
type curvedFunc struct {
	value                func(z []float64) float64
	gradient             func(z, g []float64)
	hessian, information func(z []float64) []float64
	steepness            float64
}

func (c curvedFunc) Value(_ context.Context, z []float64) (float64, error) { return c.value(z), nil }

func (c curvedFunc) ValueGradient(_ context.Context, z, g []float64) (float64, error) {
	c.gradient(z, g)
	return c.value(z), nil
}

func (c curvedFunc) Curvature(_ context.Context, z []float64, exact bool) (Metric, error) {
	h := c.hessian(z)
	if exact {
		return h, nil
	}
	if c.information != nil {
		return c.information(z), nil
	}
	var e mat.EigenSym
	e.Factorize(mat.NewSymDense(len(z), h), true)
	var v mat.Dense
	e.VectorsTo(&v)
	out := mat.NewSymDense(len(z), nil)
	for k, lambda := range e.Values(nil) {
		out.SymRankOne(out, c.steepness*math.Abs(lambda), v.ColView(k))
	}
	return Metric(out.RawSymmetric().Data), nil
}

// well has minima of value 0 at (±1, ±1/2) and a saddle at x = 0.
func well(steepness float64) curvedFunc {
	return curvedFunc{
		value: func(z []float64) float64 {
			x, y := z[0], z[1]
			return 5*(x*x-1)*(x*x-1) + 50*(y-x/2)*(y-x/2)
		},
		gradient: func(z, g []float64) {
			x, y := z[0], z[1]
			g[0], g[1] = 20*x*(x*x-1)-50*(y-x/2), 100*(y-x/2)
		},
		hessian:   func(z []float64) []float64 { return []float64{60*z[0]*z[0] - 20 + 25, -50, -50, 100} },
		steepness: steepness,
	}
}

// TestSecondOrderEnd checks that a descent from a start with a metric ends at a minimum within few
// values: with a good approximation of the Hessian, with one that is five times too steep, from
// beside a saddle, and at a bound.
func TestSecondOrderEnd(t *testing.T) {
	metric := Metric{10, 0, 0, 10}
	for name, c := range map[string]struct {
		steepness float64
		start     []float64
		upper     float64
		want      []float64
		most      int
	}{
		"near":   {1, []float64{1.3, 0.2}, math.Inf(1), []float64{1, 0.5}, 8},
		"steep":  {5, []float64{1.3, 0.2}, math.Inf(1), []float64{1, 0.5}, 11},
		"saddle": {1, []float64{1e-9, 0}, math.Inf(1), []float64{1, 0.5}, 14},
		"bound":  {1, []float64{0.3, 0.2}, 0.8, []float64{0.8, 0.4}, 10},
	} {
		t.Run(name, func(t *testing.T) {
			search := Search{Objectives: []Func{well(c.steepness)}, Starts: []Start{{Z: c.start, Metric: metric}}, Parameters: []Parameter{
				{Name: "x", Start: c.start[0], Lower: math.Inf(-1), Upper: c.upper},
				{Name: "y", Start: c.start[1], Lower: math.Inf(-1), Upper: math.Inf(1)}}}
			r := testcheck.Get(Minimize(t.Context(), search, Options{ToleranceNats: 1e-6}))(t)
			if r.Status != StatusGainConverged && r.Status != StatusGradientConverged || r.Evaluations.Value > c.most {
				t.Errorf("%s after %d values, most %d", r.Status, r.Evaluations.Value, c.most)
			}
			testcheck.Near(t, "minimum", r.X, c.want, 0, 1e-3)
		})
	}
}

// TestStartAtOptimum checks that a descent without a metric that begins at an optimum, where the
// scatter of the values hides every decrease, finds that it is one.
func TestStartAtOptimum(t *testing.T) {
	const start, curvature = 1e-6, 1e3
	f := curvedFunc{
		value: func(z []float64) float64 {
			f := 1000 + curvature*z[0]*z[0]/2
			if z[0] != start {
				f += 1e-7
			}
			return f
		},
		gradient:  func(z, g []float64) { g[0] = curvature * z[0] },
		hessian:   func([]float64) []float64 { return []float64{curvature} },
		steepness: 1,
	}
	search := Search{Objectives: []Func{f}, Parameters: []Parameter{{Name: "a", Lower: -1, Upper: 1}}, Starts: []Start{{Z: []float64{start}}}}
	r := testcheck.Get(Minimize(t.Context(), search, Options{ToleranceNats: 1e-7}))(t)
	if r.Status != StatusGainConverged || r.X[0] != start || !(r.GradientNorm > 1e-4) {
		t.Errorf("%s at %v, gradient %v", r.Status, r.X, r.GradientNorm)
	}
}

// TestBeat checks that a descent without a chance to go below the value that it has to beat takes no Hessian, and that
// one with a chance ends where it would.
func TestBeat(t *testing.T) {
	end := func(o Options) *Result {
		search := Search{Objectives: []Func{well(5)}, Starts: []Start{{Z: []float64{1.3, 0.2}, Metric: Metric{10, 0, 0, 10}}},
			Parameters: []Parameter{{Name: "x", Lower: math.Inf(-1), Upper: 8}, {Name: "y", Lower: math.Inf(-1), Upper: 8}}}
		o.ToleranceNats, o.FewRows = 1e-6, true
		return testcheck.Get(Minimize(t.Context(), search, o))(t)
	}
	far, near := -100.0, 0.1
	own, lost, close := end(Options{}), end(Options{Beat: &far}), end(Options{Beat: &near})
	if own.Evaluations.Hessian == 0 || lost.Evaluations.Hessian > 0 || !lost.Status.Converged() || lost.Evaluations.Value >= own.Evaluations.Value {
		t.Errorf("%+v without a value to beat, %s and %+v with one out of reach", own.Evaluations, lost.Status, lost.Evaluations)
	}
	testcheck.Near(t, "end with a chance", close.X, own.X, 0, 0)
}

// TestFollow checks that a descent over many rows keeps what a Hessian near the end has besides the average information,
// and needs no other.
func TestFollow(t *testing.T) {
	start := []float64{1.03, 0.48}
	search := Search{Objectives: []Func{well(5)}, Starts: []Start{{Z: start, Metric: Metric{10, 0, 0, 10}}},
		Limits:     func([]float64) []float64 { return []float64{math.Inf(1), math.Inf(1)} },
		Parameters: []Parameter{{Name: "x", Lower: math.Inf(-1), Upper: 8}, {Name: "y", Lower: math.Inf(-1), Upper: 8}}}
	r := testcheck.Get(Minimize(t.Context(), search, Options{ToleranceNats: 1e-8}))(t)
	if r.Evaluations.Hessian != 1 || r.Evaluations.Gradient < 3 || !r.Status.Converged() {
		t.Errorf("%s after %+v", r.Status, r.Evaluations)
	}
	testcheck.Near(t, "minimum", r.X, []float64{1, 0.5}, 0, 1e-4)
}

// dearFunc is a function whose Hessian is dear.
type dearFunc struct{ curvedFunc }

func (dearFunc) HessianIsDear() bool { return true }

// TestDear checks that a descent by an approximation that is roughly right ends without a dear Hessian, at the minimum.
func TestDear(t *testing.T) {
	end := func(f Func) *Result {
		search := Search{Objectives: []Func{f}, Starts: []Start{{Z: []float64{1.1, 0.5}, Metric: Metric{10, 0, 0, 10}}},
			Parameters: []Parameter{{Name: "x", Lower: math.Inf(-1), Upper: 8}, {Name: "y", Lower: math.Inf(-1), Upper: 8}}}
		return testcheck.Get(Minimize(t.Context(), search, Options{ToleranceNats: 1e-2}))(t)
	}
	f := well(1.2)
	own, dear := end(f), end(dearFunc{f})
	if own.Evaluations.Hessian == 0 || dear.Evaluations.Hessian > 0 || !dear.Status.Converged() {
		t.Errorf("%+v, %s and %+v where a Hessian is dear", own.Evaluations, dear.Status, dear.Evaluations)
	}
	testcheck.Near(t, "minimum", []float64{dear.F}, []float64{own.F}, 0, 1e-2)
}

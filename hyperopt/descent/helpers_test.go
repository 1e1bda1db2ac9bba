package descent

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize"
	"gonum.org/v1/gonum/stat/distuv"
	"pgregory.net/rapid"

	"gpfit/internal/must"
)

// notPD is the error of an objective that is not defined at a point.
type notPD struct{ minor, n int }

func (e *notPD) Error() string {
	return fmt.Sprintf("covariance matrix is not positive definite: leading minor of order %d of %d", e.minor, e.n)
}

func (e *notPD) Infeasible() bool { return true }

func isNotPD(err error) bool { return errors.As(err, new(*notPD)) }

// arrays is a problem in plain numbers for tests; nil means no names, bounds, fixed
// parameters or further starts.
type arrays struct {
	Objective    Func
	Workers      []Func
	Wrap         func(start int, obj Func) Func
	Names        []string
	Start        []float64
	Metric       Metric
	Further      []Start
	Lower, Upper []float64
	Fixed        []bool
}

// how holds settings, and the number of starts drawn around Start unless Further is set.
type how struct {
	Method                               Method
	MaxEvaluations, Restarts             int
	GradientTolerance, RelativeTolerance float64
	ToleranceNats                        float64
	RestartStd                           float64
	Seed                                 uint64
	Race                                 bool
	Reach                                float64
	Callback                             func(Iteration)
	searcher                             func(*stepLimit, Options) optimize.Linesearcher
}

func (h how) settings() Options {
	s := Options{Method: h.Method, MaxEvaluations: h.MaxEvaluations, GradientTolerance: h.GradientTolerance,
		RelativeTolerance: h.RelativeTolerance, ToleranceNats: h.ToleranceNats, Race: h.Race, Reach: h.Reach, Callback: h.Callback}
	if h.searcher != nil {
		s.Method = LBFGS{searcher: h.searcher}
	}
	return s
}

func (a arrays) problem(h how) Search {
	p := Search{Starts: []Start{{Z: a.Start, Metric: a.Metric}}}
	if a.Objective != nil {
		p.Objectives = append([]Func{a.Objective}, a.Workers...)
	}
	for i, z := range a.Start {
		q := Parameter{Start: z, Lower: math.Inf(-1), Upper: math.Inf(1)}
		if a.Names != nil {
			q.Name = a.Names[i]
		}
		if a.Lower != nil {
			q.Lower = a.Lower[i]
		}
		if a.Upper != nil {
			q.Upper = a.Upper[i]
		}
		q.Fixed = a.Fixed != nil && a.Fixed[i]
		p.Parameters = append(p.Parameters, q)
	}
	p.Starts = append(p.Starts, a.Further...)
	std := h.RestartStd
	if std == 0 {
		std = 1.5
	}
	rng := rand.New(rand.NewPCG(h.Seed, 1))
	for k := 0; k < h.Restarts && a.Further == nil; k++ {
		z := make([]float64, len(a.Start))
		for i, v := range a.Start {
			z[i] = v + std*rng.NormFloat64()
		}
		p.Starts = append(p.Starts, Start{Z: z})
	}
	return p
}

// minimizeArrays minimises a, wrapped by Wrap if it is set.
func minimizeArrays(ctx context.Context, a arrays, h how) (*Result, error) {
	if a.Wrap != nil {
		a.Objective = a.Wrap(0, a.Objective)
	}
	return Minimize(ctx, a.problem(h), h.settings())
}

// rounding is the difference of two values below which they count as equal.
func rounding(f float64) float64 { return DefaultPrecision * math.Max(1, math.Abs(f)) }

// smooth is an objective from a function that writes the gradient unless it is
// nil, recorded call by call.
type smooth struct {
	f     func(z, grad []float64) (float64, error)
	calls []callRecord
}

type callRecord struct {
	gradient bool
	z        []float64
}

func (s *smooth) Value(_ context.Context, z []float64) (float64, error) {
	s.calls = append(s.calls, callRecord{z: slices.Clone(z)})
	return s.f(z, nil)
}

func (s *smooth) ValueGradient(_ context.Context, z, grad []float64) (float64, error) {
	s.calls = append(s.calls, callRecord{gradient: true, z: slices.Clone(z)})
	return s.f(z, grad)
}

// counts returns how often each method was called.
func (s *smooth) counts() (values, gradients int) {
	for _, c := range s.calls {
		if c.gradient {
			gradients++
		} else {
			values++
		}
	}
	return values, gradients
}

func total(f func(z, grad []float64) float64) *smooth {
	return &smooth{f: func(z, grad []float64) (float64, error) { return f(z, grad), nil }}
}

// rosenbrock is the chained Rosenbrock function, minimum 0 at (1, …, 1).
func rosenbrock(z, grad []float64) float64 {
	clear(grad)
	f := 0.0
	for i := 0; i+1 < len(z); i++ {
		a, b := 1-z[i], z[i+1]-z[i]*z[i]
		f += a*a + 100*b*b
		if grad != nil {
			grad[i] += -2*a - 400*z[i]*b
			grad[i+1] += 200 * b
		}
	}
	return f
}

// quadratic returns ½Σ λᵢ(zᵢ−cᵢ)² with λ from 1 to cond, turned by a Householder
// reflection so that its axes differ from the axes of z.
func quadratic(c []float64, cond float64) func(z, grad []float64) float64 {
	n := len(c)
	v := must.Slice(n, func(int) float64 { return 1 / math.Sqrt(float64(n)) })
	reflect := func(x []float64) []float64 {
		y, dot := slices.Clone(x), 0.0
		for i := range x {
			dot += v[i] * x[i]
		}
		for i := range y {
			y[i] -= 2 * dot * v[i]
		}
		return y
	}
	return func(z, grad []float64) float64 {
		d := must.Slice(n, func(i int) float64 { return z[i] - c[i] })
		d = reflect(d)
		f := 0.0
		for i := range d {
			l := math.Pow(cond, float64(i)/float64(max(1, n-1)))
			f += 0.5 * l * d[i] * d[i]
			d[i] *= l
		}
		copy(grad, reflect(d))
		return f
	}
}

// gpProblem is exact GP regression with an ARD squared-exponential kernel, by dense matrices:
// parameters are log lengthscales, log signal variance, log noise variance.
type gpProblem struct {
	x *mat.Dense
	y []float64
}

func newGP(n, d int, noise float64, seed uint64) *gpProblem {
	rng := rand.New(rand.NewPCG(seed, 99))
	normal := distuv.Normal{Mu: 0, Sigma: 1, Src: rng}
	g := &gpProblem{x: mat.NewDense(n, d, nil), y: make([]float64, n)}
	for i := range n {
		for j := range d {
			g.x.Set(i, j, normal.Rand())
		}
		// The last column is irrelevant if there are several.
		g.y[i] = math.Sin(2*g.x.At(i, 0)) + noise*normal.Rand()
		for j := 1; j < d-1; j++ {
			g.y[i] += 0.5 * g.x.At(i, j) * g.x.At(i, j)
		}
	}
	return g
}

// problem returns the usual start and bounds, named.
func (g *gpProblem) problem() arrays {
	_, d := g.x.Dims()
	p := arrays{Objective: &smooth{f: g.nlml}}
	for j := range d {
		p.Names = append(p.Names, fmt.Sprintf("lengthscale[%d]", j))
		p.Start = append(p.Start, 0.5*math.Log(float64(d)))
	}
	p.Names = append(p.Names, "signal_variance", "noise_variance")
	p.Start = append(p.Start, 0, math.Log(0.1))
	for range p.Start {
		p.Lower = append(p.Lower, math.Log(1e-3))
		p.Upper = append(p.Upper, math.Log(1e3))
	}
	p.Lower[d+1] = math.Log(1e-6)
	return p
}

func (g *gpProblem) nlml(z, grad []float64) (float64, error) {
	n, d := g.x.Dims()
	tau2, noise2 := math.Exp(z[d]), math.Exp(z[d+1])
	k := mat.NewSymDense(n, nil)
	for i := range n {
		for j := range i + 1 {
			r := 0.0
			for c := range d {
				t := (g.x.At(i, c) - g.x.At(j, c)) / math.Exp(z[c])
				r += t * t
			}
			k.SetSym(i, j, tau2*math.Exp(-r/2))
		}
	}
	s := mat.NewSymDense(n, nil)
	s.CopySym(k)
	for i := range n {
		s.SetSym(i, i, s.At(i, i)+noise2)
	}
	var ch mat.Cholesky
	if !ch.Factorize(s) {
		return 0, &notPD{n, n}
	}
	y := mat.NewVecDense(n, g.y)
	var alpha mat.VecDense
	if err := ch.SolveVecTo(&alpha, y); err != nil {
		var cond mat.Condition
		if !errors.As(err, &cond) {
			return 0, err
		}
	}
	f := 0.5*mat.Dot(y, &alpha) + 0.5*ch.LogDet() + 0.5*float64(n)*math.Log(2*math.Pi)
	if grad == nil {
		return f, nil
	}
	var inv mat.SymDense
	if err := ch.InverseTo(&inv); err != nil {
		var cond mat.Condition
		if !errors.As(err, &cond) {
			return 0, err
		}
	}
	clear(grad)
	for i := range n {
		for j := range n {
			w := 0.5 * (inv.At(i, j) - alpha.AtVec(i)*alpha.AtVec(j))
			for c := range d {
				t := (g.x.At(i, c) - g.x.At(j, c)) / math.Exp(z[c])
				grad[c] += w * k.At(i, j) * t * t
			}
			grad[d] += w * k.At(i, j)
			if i == j {
				grad[d+1] += w * noise2
			}
		}
	}
	return f, nil
}

// checkGradient compares obj's gradient at z with central differences
//
//	(f(z + h·eᵢ) − f(z − h·eᵢ)) / 2h
//
// and returns the largest error, relative to the larger of the two numbers. The error of a
// component that is small against the others (below 1e-3 of the largest), against the rounding of
// the differences (1e3·ε·|f|/h), or against its change over h is measured relative to that. h is
// in log units; 0 means 1e-5, near the ε^⅓ that balances truncation and rounding (N&W 8.6). It
// costs 2p+1 values and one gradient.
func checkGradient(ctx context.Context, obj Func, z []float64, h float64) (maxRelErr float64, err error) {
	if h == 0 {
		h = 1e-5
	}
	if !(h > 0) {
		return 0, fmt.Errorf("hyperopt: the difference step is not positive: %g", h)
	}
	f, err := obj.Value(ctx, z)
	if err != nil {
		return 0, err
	}
	g := make([]float64, len(z))
	fg, err := obj.ValueGradient(ctx, z, g)
	if err != nil {
		return 0, err
	}
	if math.Abs(f-fg) > DefaultPrecision*math.Max(1, math.Abs(f)) {
		return 0, fmt.Errorf("hyperopt: Value and ValueGradient disagree at the same point: %.17g and %.17g", f, fg)
	}
	norm := 0.0
	for _, v := range g {
		norm = math.Max(norm, math.Abs(v))
	}
	const eps = 0x1p-52
	floor := math.Max(1e-3*norm, 1e3*eps*math.Max(math.Abs(f), 1e-8)/h)
	x := slices.Clone(z)
	for i := range z {
		x[i] = z[i] + h
		up, err := obj.Value(ctx, x)
		if err != nil {
			return 0, err
		}
		a := x[i]
		x[i] = z[i] - h
		down, err := obj.Value(ctx, x)
		if err != nil {
			return 0, err
		}
		d := (up - down) / (a - x[i]) // the actual step
		x[i] = z[i]
		scale := math.Max(floor, math.Abs(up-2*f+down)/h)
		rel := math.Abs(d-g[i]) / math.Max(scale, math.Max(math.Abs(d), math.Abs(g[i])))
		if math.IsNaN(rel) {
			return 0, fmt.Errorf("hyperopt: the gradient or a difference is not a number at component %d: %g and %g", i, g[i], d)
		}
		maxRelErr = math.Max(maxRelErr, rel)
	}
	return maxRelErr, nil
}

func TestCheckGradient(t *testing.T) {
	ctx := t.Context()
	for _, z := range [][]float64{{-1.2, 1}, {1, 1}, {5, -3}} {
		if rel, err := checkGradient(ctx, total(rosenbrock), z, 0); err != nil || rel > 1e-5 {
			t.Errorf("at %v: %g, %v", z, rel, err)
		}
	}
	wrong := total(func(z, g []float64) float64 {
		f := rosenbrock(z, g)
		if g != nil {
			g[1] *= 1.01
		}
		return f
	})
	if rel, err := checkGradient(ctx, wrong, []float64{-1.2, 1}, 0); err != nil || math.Abs(rel-0.01) > 1e-3 {
		t.Errorf("wrong by 1 %%: %g, %v", rel, err)
	}
	broken := errors.New("broken")
	if _, err := checkGradient(ctx, &smooth{f: func(_, _ []float64) (float64, error) { return 0, broken }}, []float64{1}, 0); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	if _, err := checkGradient(ctx, total(rosenbrock), []float64{1, 1}, -1); err == nil {
		t.Error("a negative step passes")
	}
}

// TestKKT minimises random convex quadratics and random Rosenbrock functions in
// boxes that cut off the free minimum on some sides, and checks the first-order
// conditions: a zero gradient inside, and no gradient pointing inwards at a bound.
func TestKKT(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 8).Draw(t, "n")
		draw := func(name string, lo, hi float64) []float64 {
			z := must.Slice(n, func(int) float64 { return rapid.Float64Range(lo, hi).Draw(t, name) })
			return z
		}
		f := rosenbrock
		if rapid.Bool().Draw(t, "quadratic") {
			f = quadratic(draw("centre", -4, 4), math.Exp(rapid.Float64Range(0, 9).Draw(t, "log condition")))
		}
		lower, upper := draw("lower", -4, 1), draw("upper", -1, 4)
		for i := range lower {
			if lower[i] > upper[i] {
				lower[i], upper[i] = upper[i], lower[i]
			}
		}
		r, err := minimizeArrays(t.Context(), arrays{Objective: total(f), Start: draw("start", -4, 4), Lower: lower, Upper: upper},
			how{RelativeTolerance: -1})
		if err != nil {
			t.Fatal(err)
		}
		if r.Status != StatusGradientConverged && r.Status != StatusAllFixed {
			t.Fatalf("%v: gradient norm %g at %v, %+v", r.Status, r.GradientNorm, r.X, r.Evaluations)
		}
		g := make([]float64, n)
		f(r.X, g)
		for i, z := range r.X {
			if upper[i]-lower[i] < 1e-9 || z == lower[i] && g[i] >= 0 || z == upper[i] && g[i] <= 0 {
				continue
			}
			if math.Abs(g[i]) > DefaultGradientTolerance {
				t.Fatalf("gradient %g at parameter %d = %.17g in [%g, %g]", g[i], i, z, lower[i], upper[i])
			}
		}
	})
}

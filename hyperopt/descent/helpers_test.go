package descent

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/diff/fd"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"
	"pgregory.net/rapid"

	"gpfit/internal/testcheck"
)

// notPD is the error of an objective that is not defined at a point.
type notPD struct{ minor, n int }

func (e *notPD) Error() string {
	return fmt.Sprintf("covariance matrix is not positive definite: leading minor of order %d of %d", e.minor, e.n)
}

func (e *notPD) Infeasible() bool { return true }

func isNotPD(err error) bool { return errors.As(err, new(*notPD)) }

// arrays is a problem in plain numbers; nil means no names, bounds, fixed parameters or further starts.
type arrays struct {
	Objective    Func
	Workers      []Func
	Names        []string
	Start        []float64
	Metric       Metric
	Further      []Start
	Lower, Upper []float64
	Fixed        []bool
}

// how holds settings, and the number of starts drawn around Start unless Further is set.
type how struct {
	MaxEvaluations, Restarts             int
	GradientTolerance, RelativeTolerance float64
	ToleranceNats                        float64
	RestartStd                           float64
	Seed                                 uint64
	Race                                 bool
	Reach                                float64
	Callback                             func(Iteration)
}

func (h how) settings() Options {
	return Options{MaxEvaluations: h.MaxEvaluations, GradientTolerance: h.GradientTolerance,
		RelativeTolerance: h.RelativeTolerance, ToleranceNats: h.ToleranceNats, Race: h.Race, Reach: h.Reach, Callback: h.Callback}
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

func minimizeArrays(ctx context.Context, a arrays, h how) (*Result, error) {
	return Minimize(ctx, a.problem(h), h.settings())
}

// rounding is the difference of two values below which they count as equal.
func rounding(f float64) float64 { return DefaultPrecision * math.Max(1, math.Abs(f)) }

// smooth is a function that writes the gradient unless it is nil, with a record of its calls.
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
func rosenbrock(z, grad []float64) float64 { return valley(100, z, grad) }

// valley is rosenbrock with another steepness of its walls.
func valley(steep float64, z, grad []float64) float64 {
	clear(grad)
	f := 0.0
	for i := 0; i+1 < len(z); i++ {
		a, b := 1-z[i], z[i+1]-z[i]*z[i]
		f += a*a + steep*b*b
		if grad != nil {
			grad[i] += -2*a - 4*steep*z[i]*b
			grad[i+1] += 2 * steep * b
		}
	}
	return f
}

// quadratic returns ½Σ λᵢ(zᵢ−cᵢ)² with λ from 1 to cond, turned by a Householder
// reflection so that its axes differ from the axes of z.
func quadratic(c []float64, cond float64) func(z, grad []float64) float64 {
	n := len(c)
	v := testcheck.Slice(n, func(int) float64 { return 1 / math.Sqrt(float64(n)) })
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
		d := testcheck.Slice(n, func(i int) float64 { return z[i] - c[i] })
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
	_ = ch.SolveVecTo(&alpha, y) // its only error says that the condition number is large
	f := 0.5*mat.Dot(y, &alpha) + 0.5*ch.LogDet() + 0.5*float64(n)*math.Log(2*math.Pi)
	if grad == nil {
		return f, nil
	}
	var inv mat.SymDense
	_ = ch.InverseTo(&inv)
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

// checkSlopes compares the gradient of f at z with central differences.
func checkSlopes(t *testing.T, f func(z, grad []float64) float64, z []float64, absolute float64) {
	t.Helper()
	g := make([]float64, len(z))
	f(z, g)
	want := fd.Gradient(nil, func(z []float64) float64 { return f(z, nil) }, z, &fd.Settings{Formula: fd.Central})
	testcheck.Near(t, "gradient", g, want, 1e-6, absolute)
}

// TestKKT minimizes random convex quadratics and random Rosenbrock functions in
// boxes that cut off the free minimum on some sides, and checks the first-order
// conditions: a zero gradient inside, and no gradient pointing inwards at a bound.
func TestKKT(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 8).Draw(t, "n")
		draw := func(name string, lo, hi float64) []float64 {
			z := testcheck.Slice(n, func(int) float64 { return rapid.Float64Range(lo, hi).Draw(t, name) })
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
		p := arrays{Objective: total(f), Start: draw("start", -4, 4), Lower: lower, Upper: upper}
		r := testcheck.Get(minimizeArrays(t.Context(), p, how{RelativeTolerance: -1}))(t)
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

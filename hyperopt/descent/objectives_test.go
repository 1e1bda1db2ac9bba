package descent

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"
)

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
// reflection so that its axes are not those of z.
func quadratic(c []float64, cond float64) func(z, grad []float64) float64 {
	n := len(c)
	v := make([]float64, n)
	for i := range v {
		v[i] = 1 / math.Sqrt(float64(n))
	}
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
		d := make([]float64, n)
		for i := range d {
			d[i] = z[i] - c[i]
		}
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

// gpProblem is exact GP regression with an ARD squared-exponential kernel, by
// dense matrices: parameters are log lengthscales, log signal variance, log
// noise variance.
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

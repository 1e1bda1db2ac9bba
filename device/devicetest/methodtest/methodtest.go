// Package methodtest compares the results of a method with plain formulas.
package methodtest

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"

	"gpfit/device"
	"gpfit/device/textbook"
	"gpfit/internal/testcheck"
	"gpfit/kernel"
)

// Host is a host called cpu with unknown memory.
type Host struct{}

// Info implements [device.Device].
func (Host) Info() device.Info {
	return device.Info{Name: "cpu", Description: "a host", Host: true, Threads: 1}
}

// Close implements [device.Device].
func (Host) Close() error { return nil }

// Open returns the backend of a method on a host called cpu with unknown memory.
func Open(t testing.TB, m device.Method) device.Backend {
	t.Helper()
	return testcheck.Get(m.Backends([]device.Device{Host{}}))(t)[0]
}

// Instance is a random problem.
type Instance struct {
	Text         string
	X, XS        *kernel.Points
	Prog         *kernel.Program
	Theta, Noise []float64
	Targets      int
	Y            []float64
}

// Normals returns n standard normal numbers.
func Normals(rng *rand.Rand, n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = rng.NormFloat64()
	}
	return v
}

// Results are all results for a task, by name.
type Results struct {
	Names  []string
	Values [][]float64
}

// Add adds a result.
func (r *Results) Add(name string, values ...float64) {
	r.Names, r.Values = append(r.Names, name), append(r.Values, slices.Clone(values))
}

// Evaluate calls everything. With sum it keeps the sum of the diagonal with a middle term alone.
func Evaluate(t testing.TB, w device.Workspace, p *Instance, rng *rand.Rand, sum bool) *Results {
	t.Helper()
	ctx, r, n := context.Background(), &Results{}, p.X.N
	testcheck.Do(t, w.Form(ctx, p.Prog, p.Theta, p.Noise))
	alpha := slices.Clone(p.Y)
	testcheck.Do(t, w.Solve(ctx, alpha, p.Targets))
	logDet, _ := testcheck.Get2(w.LogDet())(t)
	r.Add("log|Σ|", logDet)
	r.Add("α", alpha...)
	grad, diag := make([]float64, p.Prog.NumParams), make([]float64, n)
	adj := device.Adjoint{Inv: float64(p.Targets) / 2, Outer: slices.Repeat([]float64{-0.5}, p.Targets), Vectors: alpha}
	testcheck.Do(t, w.Contract(ctx, adj, p.Prog, p.Theta, grad, diag))
	r.Add("gradient", grad...)
	r.Add("diagonal of the adjoint", diag...)
	testcheck.Do(t, w.(device.InverseDiagonal).InverseDiagonal(ctx, diag))
	r.Add("diagonal of the inverse", diag...)
	clear(grad)
	adj = device.Adjoint{Inv: 0.3, Outer: Normals(rng, 2), Vectors: Normals(rng, 2*n), Diagonal: Normals(rng, n)}
	testcheck.Do(t, w.Contract(ctx, adj, p.Prog, p.Theta, grad, diag))
	r.Add("gradient with a middle term", grad...)
	if sum {
		r.Add("sum of the diagonal with a middle term", floats.Sum(diag))
	} else {
		r.Add("diagonal with a middle term", diag...)
	}
	m := p.XS.N
	mean, reduction, joint := make([]float64, m*p.Targets), make([]float64, m), make([]float64, m*m)
	testcheck.Do(t, w.Predict(ctx, p.Prog, p.Theta, alpha, p.XS, mean, reduction))
	r.Add("means", mean...)
	r.Add("reductions", reduction...)
	testcheck.Do(t, w.(device.JointCovariance).PredictCovariance(ctx, p.Prog, p.Theta, p.XS, joint))
	r.Add("joint covariance", joint...)
	vectors, products := Normals(rng, 2*n), make([]float64, 2*n*p.Prog.NumParams)
	c := w.(device.DerivativeProducts)
	testcheck.Do(t, c.MultiplyDerivatives(ctx, p.Prog, p.Theta, vectors, 2, products))
	r.Add("products", products...)
	testcheck.Do(t, c.Whiten(ctx, vectors, 2, false))
	r.Add("‖L⁻¹b‖²", floats.Dot(vectors, vectors))
	testcheck.Do(t, c.Whiten(ctx, vectors, 2, true))
	r.Add("L⁻ᵀL⁻¹b", vectors...)
	return r
}

// Compare compares all results of a method for 60 random problems, and 500 with GPFIT_LONG=1, with the results of
// plain formulas. With sum it compares the sum of the diagonal with a middle term alone.
func Compare(t *testing.T, m device.Method, newTask func(t testing.TB, seed uint64) *Instance, sum bool) {
	count, tolerance := 60, 1e-10
	if testcheck.Long() {
		count = 500
	}
	plain, own := textbook.New(), Open(t, m)
	for seed := range uint64(count) {
		p := newTask(t, seed)
		var all [2]*Results
		for i, b := range []device.Backend{plain, own} {
			w := testcheck.Get(b.NewWorkspace(context.Background(), p.X))(t)
			all[i] = Evaluate(t, w, p, rand.New(rand.NewPCG(seed, 1)), sum)
			testcheck.Do(t, w.Close())
		}
		for k, name := range all[0].Names {
			want, got := all[0].Values[k], all[1].Values[k]
			scale := 1.0
			for _, v := range want {
				scale = max(scale, math.Abs(v))
			}
			for i, v := range want {
				if !(math.Abs(got[i]-v) <= tolerance*scale) {
					t.Errorf("problem %d, %s, n = %d: %s[%d] = %v, want %v", seed, p.Text, p.X.N, name, i, got[i], v)
					break
				}
			}
		}
	}
}

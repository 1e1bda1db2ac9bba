package finite

import (
	"context"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"gonum.org/v1/gonum/blas/blas64"

	"gpfit/device"
	"gpfit/internal/hosted"
	"gpfit/internal/must"
	"gpfit/internal/textbook"
	"gpfit/kernel"
)

// fake is a host called cpu with unknown memory.
type fake struct{}

func (fake) Info() device.Info {
	return device.Info{Name: hosted.Name, Description: "a host", Host: true, Threads: 1}
}
func (fake) Close() error { return nil }

// open returns the method on a host.
func open(t testing.TB) device.Backend {
	t.Helper()
	return must.Get(Method{}.Backends([]device.Device{fake{}}))(t)[0]
}

// expressions are kernels with few features, for points of three columns.
var expressions = []string{
	"linear", "linear(ard)", "poly(2)", "poly(2, ard)", "poly(3, dims=[0, 1])", "poly(3, offset=0)", "constant",
	"linear(dims=0)*cosine(dims=1)", "linear(ard) + constant", "cosine", "cosine(ard)*linear(dims=2) + constant",
	"cosine(dims=0) + cosine(dims=0) + linear", "poly(2, dims=1)*cosine(dims=0) + linear(ard)",
	"formula(sin(c*x)*sin(c*y), c=0.7, dims=0) + linear", "formula(exp(-c*xx)*exp(-c*yy), c=0.3, ard)*linear(dims=1) + constant",
	"(constant + linear(dims=0))*(constant + cosine(dims=1))",
}

// task is a random problem.
type task struct {
	text         string
	x, xs        *kernel.Points
	prog         *kernel.Program
	theta, noise []float64
	targets      int
	y            []float64
}

func normals(rng *rand.Rand, n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = rng.NormFloat64()
	}
	return v
}

func newTask(t testing.TB, seed uint64) *task {
	rng := rand.New(rand.NewPCG(seed, 29))
	n, m := 1+rng.IntN(70), 1+rng.IntN(40) // also fewer rows than features
	p := &task{text: expressions[int(seed)%len(expressions)], targets: 1 + rng.IntN(3)}
	p.x, p.xs = kernel.NewPoints(normals(rng, 3*n), n, 3), kernel.NewPoints(normals(rng, 3*m), m, 3)
	p.prog = must.Get(kernel.CompileText(p.text, 3))(t)
	for range p.prog.NumParams {
		p.theta = append(p.theta, math.Exp(0.5*rng.NormFloat64()))
	}
	p.noise = []float64{math.Exp(rng.NormFloat64())}
	if rng.IntN(2) == 0 {
		for range n - 1 {
			p.noise = append(p.noise, math.Exp(rng.NormFloat64()))
		}
	}
	p.y = normals(rng, n*p.targets)
	return p
}

// results are all results for a task, by name.
type results struct {
	names  []string
	values [][]float64
}

func (r *results) add(name string, values ...float64) {
	r.names, r.values = append(r.names, name), append(r.values, slices.Clone(values))
}

// evaluate calls everything.
func evaluate(t testing.TB, w device.Workspace, p *task, rng *rand.Rand) *results {
	t.Helper()
	ctx, r, n := context.Background(), &results{}, p.x.N
	must.Do(t, w.Form(ctx, p.prog, p.theta, p.noise))
	alpha := slices.Clone(p.y)
	must.Do(t, w.Solve(ctx, alpha, p.targets))
	logDet, _ := must.Get2(w.LogDet())(t)
	r.add("log|Σ|", logDet)
	r.add("α", alpha...)
	grad, diag := make([]float64, p.prog.NumParams), make([]float64, n)
	adj := device.Adjoint{Inv: float64(p.targets) / 2, Outer: slices.Repeat([]float64{-0.5}, p.targets), Vectors: alpha}
	must.Do(t, w.Contract(ctx, adj, p.prog, p.theta, grad, diag))
	r.add("gradient", grad...)
	r.add("diagonal of the adjoint", diag...)
	must.Do(t, w.(device.InverseDiagonal).InverseDiagonal(ctx, diag))
	r.add("diagonal of the inverse", diag...)
	clear(grad)
	adj = device.Adjoint{Inv: 0.3, Outer: normals(rng, 2), Vectors: normals(rng, 2*n)}
	must.Do(t, w.(device.InverseDiagonal).ContractDiagonal(ctx, adj, normals(rng, n), p.prog, p.theta, grad, diag))
	r.add("gradient with a middle term", grad...)
	r.add("diagonal with a middle term", diag...)
	m := p.xs.N
	mean, reduction, joint := make([]float64, m*p.targets), make([]float64, m), make([]float64, m*m)
	must.Do(t, w.Predict(ctx, p.prog, p.theta, alpha, p.xs, mean, reduction))
	r.add("means", mean...)
	r.add("reductions", reduction...)
	must.Do(t, w.(device.JointCovariance).PredictCovariance(ctx, p.prog, p.theta, p.xs, joint))
	r.add("joint covariance", joint...)
	vectors, products := normals(rng, 2*n), make([]float64, 2*n*p.prog.NumParams)
	c := w.(device.DerivativeProducts)
	must.Do(t, c.MultiplyDerivatives(ctx, p.prog, p.theta, vectors, 2, products))
	r.add("products", products...)
	must.Do(t, c.Whiten(ctx, vectors, 2, false))
	r.add("‖L⁻¹b‖²", blas64.Dot(vector(vectors), vector(vectors)))
	must.Do(t, c.Whiten(ctx, vectors, 2, true))
	r.add("L⁻ᵀL⁻¹b", vectors...)
	return r
}

// long reports whether the long form of tests runs.
func long() bool { return os.Getenv("GPFIT_LONG") == "1" }

// TestRandomProblems compares all results for random problems with the results of plain formulas.
func TestRandomProblems(t *testing.T) {
	count, tolerance := 60, 1e-10
	if long() {
		count = 500
	}
	plain, own := textbook.New(), open(t)
	for seed := range uint64(count) {
		p := newTask(t, seed)
		var all [2]*results
		for i, b := range []device.Backend{plain, own} {
			w := must.Get(b.NewWorkspace(context.Background(), p.x))(t)
			all[i] = evaluate(t, w, p, rand.New(rand.NewPCG(seed, 1)))
			must.Do(t, w.Close())
		}
		for k, name := range all[0].names {
			want, got := all[0].values[k], all[1].values[k]
			scale := 1.0
			for _, v := range want {
				scale = max(scale, math.Abs(v))
			}
			for i, v := range want {
				if !(math.Abs(got[i]-v) <= tolerance*scale) {
					t.Errorf("problem %d, %s, n = %d: %s[%d] = %v, want %v", seed, p.text, p.x.N, name, i, got[i], v)
					break
				}
			}
		}
	}
}

package tree

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gpfit/device"
	"gpfit/device/devicetest"
	"gpfit/device/devicetest/methodtest"
	"gpfit/internal/testcheck"
	"gpfit/kernel"
	"gpfit/kernel/kerneltest"
	"gpfit/kernel/vec"
)

// open returns the backend for a bound in nats.
func open(t testing.TB, tolerance float64) device.Backend {
	return device.For(methodtest.Open(t, Method{}), device.Workload{Tolerance: tolerance})
}

func TestConformance(t *testing.T) {
	devicetest.Run(t, func(t *testing.T) device.Backend { return open(t, 1e-12) })
}

// small are sizes that make many blocks of few points, and check them.
var small = sizes{leaf: 32, sample: 24}

// workspaceOf returns a workspace with the given sizes.
func workspaceOf(t testing.TB, b device.Backend, x *kernel.Points, of sizes) *workspace {
	t.Helper()
	w := testcheck.Get(b.NewWorkspace(context.Background(), x))(t).(*workspace)
	w.engine.sizes = of
	t.Cleanup(func() { w.Close() })
	return w
}

// outcome is a value with its gradient by the logarithms of the parameters and of the noise.
type outcome struct {
	logDet, fit float64
	grad        []float64
	bound       device.Bound
	found       device.Verified
	// mean and reduction predict some points beside the rows, and variance is the largest of the kernel.
	mean, reduction []float64
	variance        float64
}

// likelihood evaluates the terms of a likelihood and the gradient of half of their sum, and by the noise.
func likelihood(t testing.TB, w device.Workspace, p *methodtest.Instance) (out outcome, err error) {
	t.Helper()
	ctx := context.Background()
	forming, end := context.WithCancel(ctx) // what follows has contexts of its own
	err = w.Form(forming, p.Prog, p.Theta, p.Noise)
	if end(); err != nil {
		return out, err
	}
	alpha := slices.Clone(p.Y)
	if err := w.Solve(ctx, alpha, 1); err != nil {
		return out, err
	}
	out.logDet, _ = testcheck.Get2(w.LogDet())(t)
	out.fit = vec.Dot(alpha, p.Y)
	out.grad = make([]float64, p.Prog.NumParams)
	diag := make([]float64, p.X.N)
	testcheck.Do(t, w.Contract(ctx, device.Adjoint{Inv: 0.5, Outer: []float64{-0.5}, Vectors: alpha}, p.Prog, p.Theta, out.grad, diag))
	sum := 0.0
	for i, v := range diag {
		sum += v * p.Noise[min(i, len(p.Noise)-1)]
	}
	out.grad = append(out.grad, sum)
	xs := p.X.Pick([]int{0, p.X.N / 3, p.X.N / 2, p.X.N - 1})
	for i := range xs.X {
		xs.X[i] *= 1.01
	}
	out.mean, out.reduction = make([]float64, xs.N), make([]float64, xs.N)
	testcheck.Do(t, w.Predict(ctx, p.Prog, p.Theta, alpha, xs, out.mean, out.reduction))
	e, variances := kernel.NewEvaluator(p.Prog), make([]float64, xs.N)
	e.Bind(p.Theta)
	e.Diagonal(variances, xs, 0, xs.N)
	out.variance = slices.Max(variances)
	if b, ok := w.(device.Bounded); ok {
		out.bound, out.found = b.Bound(), testcheck.Get(b.Verify(ctx, p.Y, alpha, 1))(t)
	}
	return out, nil
}

var texts = [][]string{
	{"rbf", "matern12", "matern32", "matern52", "rq", "periodic*rbf + rbf", "periodic + matern32", "linear + rbf"},
	{"rbf(ard)", "matern12", "matern32(ard)", "matern52", "rq(ard)", "rbf(dims=0) + matern32(dims=1)", "rbf(ard) + matern12"},
	{"rbf(ard)", "matern32", "rq", "additive(rbf, ard)"},
}

// geometries are the places of points.
var geometries = []string{"uniform", "grid", "cluster", "repeat", "gap", "line", "outlier", "lognormal", "integer"}

// place returns n points of d columns in a geometry.
func place(rng *rand.Rand, geometry string, n, d int) *kernel.Points {
	x := kernel.NewPoints(make([]float64, n*d), n, d)
	for i := range x.X {
		x.X[i] = rng.Float64()
	}
	scale := math.Pow(10, -6+5*rng.Float64())
	count := 2 + rng.IntN(max(2, n/8))
	for c := range d {
		column := x.Column(c)
		for i, v := range column {
			switch geometry {
			case "grid":
				column[i] = math.Floor(v*20) / 20
			case "cluster":
				column[i] = float64(i%7)/7 + scale*rng.NormFloat64()
			case "repeat":
				column[i] = column[i%count]
			case "gap":
				if column[i] = v / 5; i%3 == 0 {
					column[i] = 0.8 + v/5
				}
			case "line":
				column[i] = x.X[i] * float64(c+1)
			case "outlier":
				if column[i] = v / 100; i < 4 {
					column[i] = float64(i)
				}
			case "lognormal":
				column[i] = math.Exp(2 * rng.NormFloat64())
			case "integer":
				column[i] = math.Floor(v * 30)
			}
		}
	}
	return x
}

// randomProblem returns a random problem of 97 rows to most.
func randomProblem(t testing.TB, seed uint64, most int) *methodtest.Instance {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 3))
	d := 1 + rng.IntN(3)
	n := 97 + int(float64(most-97)*math.Pow(rng.Float64(), 3))
	p := &methodtest.Instance{X: place(rng, geometries[seed%9], n, d), Targets: 1}
	p.Text = texts[d-1][rng.IntN(len(texts[d-1]))]
	p.Prog = kerneltest.Program(t, p.Text, d)
	spread := slices.Max(p.X.X) - slices.Min(p.X.X)
	for _, q := range p.Prog.Params {
		for range q.Size {
			v := math.Exp(0.5 * rng.NormFloat64())
			if q.Kind == kernel.Lengthscale || q.Kind == kernel.Period {
				v = spread * math.Pow(10, -3+5*rng.Float64())
			}
			p.Theta = append(p.Theta, v)
		}
	}
	p.Noise = []float64{math.Pow(10, -8*rng.Float64()-4*float64(seed%3/2))}
	if rng.IntN(3) == 0 {
		low := math.Pow(10, -6*rng.Float64())
		p.Noise = testcheck.Slice(n, func(int) float64 { return low * (1 + rng.Float64()) })
	}
	p.Y = methodtest.Normals(rng, n)
	return p
}

// TestPlan compares the memory of a plan with the memory of a factor, for typical lengthscales.
func TestPlan(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	p := &methodtest.Instance{Text: "matern32(ard)", X: place(rng, "uniform", 4000, 2), Theta: []float64{0.3, 0.3, 1}, Noise: []float64{0.05}}
	p.Prog = kerneltest.Program(t, p.Text, 2)
	b := open(t, 1e-3)
	w := workspaceOf(t, b, p.X, usualSizes)
	testcheck.Do(t, w.Form(context.Background(), p.Prog, p.Theta, p.Noise))
	plan := b.Plan(device.Workload{N: p.X.N, D: 2, Points: p.X, Program: p.Prog})
	leaves := float64(8 * p.X.N * p.X.N / 32) // of 125 rows
	held := leafPeak*leaves + blockPeak*(float64(w.Work().Bytes)-leaves) + pointBytes*float64(p.X.N)
	if ratio := float64(plan.HostBytes()) / held; ratio < 1/1.25 || ratio > 1.25 {
		t.Errorf("a plan of %d bytes, %.3g times what is held", plan.HostBytes(), ratio)
	}
	if !(plan.FlopsGradient > plan.FlopsValue) {
		t.Errorf("plan %+v", plan)
	}
}

// TestMapsOfAllSizes checks that a map of a rough kernel is not refused at any number of points above the smallest tree.
func TestMapsOfAllSizes(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 1))
	for _, n := range []int{4001, 4500, 5000} {
		x := &kernel.Points{N: n, D: 2, X: testcheck.Slice(2*n, func(int) float64 { return rng.Float64() })}
		w := testcheck.Get(methodtest.Open(t, Method{}).NewWorkspace(t.Context(), x))(t)
		prog := testcheck.Get(kernel.CompileText("matern32", 2))(t)
		testcheck.Do(t, w.Form(t.Context(), prog, []float64{0.2, 1}, []float64{0.01}), w.Close())
	}
}

// TestRefused checks that the refusal of blocks of large ranks names a tolerance with which the method is not refused.
func TestRefused(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 2))
	p := &methodtest.Instance{X: place(rng, "uniform", 1500, 3), Prog: kerneltest.Program(t, "matern52", 3)}
	form := func(tolerance float64) error {
		return workspaceOf(t, open(t, tolerance), p.X, usualSizes).Form(t.Context(), p.Prog, []float64{0.4, 1}, []float64{0.01})
	}
	_, text, _ := strings.Cut(testcheck.Fail[*device.UnsupportedError](t, form(1e-3), "has rank").Error(), "with a tolerance ")
	times := 0.0
	testcheck.Get(fmt.Sscan(text, &times))(t)
	testcheck.Do(t, form(times*1e-3))
}

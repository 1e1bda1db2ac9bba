package graph_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gorgonia.org/gorgonia"

	"gpfit/cpu"
	"gpfit/device"
	"gpfit/graph"
	"gpfit/internal/testcheck"
	"gpfit/kernel"
	"gpfit/kernel/kerneltest"
)

// tolDiff bounds a central difference of the fourth order, with step 1e-4, of a
// function of size 100: cancellation is near 1e-10, and truncation below that
// for derivatives of the fifth order up to some millions, as periods have.
const tolDiff = 1e-7

var backend, _ = cpu.New(device.Options{})

type fixture struct {
	ws   device.Workspace
	spec graph.Spec
	obj  *graph.Objective
}

func newFixture(t testing.TB, text string, n, d int, change func(*graph.Spec)) *fixture {
	t.Helper()
	prog := kerneltest.Program(t, text, d)
	rng := rand.New(rand.NewPCG(1, uint64(n)))
	rows := testcheck.Slice(n*d, func(int) float64 { return rng.NormFloat64() })
	y := testcheck.Slice(n, func(i int) float64 { return math.Sin(2*rows[i*d]) + 0.3*rng.NormFloat64() })
	f := &fixture{spec: graph.Spec{Program: prog, X: kernel.NewPoints(rows, n, d), Y: y}}
	if change != nil {
		change(&f.spec)
	}
	f.ws = testcheck.Get(backend.NewWorkspace(t.Context(), f.spec.X))(t)
	f.obj = testcheck.Get(graph.Build(f.ws, f.spec))(t)
	t.Cleanup(func() { f.ws.Close() })
	return f
}

func (f *fixture) z(seed uint64) []float64 {
	rng := rand.New(rand.NewPCG(seed, 7))
	return testcheck.Slice(len(f.obj.Names()), func(int) float64 { return 0.4 * rng.NormFloat64() })
}

func (f *fixture) value(t testing.TB, z []float64) float64 {
	t.Helper()
	return testcheck.Get(f.obj.Value(t.Context(), z))(t)
}

func (f *fixture) gradient(t testing.TB, z []float64) (float64, []float64) {
	t.Helper()
	grad := make([]float64, len(z))
	v := testcheck.Get(f.obj.ValueGradient(t.Context(), z, grad))(t)
	return v, grad
}

// work returns the operations of a call, as multiples of n³.
func (f *fixture) work(call func()) float64 {
	before := f.ws.Work().Flops
	call()
	return (f.ws.Work().Flops - before) / math.Pow(float64(f.spec.X.N), 3)
}

// checkGradient compares the graph's gradient with central differences of its
// values, at several points through the same machines.
func (f *fixture) checkGradient(t *testing.T) {
	t.Helper()
	for seed := range uint64(3) {
		z := f.z(seed)
		v, grad := f.gradient(t, z)
		if w := f.value(t, z); w != v {
			t.Errorf("value %v with gradient, %v alone", v, w)
		}
		for i, name := range f.obj.Names() {
			const h = 1e-4
			at := func(step float64) float64 {
				moved := append([]float64(nil), z...)
				moved[i] += step
				return f.value(t, moved)
			}
			want := (8*(at(h)-at(-h)) - (at(2*h) - at(-2*h))) / (12 * h)
			if math.Abs(grad[i]-want) > tolDiff*(math.Abs(v)+math.Abs(want)) {
				t.Errorf("∂/∂%s = %v, central difference %v", name, grad[i], want)
			}
		}
	}
}

func TestGradient(t *testing.T) {
	texts := []string{"rbf(ard) + matern32*matern12(dims=1)", "rbf(ard, dims=0)", "(rbf + matern52(ard))*matern12", "additive(matern32, ard) + rbf(ard)"}
	for _, name := range kernel.Families() {
		texts = append(texts, name, name+"(ard)")
	}
	for _, text := range texts {
		for _, mean := range []string{"zero", "constant", "linear"} {
			t.Run(text+" "+mean, func(t *testing.T) { newFixture(t, text, 40, 3, freeMean(mean)).checkGradient(t) })
		}
	}
	t.Run("one column", func(t *testing.T) { newFixture(t, "rbf(ard)", 30, 1, freeMean("linear")).checkGradient(t) })
}

// TestValue compares the objective with direct calls of the workspace.
func TestValue(t *testing.T) {
	f := newFixture(t, "matern32(ard)", 90, 2, freeMean("linear"))
	z := f.z(5)
	got := f.value(t, z)
	names := strings.Join(f.obj.Names(), " ")
	if want := "lengthscale[0] lengthscale[1] signal_variance noise_variance mean_linear[0] mean_linear[1] mean_constant"; names != want {
		t.Fatalf("parameters %s, want %s", names, want)
	}
	theta := []float64{math.Exp(z[0]), math.Exp(z[1]), math.Exp(z[2])}
	ws := testcheck.Get(backend.NewWorkspace(t.Context(), f.spec.X))(t)
	ctx := t.Context()
	testcheck.Do(t, ws.Form(ctx, f.spec.Program, theta, []float64{math.Exp(z[3])}))
	r := testcheck.Slice(90, func(i int) float64 {
		return f.spec.Y[i] - z[6] - z[4]*f.spec.X.Column(0)[i] - z[5]*f.spec.X.Column(1)[i]
	})
	alpha := append([]float64(nil), r...)
	testcheck.Do(t, ws.Solve(ctx, alpha, 1))
	logDet, _, _ := ws.LogDet()
	fit := floats.Dot(r, alpha)
	if want := fit/2 + logDet/2 + 45*math.Log(2*math.Pi); math.Abs(got-want) > 1e-12*math.Abs(want) {
		t.Errorf("objective %v, want %v", got, want)
	}
	terms := f.obj.Terms()
	if math.Abs(terms.DataFit-fit/2) > 1e-12*fit || terms.Complexity != logDet/2 || terms.NegLogPrior != 0 || terms.Jitter != 0 {
		t.Errorf("terms %+v, want data fit %v, complexity %v", terms, fit/2, logDet/2)
	}
	gotTheta, noise, gotAlpha := f.obj.Theta()
	if len(gotTheta) != 3 || gotTheta[0] != theta[0] || len(noise) != 1 || noise[0] != math.Exp(z[3]) || math.Abs(gotAlpha[7]-alpha[7]) > 1e-12 {
		t.Errorf("θ = %v, σ² = %v, α[7] = %v", gotTheta, noise, gotAlpha[7])
	}
	if logs := f.obj.IsLog(); !logs[0] || !logs[3] || logs[4] || logs[6] {
		t.Errorf("IsLog = %v", logs)
	}
}

// TestDerived checks that gradients come from the graph: it ties parameters and
// replaces them by functions of others without changing our ops.
func TestDerived(t *testing.T) {
	f := newFixture(t, "rbf + matern32", 40, 2, func(s *graph.Spec) {
		s.Derive = map[string]func(graph.Nodes) (*gorgonia.Node, error){
			"k2.lengthscale": func(n graph.Nodes) (*gorgonia.Node, error) { return n.Natural["k1.lengthscale"], nil },
			"noise_variance": func(n graph.Nodes) (*gorgonia.Node, error) {
				half, err := gorgonia.Mul(n.Natural["k1.signal_variance"], gorgonia.NewConstant(0.5))
				if err != nil {
					return nil, err
				}
				return gorgonia.Square(half)
			},
		}
	})
	if got := strings.Join(f.obj.Names(), " "); got != "k1.lengthscale k1.signal_variance k2.signal_variance" {
		t.Fatalf("free parameters %s", got)
	}
	f.checkGradient(t)
	plain := newFixture(t, "rbf + matern32", 40, 2, nil)
	z := f.z(9)
	full := []float64{z[0], z[1], z[0], z[2], 2 * (z[1] + math.Log(0.5))}
	v, grad := f.gradient(t, z)
	w, fullGrad := plain.gradient(t, full)
	if math.Abs(v-w) > 1e-12*math.Abs(w) {
		t.Errorf("tied %v, untied %v", v, w)
	}
	want := []float64{fullGrad[0] + fullGrad[2], fullGrad[1] + 2*fullGrad[4], fullGrad[3]}
	testcheck.Near(t, "gradient", grad, want, 1e-10, 1e-10)
}

func TestPrior(t *testing.T) {
	prior := func(n graph.Nodes) (*gorgonia.Node, error) {
		sum, err := gorgonia.Sum(n.Log["lengthscale"])
		if err != nil {
			return nil, err
		}
		return gorgonia.Square(sum)
	}
	f := newFixture(t, "rbf(ard)", 30, 3, func(s *graph.Spec) { s.Prior = prior })
	f.checkGradient(t)
	z := f.z(1)
	f.value(t, z)
	sum := z[0] + z[1] + z[2]
	if got := f.obj.Terms().NegLogPrior; math.Abs(got-sum*sum) > 1e-12*100 {
		t.Errorf("prior term %v, want %v", got, sum*sum)
	}
}

// TestReuse checks that a value costs n³/3, a gradient 2n³/3 more, and repetitions nothing.
func TestReuse(t *testing.T) {
	const n = 300
	f := newFixture(t, "rbf", n, 2, nil)
	z := f.z(2)
	value, again := f.work(func() { f.value(t, z) }), f.work(func() { f.value(t, z) })
	gradient, gradientAgain := f.work(func() { f.gradient(t, z) }), f.work(func() { f.gradient(t, z) })
	if value < 0.3 || value > 0.45 || again != 0 || gradient < 0.6 || gradient > 1.2 || gradientAgain != 0 {
		t.Errorf("n³ operations: value %.2f, again %.2f, gradient %.2f, again %.2f", value, again, gradient, gradientAgain)
	}
}

func TestErrors(t *testing.T) {
	ctx := t.Context()
	f := newFixture(t, "rbf", 80, 2, func(s *graph.Spec) {
		for c := range 2 { // two equal rows
			s.X.Column(c)[70] = s.X.Column(c)[3]
		}
	})
	bad := []float64{5, 0, -80} // a long lengthscale and no noise
	grad := make([]float64, 3)
	var npd *device.NotPDError
	if _, err := f.obj.Value(ctx, bad); !errors.As(err, &npd) || npd.N != 80 {
		t.Errorf("error %v, want a NotPDError", err)
	}
	if _, err := f.obj.ValueGradient(ctx, bad, grad); !device.IsNotPD(err) {
		t.Errorf("error %v, want a NotPDError", err)
	}
	f.checkGradient(t) // usable after a failure
	done, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := f.obj.ValueGradient(done, f.z(33), grad); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
	f.checkGradient(t)
	if _, err := f.obj.Value(ctx, []float64{1}); err == nil {
		t.Error("one number for three parameters accepted")
	}
	if _, err := f.obj.Value(ctx, []float64{1000, 0, 0}); err == nil {
		t.Error("infinite lengthscale accepted")
	}
	for what, change := range map[string]func(*graph.Spec){
		"unknown parameter":    func(s *graph.Spec) { s.Derive = map[string]func(graph.Nodes) (*gorgonia.Node, error){"x": nil} },
		"too few targets":      func(s *graph.Spec) { s.Y = s.Y[1:] },
		"NaN among the target": func(s *graph.Spec) { s.Y = append([]float64{math.NaN()}, s.Y[1:]...) },
		"vector as prior": func(s *graph.Spec) {
			s.Program = kerneltest.Program(t, "rbf(ard)", 2)
			s.Prior = func(n graph.Nodes) (*gorgonia.Node, error) { return n.Log["lengthscale"], nil }
		},
		"wrong shape derived": func(s *graph.Spec) {
			s.Program = kerneltest.Program(t, "rbf(ard)", 2)
			s.Derive = map[string]func(graph.Nodes) (*gorgonia.Node, error){
				"noise_variance": func(n graph.Nodes) (*gorgonia.Node, error) { return n.Natural["lengthscale"], nil },
			}
		},
	} {
		spec := f.spec
		change(&spec)
		if _, err := graph.Build(f.ws, spec); err == nil {
			t.Errorf("%s accepted", what)
		}
	}
}

func TestJitter(t *testing.T) {
	f := newFixture(t, "rbf", 60, 1, func(s *graph.Spec) {
		s.X.X[50] = s.X.X[3]
		s.MaxJitter = 1e-4
	})
	f.value(t, []float64{0, 0, -80})
	if j := f.obj.Terms().Jitter; j < 1e-16 || j > 1e-4 {
		t.Errorf("jitter %v was needed and must be reported", j)
	}
	f.value(t, []float64{0, 0, 0})
	if j := f.obj.Terms().Jitter; j != 0 {
		t.Errorf("jitter %v though none was needed", j)
	}
}

// TestConcurrent builds and runs many objectives at once.
func TestConcurrent(t *testing.T) {
	f := newFixture(t, "rbf(ard)", 50, 2, nil)
	z := f.z(4)
	want, wantGrad := f.gradient(t, z)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			ws, errSpace := backend.NewWorkspace(t.Context(), f.spec.X)
			obj, err := graph.Build(ws, f.spec)
			if errSpace != nil || err != nil {
				t.Error(errSpace, err)
				return
			}
			grad := make([]float64, len(z))
			for range 20 {
				v, err := obj.ValueGradient(t.Context(), z, grad)
				if err != nil || v != want || grad[0] != wantGrad[0] {
					t.Errorf("value %v, gradient %v, error %v; want %v, %v", v, grad, err, want, wantGrad)
					return
				}
			}
		})
	}
	wg.Wait()
}

func benchmark(b *testing.B, run func(f *fixture, z []float64)) {
	f := newFixture(b, "rbf", 500, 8, nil)
	z := f.z(3)
	b.ResetTimer()
	for i := range b.N {
		z[0] = 1e-9 * float64(i) // no value exists yet
		run(f, z)
	}
}

// BenchmarkGraph and BenchmarkDirect do the same evaluation at n = 500, with
// and without the graph; the difference is the graph's overhead.
func BenchmarkGraph(b *testing.B) {
	grad := make([]float64, 3)
	benchmark(b, func(f *fixture, z []float64) { testcheck.Get(f.obj.ValueGradient(b.Context(), z, grad))(b) })
}

func BenchmarkDirect(b *testing.B) {
	ctx := b.Context()
	alpha, diag, grad := make([]float64, 500), make([]float64, 500), make([]float64, 2)
	benchmark(b, func(f *fixture, z []float64) {
		theta := []float64{math.Exp(z[0]), math.Exp(z[1])}
		clear(grad)
		copy(alpha, f.spec.Y)
		err := errors.Join(
			f.ws.Form(ctx, f.spec.Program, theta, []float64{math.Exp(z[2])}), f.ws.Solve(ctx, alpha, 1),
			f.ws.Contract(ctx, device.Adjoint{Inv: 0.5, Outer: []float64{-0.5}, Vectors: alpha}, f.spec.Program, theta, grad, diag))
		if _, _, err2 := f.ws.LogDet(); err != nil || err2 != nil {
			b.Fatal(err, err2)
		}
	})
}

package graph_test

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"

	"gpfit/graph"
	"gpfit/internal/testcheck"
	"gpfit/internal/transform"
	"gpfit/kernel"
	"gpfit/method/markov"
)

// curvatureCases are models for which second derivatives have parts of their own.
var curvatureCases = map[string]struct {
	kernels []string
	change  func(t *testing.T, s *graph.Spec)
}{
	"kernels": {kernels: []string{"rbf", "rbf(ard)", "matern12(ard)", "matern32", "matern52(ard)", "rq(ard)", "periodic(ard)", "cosine", "linear(ard)", "poly", "constant + rbf",
		"rbf(ard) + matern32 + periodic", "linear*periodic + rbf", "(matern12 + linear)*cosine"}},
	"least squares": {[]string{"rbf(ard)", "linear"}, func(_ *testing.T, s *graph.Spec) {
		freeMean("linear")(s)
		s.MeanFree = false
	}},
	"coefficients": {[]string{"rbf(ard)"}, func(_ *testing.T, s *graph.Spec) { freeMean("linear")(s) }},
	"targets": {[]string{"rbf(ard)"}, func(t *testing.T, s *graph.Spec) {
		s.Y = append(s.Y, testcheck.Slice(len(s.Y), func(i int) float64 { return math.Cos(s.Y[i]) - s.X.X[i] })...)
		freeMean("constant")(s)
		s.MeanFree = false
	}},
	"priors": {[]string{"rbf(ard)"}, func(t *testing.T, s *graph.Spec) {
		s.Prior = graph.NegLogPrior(map[string]graph.Prior{
			"lengthscale[1]": mustPrior(t, "gamma(2, 1)"), "noise_variance": mustPrior(t, "lognormal(-2, 0.5)"), "signal_variance": mustPrior(t, "halfnormal(0.7)"),
		})
	}},
	"ties": {[]string{"rbf(ard)"}, func(_ *testing.T, s *graph.Spec) {
		s.Derive = map[string]func(graph.Nodes) (*gorgonia.Node, error){"lengthscale[2]": graph.Tied("lengthscale[0]"), "noise_variance": graph.Tied("signal_variance")}
	}},
	"functions": {[]string{"rbf + matern32"}, func(_ *testing.T, s *graph.Spec) {
		s.Derive = map[string]func(graph.Nodes) (*gorgonia.Node, error){"k2.lengthscale": func(n graph.Nodes) (*gorgonia.Node, error) {
			return gorgonia.Add(n.Natural["k1.lengthscale"], n.Natural["k1.signal_variance"])
		}}
	}},
	"groups of noise": {[]string{"rbf(ard)", "linear + rbf"}, func(t *testing.T, s *graph.Spec) {
		s.Noise = graph.NoiseModel{Labels: []string{"a", "b"}, Group: testcheck.Slice(s.X.N, func(i int) int { return i % 3 / 2 })}
	}},
	"known noise": {[]string{"rbf"}, func(t *testing.T, s *graph.Spec) {
		s.Noise.Known = testcheck.Slice(s.X.N, func(i int) float64 { return 0.1 * float64(i%4) })
	}},
	"weights": {[]string{"rbf"}, func(t *testing.T, s *graph.Spec) {
		s.Noise = graph.NoiseModel{Labels: []string{"a", "b"}, Group: testcheck.Slice(s.X.N, func(i int) int { return i % 2 }), Weights: testcheck.Slice(s.X.N, func(i int) float64 { return 0.5 + float64(i%3) })}
		s.Derive = map[string]func(graph.Nodes) (*gorgonia.Node, error){"noise_variance[b]": graph.Tied("signal_variance")}
	}},
	"transform": {[]string{"rbf(ard)", "linear"}, func(t *testing.T, s *graph.Spec) {
		withTransform(transform.YeoJohnson, freeMean("linear"))(s)
		s.Prior = graph.NegLogPrior(map[string]graph.Prior{"lambda": mustPrior(t, "normal(1, 0.3)")})
	}},
	"transform, least squares": {[]string{"rbf(ard)"}, func(t *testing.T, s *graph.Spec) {
		withTransform(transform.BoxCox, withMean("linear"))(s)
		s.Noise = graph.NoiseModel{Labels: []string{"a", "b"}, Group: testcheck.Slice(s.X.N, func(i int) int { return i % 3 / 2 })}
	}},
	"no noise": {[]string{"matern12"}, func(t *testing.T, s *graph.Spec) { s.Noise.None = true }},
}

// eachCurvature calls f for every case, at two points.
func eachCurvature(t *testing.T, n int, f func(t *testing.T, x *fixture, z []float64)) {
	for name, c := range curvatureCases {
		for _, text := range c.kernels {
			t.Run(name+"/"+text, func(t *testing.T) {
				x := newFixture(t, text, n, 3, func(s *graph.Spec) {
					if c.change != nil {
						c.change(t, s)
					}
				})
				for seed := range uint64(2) {
					f(t, x, x.z(seed))
				}
			})
		}
	}
}

// differences returns the Hessian from differences of the gradient with an error of the fourth
// order in their step, and its largest element, or 1.
func (f *fixture) differences(t *testing.T, z []float64) (h []float64, size float64) {
	const step = 3e-4
	p := len(z)
	h, size = make([]float64, p*p), 1
	for j := range z {
		for _, at := range []struct{ steps, weight float64 }{{1, 8}, {-1, -8}, {2, -1}, {-2, 1}} {
			moved := slices.Clone(z)
			moved[j] += at.steps * step
			_, grad := f.gradient(t, moved)
			for i, g := range grad {
				h[i*p+j] += at.weight * g / (12 * step)
			}
		}
	}
	for _, v := range h {
		size = max(size, math.Abs(v))
	}
	return h, size
}

// TestHessian compares the Hessian with central differences of the gradient. With few points it
// has no random part; its own differences leave a relative error of 1e-7, or up to 1e-4 for many waves.
func TestHessian(t *testing.T) {
	eachCurvature(t, 30, func(t *testing.T, x *fixture, z []float64) {
		_, grad := x.gradient(t, z)
		got := testcheck.Get(x.obj.Curvature(t.Context(), true))(t)
		want, size := x.differences(t, z)
		testcheck.Near(t, "Hessian", got, want, 0, 1e-4*size)
		if _, again := x.gradient(t, z); !slices.Equal(again, grad) {
			t.Errorf("the gradient is %v afterwards, before %v", again, grad)
		}
	})
}

// TestHessianByDifferences is TestHessian for a method that forms Σ quickly, whose traces come from
// differences.
func TestHessianByDifferences(t *testing.T) {
	method := testcheck.Get(markov.Method().Backends(backend.Capabilities().Devices))(t)[0]
	texts := map[string]string{"kernels": "matern52(dims=1) + linear(dims=1)*matern12(dims=1)", "functions": "matern32(dims=1) + matern52(dims=1)", "no noise": "matern12(dims=1)"}
	for name, c := range curvatureCases {
		if name == "priors" || name == "ties" {
			continue // they are of several columns
		}
		t.Run(name, func(t *testing.T) {
			x := newFixture(t, cmp.Or(texts[name], "matern52(dims=1)"), 60, 3, func(s *graph.Spec) {
				if c.change != nil {
					c.change(t, s)
				}
			})
			x.ws = testcheck.Get(method.NewWorkspace(t.Context(), x.spec.X))(t)
			x.obj = testcheck.Get(graph.Build(x.ws, x.spec))(t)
			z := x.z(1)
			_, grad := x.gradient(t, z)
			got := testcheck.Get(x.obj.Curvature(t.Context(), true))(t)
			want, size := x.differences(t, z)
			testcheck.Near(t, "Hessian", got, want, 0, 1e-5*size)
			if _, again := x.gradient(t, z); !slices.Equal(again, grad) {
				t.Errorf("the gradient is %v afterwards, before %v", again, grad)
			}
		})
	}
}

// TestAverageInformation compares the average information with its definition on dense matrices.
func TestAverageInformation(t *testing.T) {
	eachCurvature(t, 70, func(t *testing.T, x *fixture, z []float64) {
		if x.spec.Derive != nil || x.spec.MeanFree || x.spec.Prior != nil || x.spec.Transform != nil {
			t.Skip("the dense definition has no chain rule; TestHessian covers it")
		}
		x.gradient(t, z)
		_, _, alpha := x.obj.Theta()
		got := testcheck.Get(x.obj.Curvature(t.Context(), false))(t)
		p, n := len(z), x.spec.X.N
		sigma := func(z []float64) *mat.Dense {
			x.value(t, z)
			theta, _, _ := x.obj.Theta()
			e := kernel.NewEvaluator(x.spec.Program)
			e.Bind(theta)
			out, noise := mat.NewDense(n, n, nil), x.obj.Noise()
			for i := range n {
				e.Row(out.RawRowView(i), x.spec.X, i, x.spec.X, 0, n)
				out.Set(i, i, out.At(i, i)+noise[min(i, len(noise)-1)])
			}
			return out
		}
		var inverse, projection mat.Dense
		at := sigma(z)
		testcheck.Do(t, inverse.Inverse(at))
		projection.CloneFrom(&inverse)
		if len(x.spec.Mean) > 0 {
			h := mat.NewDense(len(x.spec.Mean), n, x.spec.Mean.Evaluate(x.spec.X)) // Hᵀ
			var sh, m, b mat.Dense
			sh.Mul(&inverse, h.T())
			m.Mul(h, &sh)
			testcheck.Do(t, b.Solve(&m, sh.T()))
			m.Reset()
			m.Mul(&sh, &b)
			projection.Sub(&projection, &m)
		}
		q := make([]*mat.Dense, p)
		for i := range z {
			const h = 1e-5
			moved := slices.Clone(z)
			moved[i] += h
			up := sigma(moved)
			moved[i] -= 2 * h
			up.Sub(up, sigma(moved))
			up.Scale(1/(2*h), up)
			q[i] = new(mat.Dense)
			q[i].Mul(up, mat.NewDense(len(alpha)/n, n, alpha).T()) // n×T
		}
		want, size := make([]float64, p*p), 1e-3
		for i := range z {
			for j := range z {
				var pq, all mat.Dense
				pq.Mul(&projection, q[j])
				all.Mul(q[i].T(), &pq)
				want[i*p+j] = all.Trace() / 2
				size = max(size, want[i*p+j])
			}
		}
		testcheck.Near(t, "average information", got, want, 0, 1e-7*size)
	})
}

// TestHessianProbes compares the estimate with random vectors with differences of the gradient.
// Each of 64 vectors misses a trace by about its size, so an element by about an eighth of that.
func TestHessianProbes(t *testing.T) {
	x := newFixture(t, "rbf(ard)", 300, 3, nil)
	z := x.z(1)
	x.gradient(t, z)
	got := testcheck.Get(x.obj.Curvature(t.Context(), true))(t)
	want, size := x.differences(t, z)
	testcheck.Near(t, "Hessian", got, want, 0.05, 0.02*size)
}

// TestProbes checks that more vectors estimate traces only up to a thousand points.
func TestProbes(t *testing.T) {
	for n, want := range map[int]int{5: 5, 32: 32, 300: 32, 800: 50, 1024: 64, 1300: 50, 2048: 32, 100_000: 32} {
		if got := graph.Probes(n); got != want {
			t.Errorf("%d points: %d vectors, want %d", n, got, want)
		}
	}
}

// TestCancelledCurvature checks that the objective forms Σ again after second derivatives were
// cancelled, which empties the workspace.
func TestCancelledCurvature(t *testing.T) {
	x := newFixture(t, "rbf(ard)", 70, 2, nil)
	z := x.z(1)
	x.gradient(t, z)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := x.obj.Curvature(ctx, true); !errors.Is(err, context.Canceled) {
		t.Fatalf("the error of a cancelled call is %v", err)
	}
	x.value(t, z)
	testcheck.Get(x.obj.LeaveOneOut(t.Context()))(t)
}

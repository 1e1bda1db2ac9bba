package cpu

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"gpfit/device"
	"gpfit/device/devicetest"
	"gpfit/internal/testcheck"
	"gpfit/kernel"
	"gpfit/kernel/kerneltest"
)

// TestConformance runs the suite with three threads, and with one and two if GPFIT_LONG is
// set: the results of all three have the same bits ([TestThreadsBits]).
func TestConformance(t *testing.T) {
	counts := []int{3}
	if testcheck.Long() {
		counts = []int{1, 2, 3}
	}
	for _, threads := range counts {
		t.Run(fmt.Sprintf("threads=%d", threads), func(t *testing.T) {
			devicetest.RunInPlace(t, func(*testing.T) device.DenseDevice {
				return testcheck.Get(Open(device.Options{Threads: threads}))(t)
			})
		})
	}
}

func TestDgemmRate(t *testing.T) {
	dev := testcheck.Get(Open(device.Options{Threads: 1}))(t)
	if rate, err := dev.DgemmRate(context.Background(), 64); err != nil || rate < 1e6 || rate > 1e13 {
		t.Errorf("rate %v, error %v", rate, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := dev.DgemmRate(ctx, 64); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v after cancel", err)
	}
}

// TestPredictBits tests that the prediction of a point has the same bits for any number
// of threads and any points beside it.
func TestPredictBits(t *testing.T) {
	const d, m = 2, 130
	prog := kerneltest.Program(t, "rbf(ard)", d)
	ctx, rng := context.Background(), rand.New(rand.NewPCG(11, 1))
	theta := []float64{0.1, 0.2, 1.5}
	for _, n := range []int{100, 700, 2100} {
		x, xs, alpha := points(rng, n, d), points(rng, m, d), normals(rng, n)
		var want []float64
		for _, threads := range []int{1, 3} {
			dev := testcheck.Get(Open(device.Options{Threads: threads}))(t)
			w := newWorkspace(&dev.engines, x)
			testcheck.Do(t, w.Form(ctx, prog, theta, []float64{0.1}))
			predict := func(xs *kernel.Points) []float64 {
				out := make([]float64, 2*xs.N)
				testcheck.Do(t, w.Predict(ctx, prog, theta, alpha, xs, out[:xs.N], out[xs.N:]))
				return out
			}
			if want == nil {
				want = predict(xs)
			}
			if got := predict(xs); !slices.Equal(got, want) {
				t.Errorf("n = %d: other bits with %d threads", n, threads)
			}
			for _, j := range []int{0, 25, m - 1} {
				row := make([]float64, d)
				for c := range row {
					row[c] = xs.Column(c)[j]
				}
				got := predict(kernel.NewPoints(row, 1, d))
				if got[0] != want[j] || got[1] != want[m+j] {
					t.Errorf("n = %d: point %d alone is %v, among others %v, %v", n, j, got, want[j], want[m+j])
				}
			}
			if held, plan := w.Work().Bytes, dev.Plan(n, d).HostBytes(); held > plan {
				t.Errorf("n = %d: %d bytes held, %d planned", n, held, plan)
			}
		}
	}
}

// TestPredictAfterForm tests that a second Form replaces what the first prediction packed.
func TestPredictAfterForm(t *testing.T) {
	dev := testcheck.Get(Open(device.Options{Threads: 2}))(t)
	prog := kerneltest.Program(t, "rbf", 1)
	x := kernel.NewPoints([]float64{0, 1, 2, 4}, 4, 1)
	ctx, w := context.Background(), newWorkspace(&dev.engines, x)
	reduction := func(noise float64) float64 {
		testcheck.Do(t, w.Form(ctx, prog, []float64{1, 1}, []float64{noise}))
		mean, out := make([]float64, 1), make([]float64, 1)
		testcheck.Do(t, w.Predict(ctx, prog, []float64{1, 1}, make([]float64, 4), kernel.NewPoints([]float64{3}, 1, 1), mean, out))
		return out[0]
	}
	if a, b, again := reduction(0.1), reduction(1), reduction(0.1); a <= b || a != again {
		t.Errorf("reductions %v and %v with noise 0.1, %v with noise 1", a, again, b)
	}
}

// evaluated holds everything that a workspace computes at a point.
type evaluated struct {
	logDet                                       float64
	solved, gradient, diagonal, inverse, mean, v []float64
}

// evaluate runs all calls on a workspace over n points.
func evaluate(t *testing.T, w *workspace, prog *kernel.Program) evaluated {
	t.Helper()
	n := w.N()
	rng := rand.New(rand.NewPCG(3, 4))
	e := evaluated{diagonal: make([]float64, n), inverse: make([]float64, n)}
	theta := slices.Repeat([]float64{0.7}, len(prog.Names()))
	testcheck.Do(t, w.Form(t.Context(), prog, theta, []float64{0.01}))
	e.logDet, _ = testcheck.Get2(w.LogDet())(t)
	e.solved = normals(rng, n)
	testcheck.Do(t, w.Solve(t.Context(), e.solved, 1))
	e.gradient = make([]float64, len(theta))
	adjoint := device.Adjoint{Inv: 0.5, Outer: []float64{-0.5}, Vectors: e.solved}
	testcheck.Do(t, w.Contract(t.Context(), adjoint, prog, theta, e.gradient, e.diagonal))
	testcheck.Do(t, w.InverseDiagonal(t.Context(), e.inverse))
	xs := points(rng, 70, w.x.D)
	e.mean, e.v = make([]float64, 70), make([]float64, 70)
	testcheck.Do(t, w.Predict(t.Context(), prog, theta, e.solved, xs, e.mean, e.v))
	return e
}

func (e evaluated) equal(o evaluated) bool {
	return e.logDet == o.logDet && slices.Equal(e.solved, o.solved) && slices.Equal(e.gradient, o.gradient) && slices.Equal(e.diagonal, o.diagonal) &&
		slices.Equal(e.inverse, o.inverse) && slices.Equal(e.mean, o.mean) && slices.Equal(e.v, o.v)
}

func normals(rng *rand.Rand, n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = rng.NormFloat64()
	}
	return x
}

func points(rng *rand.Rand, n, d int) *kernel.Points {
	return kernel.NewPoints(normals(rng, n*d), n, d)
}

func workspaceOf(t *testing.T, dev *Device, x *kernel.Points) *workspace {
	t.Helper()
	w := testcheck.Get(dev.NewWorkspace(t.Context(), x))(t)
	t.Cleanup(func() { _ = w.Close() })
	return w.(*workspace)
}

// TestThreadsBits checks that no bit of any result depends on the number of threads, of the device
// or of a workspace that leaves some to others. Equations of 1,300 points are solved in parallel.
func TestThreadsBits(t *testing.T) {
	prog := kerneltest.Program(t, "rbf(ard) + matern32", 3)
	for _, n := range []int{90, 300, 1300} {
		x := points(rand.New(rand.NewPCG(1, 2)), n, 3)
		var want evaluated
		for _, threads := range []int{1, 3} {
			dev := testcheck.Get(Open(device.Options{Threads: threads}))(t)
			w := workspaceOf(t, dev, x)
			for _, limit := range []int{threads, 2, 0} {
				w.LimitThreads(limit)
				got := evaluate(t, w, prog)
				if want.solved == nil {
					want = got
				}
				if !got.equal(want) {
					t.Errorf("n = %d, %d threads limited to %d: other bits", n, threads, limit)
				}
				if most := min(threads, max(1, limit)); w.engine.Threads() != most {
					t.Errorf("%d threads limited to %d: %d", threads, limit, w.engine.Threads())
				}
			}
		}
	}
}

// TestSideBySide checks that workspaces that compute at the same time, each with its share
// of the threads, do not disturb each other.
func TestSideBySide(t *testing.T) {
	prog := kerneltest.Program(t, "rbf(ard) + matern32", 3)
	dev := testcheck.Get(Open(device.Options{Threads: 4}))(t)
	x := points(rand.New(rand.NewPCG(1, 2)), 280, 3)
	want := evaluate(t, workspaceOf(t, dev, x), prog)
	for range 2 {
		var group sync.WaitGroup
		for k := range 3 {
			w := workspaceOf(t, dev, x)
			group.Go(func() {
				defer w.Close()
				for i := range 6 {
					w.LimitThreads(1 + (k+i)%4)
					if got := evaluate(t, w, prog); !got.equal(want) {
						t.Errorf("worker %d: other bits", k)
					}
				}
			})
		}
		group.Wait()
	}
}

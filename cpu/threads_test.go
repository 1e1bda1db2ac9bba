package cpu

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"gpfit/device"
	"gpfit/internal/kerneltest"
	"gpfit/internal/must"
	"gpfit/kernel"
)

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
	must.Do(t, w.Form(t.Context(), prog, theta, []float64{0.01}))
	e.logDet, _ = must.Get2(w.LogDet())(t)
	e.solved = normals(rng, n)
	must.Do(t, w.Solve(t.Context(), e.solved, 1))
	e.gradient = make([]float64, len(theta))
	adjoint := device.Adjoint{Inv: 0.5, Outer: []float64{-0.5}, Vectors: e.solved}
	must.Do(t, w.Contract(t.Context(), adjoint, prog, theta, e.gradient, e.diagonal))
	must.Do(t, w.InverseDiagonal(t.Context(), e.inverse))
	xs := points(rng, 70, w.x.D)
	e.mean, e.v = make([]float64, 70), make([]float64, 70)
	must.Do(t, w.Predict(t.Context(), prog, theta, e.solved, xs, e.mean, e.v))
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
	w := must.Get(dev.NewWorkspace(t.Context(), x))(t)
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
			dev := must.Get(Open(device.Options{Threads: threads}))(t)
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
	dev := must.Get(Open(device.Options{Threads: 4}))(t)
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

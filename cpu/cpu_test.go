package cpu

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"gpfit/device"
	"gpfit/device/devicetest"
	"gpfit/internal/kerneltest"
	"gpfit/internal/must"
	"gpfit/kernel"
)

// TestConformance runs the suite with three threads, and with one and two if GPFIT_LONG is
// set: the results of all three have the same bits ([TestThreadsBits]).
func TestConformance(t *testing.T) {
	counts := []int{3}
	if os.Getenv("GPFIT_LONG") != "" {
		counts = []int{1, 2, 3}
	}
	for _, threads := range counts {
		t.Run(fmt.Sprintf("threads=%d", threads), func(t *testing.T) {
			devicetest.RunInPlace(t, func(*testing.T) device.DenseDevice {
				return must.Get(Open(device.Options{Threads: threads}))(t)
			})
		})
	}
}

func TestDgemmRate(t *testing.T) {
	dev := must.Get(Open(device.Options{Threads: 1}))(t)
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
			dev := must.Get(Open(device.Options{Threads: threads}))(t)
			w := newWorkspace(&dev.engines, x)
			must.Do(t, w.Form(ctx, prog, theta, []float64{0.1}))
			predict := func(xs *kernel.Points) []float64 {
				out := make([]float64, 2*xs.N)
				must.Do(t, w.Predict(ctx, prog, theta, alpha, xs, out[:xs.N], out[xs.N:]))
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
	dev := must.Get(Open(device.Options{Threads: 2}))(t)
	prog := kerneltest.Program(t, "rbf", 1)
	x := kernel.NewPoints([]float64{0, 1, 2, 4}, 4, 1)
	ctx, w := context.Background(), newWorkspace(&dev.engines, x)
	reduction := func(noise float64) float64 {
		must.Do(t, w.Form(ctx, prog, []float64{1, 1}, []float64{noise}))
		mean, out := make([]float64, 1), make([]float64, 1)
		must.Do(t, w.Predict(ctx, prog, []float64{1, 1}, make([]float64, 4), kernel.NewPoints([]float64{3}, 1, 1), mean, out))
		return out[0]
	}
	if a, b, again := reduction(0.1), reduction(1), reduction(0.1); a <= b || a != again {
		t.Errorf("reductions %v and %v with noise 0.1, %v with noise 1", a, again, b)
	}
}

package cpu

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"testing"

	cpublas "gpfit/cpu/blas"
	"gpfit/device"
	"gpfit/device/devicetest"
)

// TestConformance runs the suite with one and three threads, and with two if GPFIT_LONG is
// set: the results of all three have the same bits ([TestThreadsBits]).
func TestConformance(t *testing.T) {
	counts := []int{1, 3}
	if os.Getenv("GPFIT_LONG") != "" {
		counts = []int{1, 2, 3}
	}
	for _, threads := range counts {
		t.Run(fmt.Sprintf("threads=%d", threads), func(t *testing.T) {
			devicetest.RunExact(t, func(*testing.T) device.ExactDevice {
				dev, err := Open(device.Options{Threads: threads})
				if err != nil {
					t.Fatal(err)
				}
				return dev
			})
		})
	}
}

func TestParallelFor(t *testing.T) {
	for _, threads := range []int{1, 2, 7} {
		c := newCrew(cpublas.Generic, threads)
		var count atomic.Int64
		if err := c.parallelFor(context.Background(), threads, 100, func(worker, task int) {
			if worker >= threads {
				t.Errorf("worker %d of %d", worker, threads)
			}
			count.Add(int64(task))
		}); err != nil || count.Load() != 4950 {
			t.Errorf("%d threads: sum of tasks %d, error %v", threads, count.Load(), err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		if err := c.parallelFor(ctx, threads, 100, func(_, task int) { cancel() }); !errors.Is(err, context.Canceled) {
			t.Errorf("%d threads: error %v after cancel", threads, err)
		}
		func() {
			defer func() {
				if recover() != "boom" {
					t.Errorf("%d threads: the panic was lost", threads)
				}
			}()
			_ = c.parallelFor(context.Background(), threads, 10, func(_, task int) {
				if task == 3 {
					panic("boom")
				}
			})
		}()
	}
}

func TestDgemmRate(t *testing.T) {
	dev, err := Open(device.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	if rate, err := dev.DgemmRate(context.Background(), 64); err != nil || rate < 1e6 || rate > 1e13 {
		t.Errorf("rate %v, error %v", rate, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := dev.DgemmRate(ctx, 64); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v after cancel", err)
	}
}

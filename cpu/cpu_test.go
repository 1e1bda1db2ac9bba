package cpu

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"gpfit/device"
	"gpfit/device/devicetest"
	"gpfit/internal/must"
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
				dev := must.Get(Open(device.Options{Threads: threads}))(t)
				return dev
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

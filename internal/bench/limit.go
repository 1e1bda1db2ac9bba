package bench

import (
	"context"
	"time"

	"gpfit/device"
)

// Limit is the speed of a device's matrix product at its fastest order. The zero
// value means that it is unknown.
type Limit struct {
	// Rate is in floating-point operations per second.
	Rate float64
	// N is the order of the matrices.
	N int
}

// Again repeats the measurement at the same order, so that a fraction of the limit
// compares measurements close in time. It keeps the better rate.
func (l *Limit) Again(ctx context.Context, b device.Backend) error {
	timer, ok := Timer(b)
	if !ok || l.Rate == 0 {
		return nil
	}
	rate, err := timer.DgemmRate(ctx, l.N)
	l.Rate = max(l.Rate, rate)
	return err
}

// DgemmTimer is a device that can measure its matrix product.
type DgemmTimer interface {
	// DgemmRate returns the rate of the product of two n×n matrices in
	// floating-point operations per second.
	DgemmRate(ctx context.Context, n int) (float64, error)
}

// Timer returns the device of b if it can measure its matrix product.
func Timer(b device.Backend) (timer DgemmTimer, ok bool) {
	devices := b.Capabilities().Devices
	if len(devices) == 1 {
		timer, ok = devices[0].(DgemmTimer)
	}
	return timer, ok
}

// DgemmRate measures the matrix product of b at growing orders and returns the best
// rate. It skips orders whose product would take more than about a quarter of a
// second. The result is the zero value if b cannot measure its product.
func DgemmRate(ctx context.Context, b device.Backend) (Limit, error) {
	const longest = 250 * time.Millisecond
	var best Limit
	timer, ok := Timer(b)
	if !ok {
		return best, nil
	}
	// The largest orders are for GPUs.
	for _, n := range []int{256, 512, 1024, 1536, 2048, 3072, 4096, 8192, 16384} {
		nf := float64(n)
		if best.Rate > 0 && 2*nf*nf*nf/best.Rate > longest.Seconds() {
			break
		}
		rate, err := timer.DgemmRate(ctx, n)
		if err != nil {
			return Limit{}, err
		}
		if rate > best.Rate {
			best = Limit{Rate: rate, N: n}
		}
	}
	return best, nil
}

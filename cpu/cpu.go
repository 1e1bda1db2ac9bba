// Package cpu is the CPU path: the host as a device of package device, on gonum's
// BLAS interface with the routines of cpu/blas behind it.
//
// A [Workspace] holds one n×n buffer, row-major. Its lower triangle is first
// the covariance matrix, then its Cholesky factor L; the strict upper triangle
// receives Σ⁻¹ when a gradient is asked for, so that L survives. Start with
// workspace.go; the n³ work is in factor.go and inverse.go, recursions that spend
// their operations in matrix products.
package cpu

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"

	"gonum.org/v1/gonum/blas"

	cpublas "gpfit/cpu/blas"
	"gpfit/device"
	"gpfit/internal/hostmem"
	"gpfit/kernel"
)

// Driver opens the CPU; it implements [device.Driver].
type Driver struct{}

// name is the device's, and its kind.
const name = "cpu"

// Kind returns "cpu".
func (Driver) Kind() string { return name }

// Probe reports the one CPU device, which is always there.
func (Driver) Probe(context.Context) []device.Finding {
	return []device.Finding{{Name: name, Host: true, Usable: true, Detail: description(runtime.GOMAXPROCS(0))}}
}

// Open returns the CPU as [Open] does.
func (Driver) Open(_ context.Context, _ string, opts device.Options) (device.Device, error) {
	d, err := Open(opts)
	if err != nil {
		return nil, &device.UnavailableError{Device: name, Reason: err.Error()}
	}
	return d, nil
}

// Device is the CPU as a [device.ExactDevice].
type Device struct {
	threads int
	blas    *cpublas.Implementation
	// leaf is the size of blocks that are factored or inverted in one call,
	// between which the context is polled.
	leaf     int
	flopRate func() float64
}

// The sizes of Device.leaf. The routines of cpu/blas take 4096 columns within
// a fifth of a second and 40 MB of working space, at full speed; of gonum's own
// only the matrix product is parallel, so that recursion goes on to small
// blocks.
const (
	leafFast    = 4096
	leafGeneric = 64
	// packing is the working space of cpu/blas in numbers a column of a leaf.
	packing = 1280
)

// New returns the exact method on the CPU, for callers that have no choice of
// devices to make. Errors are those of [Open].
func New(opts device.Options) (device.Backend, error) {
	d, err := Open(opts)
	if err != nil {
		return nil, err
	}
	return device.Exact{}.On(d), nil
}

// Open returns the CPU with the given options. It is an error if the variable
// GPFIT_CPU asks for a variant that this processor does not have.
func Open(opts device.Options) (*Device, error) {
	threads := opts.Threads
	if threads <= 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	impl, err := cpublas.New(cpublas.Options{Threads: threads})
	if err != nil {
		return nil, err
	}
	dev := &Device{threads: threads, blas: impl, leaf: leafFast}
	if impl.Variant() == cpublas.Generic {
		dev.leaf = leafGeneric
	}
	dev.flopRate = sync.OnceValue(dev.measureFlopRate)
	return dev, nil
}

func description(threads int) string {
	return fmt.Sprintf("%s, %d threads, %s/%s", processor(), threads, runtime.GOOS, runtime.GOARCH)
}

// processor is processorName, read once.
var processor = sync.OnceValue(processorName)

// Info describes the CPU.
func (dev *Device) Info() device.Info {
	return device.Info{Name: name, Description: description(dev.threads), Host: true, Threads: dev.threads, MemoryFree: hostmem.Free()}
}

// Plan returns memory and work for n points of d columns: one n×n buffer, the
// working space of matrix products, and vectors.
func (dev *Device) Plan(n, d int) device.Plan {
	plan := device.MatrixPlan(n, d, "", 8*(int64(n)*int64(leadingDim(n))+packing*int64(min(n, leafFast))+predictElements+int64(n)*int64(2*d+4*dev.threads+8)))
	plan.Middle, plan.MiddleFlops = []device.Need{{Bytes: 8 * middleElements(n), What: middleTerm}}, cube(n)
	if n >= 1000 {
		plan.FlopRate = dev.flopRate()
	}
	return plan
}

// measureFlopRate times a small matrix product. Whole evaluations reach about
// two thirds of its rate.
func (dev *Device) measureFlopRate() float64 {
	rate, _ := dev.DgemmRate(context.Background(), 256)
	return 0.66 * rate
}

// DgemmRate returns the speed of this device's matrix product of order n, in
// floating-point operations a second: the best of three after a warm-up. It
// holds three n×n matrices meanwhile. ctx is polled between products.
func (dev *Device) DgemmRate(ctx context.Context, n int) (float64, error) {
	a, x, c := make([]float64, n*n), make([]float64, n*n), make([]float64, n*n)
	for i := range a {
		a[i], x[i] = 1/float64(i+1), 1/float64(n*n-i)
	}
	best := time.Hour
	for range 4 {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		start := time.Now()
		dev.blas.Dgemm(blas.NoTrans, blas.NoTrans, n, n, n, 1, a, n, x, n, 0, c, n)
		best = min(best, max(time.Since(start), time.Microsecond))
	}
	return 2 * cube(n) / best.Seconds(), nil
}

// Supports returns nil: the CPU evaluates every kernel.
func (dev *Device) Supports(*kernel.Program) error { return nil }

// NewWorkspace checks x and the memory plan, then allocates the buffer.
func (dev *Device) NewWorkspace(ctx context.Context, x *kernel.Points) (device.ExactWorkspace, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := device.CheckInputs(x); err != nil {
		return nil, err
	}
	if err := dev.Plan(x.N, x.D).Check(dev.Info()); err != nil {
		return nil, err
	}
	return newWorkspace(dev, x), nil
}

// Close does nothing: the CPU holds no resources of its own.
func (dev *Device) Close() error { return nil }

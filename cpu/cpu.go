// Package cpu evaluates covariances, likelihoods, gradients and predictions on the
// host, as a device of package device. It uses gonum's BLAS interface with the
// routines of cpu/blas.
//
// A [Workspace] holds one n×n buffer, row-major. Its lower triangle is first the
// covariance matrix, then its Cholesky factor L; the strict upper triangle receives
// Σ⁻¹ when a gradient is requested, so that L is kept. Start with workspace.go;
// factor.go and inverse.go do the n³ work, by recursions that consist mainly of
// matrix products.
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

// name is the name of the device and of its kind.
const name = "cpu"

// Kind returns "cpu".
func (Driver) Kind() string { return name }

// Probe reports the CPU device, which always exists.
func (Driver) Probe(context.Context) []device.Finding {
	return []device.Finding{{Name: name, Host: true, Usable: true, Detail: description(runtime.GOMAXPROCS(0))}}
}

// Open returns the CPU, like the function [Open].
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
	// leaf is the size of blocks that are factored or inverted in one call. The
	// context is polled between calls.
	leaf     int
	flopRate func() float64
	// spare holds BLAS that workspaces with fewer threads have given back. Each has
	// threads of its own, so that workspaces can compute side by side.
	mu    sync.Mutex
	spare []*cpublas.Implementation
}

// The values of Device.leaf. The routines of cpu/blas process 4096 columns in a
// fifth of a second at full speed, with 40 MB of working space. The generic variant is
// several times slower, so its calls are smaller.
const (
	leafFast    = 4096
	leafGeneric = 1024
	// packing is the working space of cpu/blas in numbers per column of a leaf.
	packing = 1280
)

// New returns the exact method on the CPU, for callers that do not choose among
// devices. It returns the errors of [Open].
func New(opts device.Options) (device.Backend, error) {
	d, err := Open(opts)
	if err != nil {
		return nil, err
	}
	return device.Exact{}.On(d), nil
}

// Open returns the CPU with the given options. It returns an error if the variable
// GPFIT_CPU selects a variant that this processor lacks.
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

// borrow returns a BLAS for one workspace.
func (dev *Device) borrow() *cpublas.Implementation {
	dev.mu.Lock()
	defer dev.mu.Unlock()
	if last := len(dev.spare) - 1; last >= 0 {
		impl := dev.spare[last]
		dev.spare = dev.spare[:last]
		return impl
	}
	impl, err := cpublas.New(cpublas.Options{Threads: 1})
	if err != nil {
		panic(err) // Open made one
	}
	return impl
}

// giveBack takes a BLAS back, which may be nil.
func (dev *Device) giveBack(impl *cpublas.Implementation) {
	if impl == nil {
		return
	}
	dev.mu.Lock()
	defer dev.mu.Unlock()
	dev.spare = append(dev.spare, impl)
}

func description(threads int) string {
	return fmt.Sprintf("%s, %d threads, %s/%s", processor(), threads, runtime.GOOS, runtime.GOARCH)
}

// processor returns processorName, evaluated once.
var processor = sync.OnceValue(processorName)

// Info returns a description of the CPU.
func (dev *Device) Info() device.Info {
	return device.Info{Name: name, Description: description(dev.threads), Host: true, Threads: dev.threads, MemoryFree: hostmem.Free()}
}

// Plan returns memory and work for n points of d columns: one n×n buffer, the
// working space of matrix products, and vectors.
func (dev *Device) Plan(n, d int) device.Plan {
	plan := device.MatrixPlan(n, d, "", 8*(int64(n)*int64(leadingDim(n))+packing*int64(min(n, leafFast))+predictNumbers(n, dev.threads)+int64(n)*int64(2*d+4*dev.threads+8)))
	plan.Middle, plan.MiddleFlops = []device.Need{{Bytes: 8 * middleElements(n), What: middleTerm}}, cube(n)
	if n >= 1000 {
		plan.FlopRate = dev.flopRate()
	}
	return plan
}

// measureFlopRate measures the rate of a small matrix product. Whole evaluations
// reach about two thirds of it.
func (dev *Device) measureFlopRate() float64 {
	rate, _ := dev.DgemmRate(context.Background(), 256)
	return 0.66 * rate
}

// DgemmRate returns the speed of this device's matrix product of order n, in
// floating-point operations per second: the best of three runs after a warm-up. It
// allocates three n×n matrices and polls ctx between products.
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

// NewWorkspace checks x and the memory plan and then allocates the buffer.
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

// Close does nothing, because the device holds no resources.
func (dev *Device) Close() error { return nil }

// Package cpu is the CPU path: the backend of package device on gonum's BLAS
// interface, with the routines of cpu/blas behind it.
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

// Kind returns "cpu".
func (Driver) Kind() string { return "cpu" }

// Probe reports the one CPU device, which is always there.
func (Driver) Probe(context.Context) []device.Finding {
	return []device.Finding{{Name: "cpu", Usable: true, Detail: description(runtime.GOMAXPROCS(0))}}
}

// Open returns the CPU backend.
func (Driver) Open(_ context.Context, _ string, opts device.Options) (device.Backend, error) {
	b, err := New(opts)
	if err != nil {
		return nil, &device.UnavailableError{Device: "cpu", Reason: err.Error()}
	}
	return b, nil
}

// Backend is the CPU as a [device.Backend].
type Backend struct {
	threads int
	blas    *cpublas.Implementation
	// leaf is the size of blocks that are factored or inverted in one call,
	// between which the context is polled.
	leaf     int
	flopRate func() float64
}

// The sizes of Backend.leaf. The routines of cpu/blas take 4096 columns within
// a fifth of a second and 40 MB of working space, at full speed; of gonum's own
// only the matrix product is parallel, so that recursion goes on to small
// blocks.
const (
	leafFast    = 4096
	leafGeneric = 64
	// packing is the working space of cpu/blas in numbers a column of a leaf.
	packing = 1280
)

// New returns a backend with the given options. It is an error if the variable
// GPFIT_CPU asks for a variant that this processor does not have.
func New(opts device.Options) (*Backend, error) {
	threads := opts.Threads
	if threads <= 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	impl, err := cpublas.New(cpublas.Options{Threads: threads})
	if err != nil {
		return nil, err
	}
	b := &Backend{threads: threads, blas: impl, leaf: leafFast}
	if impl.Variant() == cpublas.Generic {
		b.leaf = leafGeneric
	}
	b.flopRate = sync.OnceValue(b.measureFlopRate)
	return b, nil
}

func description(threads int) string {
	return fmt.Sprintf("%s, %d threads, %s/%s", processor(), threads, runtime.GOOS, runtime.GOARCH)
}

// processor is processorName, read once.
var processor = sync.OnceValue(processorName)

// Info describes the CPU.
func (b *Backend) Info() device.Info {
	return device.Info{Name: "cpu", Description: description(b.threads), Threads: b.threads, MemoryFree: hostmem.Free()}
}

// Plan returns memory and work for n points of d columns: one n×n buffer, the
// working space of matrix products, and vectors.
func (b *Backend) Plan(n, d int) device.Plan {
	nf := float64(n)
	plan := device.Plan{
		N: n, D: d,
		HostBytes:     8 * (int64(n)*int64(leadingDim(n)) + packing*int64(min(n, leafFast)) + predictElements + int64(n)*int64(2*d+4*b.threads+8)),
		FlopsValue:    nf * nf * nf / 3,
		FlopsGradient: nf * nf * nf,
		MiddleBytes:   8 * middleElements(n),
		MiddleFlops:   nf * nf * nf,
	}
	if n >= 1000 {
		plan.FlopRate = b.flopRate()
	}
	return plan
}

// measureFlopRate times a small matrix product. Whole evaluations reach about
// two thirds of its rate.
func (b *Backend) measureFlopRate() float64 {
	rate, _ := b.DgemmRate(context.Background(), 256)
	return 0.66 * rate
}

// DgemmRate returns the speed of this backend's matrix product of order n, in
// floating-point operations a second: the best of three after a warm-up. It
// holds three n×n matrices meanwhile. ctx is polled between products.
func (b *Backend) DgemmRate(ctx context.Context, n int) (float64, error) {
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
		b.blas.Dgemm(blas.NoTrans, blas.NoTrans, n, n, n, 1, a, n, x, n, 0, c, n)
		best = min(best, max(time.Since(start), time.Microsecond))
	}
	return 2 * cube(n) / best.Seconds(), nil
}

// Supports returns nil: the CPU evaluates every kernel.
func (b *Backend) Supports(*kernel.Program) error { return nil }

// NewWorkspace checks x and the memory plan, then allocates the buffer.
func (b *Backend) NewWorkspace(ctx context.Context, x *kernel.Points) (device.Workspace, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := device.CheckInputs(x); err != nil {
		return nil, err
	}
	if err := b.Plan(x.N, x.D).Check(hostmem.Free(), 0); err != nil {
		return nil, err
	}
	return newWorkspace(b, x), nil
}

// Close does nothing: the CPU backend holds no resources of its own.
func (b *Backend) Close() error { return nil }

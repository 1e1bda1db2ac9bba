// Package textbook is the device called gonum: the formulas of the literature, on gonum's
// lapack64 and blas64. It shares no routine for matrices with the other devices, and so gives a
// second opinion on any number. It is exact and slower than the CPU's own routines.
//
// A workspace holds two n×n matrices, stored by rows: Σ and then its Cholesky factor L, and
// Σ⁻¹ once a call needs it. factor.go has these two, contract.go the gradients, and predict.go
// the predictions.
package textbook

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"gpfit/device"
	"gpfit/internal/hostmem"
	"gpfit/kernel"
)

// Name is the name of the device and of its kind.
const Name = "gonum"

const description = "plain formulas on gonum, to check other devices; only if it is named"

// Driver returns the driver of the device.
func Driver() device.Driver { return driver{} }

// driver opens the device.
type driver struct{}

// Kind returns "gonum".
func (driver) Kind() string { return Name }

// Probe reports the device, which always exists.
func (driver) Probe(context.Context) []device.Finding {
	return []device.Finding{{Name: Name, Host: true, Usable: true, ByName: true, Detail: description}}
}

// Open returns the device. gonum uses as many threads as the Go scheduler, whatever the options.
func (driver) Open(context.Context, string, device.Options) (device.Device, error) {
	return gonum{}, nil
}

// gonum is the host under another name. It implements [device.DenseDevice].
type gonum struct{}

// New returns the dense method on the device.
func New() device.Backend { return device.Dense{}.On(gonum{}) }

// Info returns a description of the device.
func (gonum) Info() device.Info {
	return device.Info{Name: Name, Description: "plain formulas on gonum", Host: true, Threads: runtime.GOMAXPROCS(0), MemoryFree: hostmem.Free()}
}

// Close does nothing.
func (gonum) Close() error { return nil }

// Supports returns nil: the device evaluates every kernel.
func (gonum) Supports(*kernel.Program) error { return nil }

// Plan counts both matrices and working space of blockRows rows, and as much again for a
// middle term.
func (gonum) Plan(n, d int) device.Plan {
	size := int64(n)
	rows := 8 * blockRows * size
	need := device.Need{Bytes: 16*size*size + rows + 8*(int64(d)+16)*size, What: fmt.Sprintf("two %d×%d matrices of 8-byte numbers and working space", n, n)}
	return device.Plan{
		N: n, D: d, Needs: []device.Need{need}, FlopsValue: cube(n) / 3, FlopsGradient: cube(n),
		Middle: []device.Need{{Bytes: rows, What: "an adjoint with a middle term"}}, MiddleFlops: 2 * cube(n),
	}
}

// NewWorkspace checks x and the memory plan. The calls allocate the matrices.
func (d gonum) NewWorkspace(ctx context.Context, x *kernel.Points) (device.DenseWorkspace, error) {
	if err := errors.Join(ctx.Err(), device.CheckInputs(x)); err != nil {
		return nil, err
	}
	if err := d.Plan(x.N, x.D).Check(d.Info()); err != nil {
		return nil, err
	}
	return &workspace{matrices: matrices{n: x.N}, x: x}, nil
}

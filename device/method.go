package device

import (
	"context"

	"gpfit/kernel"
)

// Method is a way to compute likelihoods, gradients and predictions from points, a
// covariance function and its parameters.
type Method interface {
	// Name returns the name of the method, such as "exact".
	Name() string
	// Backends returns the backends of the method on opened devices: one for each
	// device, or one for several if the method distributes a matrix. The backends
	// then own the devices; after an error the caller still does. Errors are
	// [*UnavailableError] for a device that the method cannot use.
	Backends(devices []Device) ([]Backend, error)
}

// Backend is a method on its devices. It is safe for concurrent use.
type Backend interface {
	// Info returns a description of the device or of all devices together.
	Info() Info
	// Capabilities returns the capabilities of the method on these devices.
	Capabilities() Capabilities
	// Plan returns the memory and work of a job on n points of d columns.
	Plan(n, d int) Plan
	// Supports returns an [*UnsupportedKernelError] if these devices cannot
	// evaluate the program. Call it before making a workspace; a workspace returns
	// the same error.
	Supports(prog *kernel.Program) error
	// NewWorkspace checks the plan against the free memory and then allocates. It
	// keeps x without copying it, so x must not change. Errors are [*MemoryError],
	// [*NonFiniteError] and [*UnavailableError].
	NewWorkspace(ctx context.Context, x *kernel.Points) (Workspace, error)
	// Close releases the devices.
	Close() error
}

// Capabilities are the properties on which a caller may rely.
type Capabilities struct {
	// Method is the method's name.
	Method string
	// Exact means that rounding is the only approximation: log-determinants have no
	// standard error.
	Exact bool
	// Precision is the order of magnitude of the relative rounding error in the
	// likelihood of a fit.
	Precision float64
	// Devices are the devices in use; the Info of each includes its memory.
	Devices []Device
}

// Exact is the method of one factorisation on one device: Σ = LLᵀ in one n×n matrix
// of float64 numbers, n³/3 operations for a value and n³ with gradient. Each of its
// devices is an [ExactDevice] with a separate backend.
type Exact struct{}

// exactPrecision is the rounding error of values at the condition numbers of
// typical fits.
const exactPrecision = 1e-12

// Name returns "exact".
func (Exact) Name() string { return "exact" }

// Backends implements [Method].
func (m Exact) Backends(devices []Device) ([]Backend, error) {
	var out []Backend
	for _, d := range devices {
		e, ok := d.(ExactDevice)
		if !ok {
			return nil, &UnavailableError{Device: d.Info().Name, Reason: "it cannot factor matrices, which the exact method needs"}
		}
		out = append(out, m.On(e))
	}
	return out, nil
}

// On returns the backend of the method on d.
func (Exact) On(d ExactDevice) Backend { return exactBackend{d} }

// ExactDevice is a [Device] for [Exact]: it can hold one n×n matrix of float64
// numbers and factor it. The methods are as in [Backend].
type ExactDevice interface {
	Device
	Plan(n, d int) Plan
	Supports(prog *kernel.Program) error
	NewWorkspace(ctx context.Context, x *kernel.Points) (ExactWorkspace, error)
}

// ExactWorkspace is the workspace of an [ExactDevice]: one n×n matrix, which holds
// Σ and then its Cholesky factor L, Σ = LLᵀ. It has all optional capabilities, and
// offers the two steps of Form separately for benchmarks and tests:
//
//	Fill → Factor → Solve, Contract, … in any order → Fill …
//
// A call out of order returns [ErrStage].
type ExactWorkspace interface {
	Workspace
	InverseDiagonal
	BlockInverse
	JointCovariance
	FactorStore
	// Fill forms Σ like Form.
	Fill(ctx context.Context, prog *kernel.Program, theta, noise []float64) error
	// Factor overwrites Σ by L. It costs n³/3 flops and returns the errors of Form.
	Factor(ctx context.Context) error
}

// exactBackend is the exact method on one device.
type exactBackend struct{ ExactDevice }

func (b exactBackend) Capabilities() Capabilities {
	return Capabilities{Method: Exact{}.Name(), Exact: true, Precision: exactPrecision, Devices: []Device{b.ExactDevice}}
}

func (b exactBackend) NewWorkspace(ctx context.Context, x *kernel.Points) (Workspace, error) {
	w, err := b.ExactDevice.NewWorkspace(ctx, x)
	if err != nil {
		return nil, err
	}
	return w, nil
}

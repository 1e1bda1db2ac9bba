package device

import (
	"context"

	"gpfit/kernel"
)

// Method is how to compute: a way from points, a covariance function and its
// parameters to likelihoods, gradients and predictions.
type Method interface {
	// Name is the method's word, such as "exact".
	Name() string
	// Backends puts the method on opened devices: one backend for each of them,
	// or one for several where the method spreads a matrix. The backends own the
	// devices from then on; after an error they are still the caller's. Errors:
	// [*UnavailableError] for a device that the method cannot use.
	Backends(devices []Device) ([]Backend, error)
}

// Backend is a method on its devices. It is safe for concurrent use.
type Backend interface {
	// Info describes the device, or the devices together.
	Info() Info
	// Capabilities says what the method can do here.
	Capabilities() Capabilities
	// Plan returns the memory and work of a job on n points of d columns.
	Plan(n, d int) Plan
	// Supports returns an [*UnsupportedKernelError] if the program cannot be
	// evaluated here: ask before a workspace for it is made. A workspace returns
	// the same error.
	Supports(prog *kernel.Program) error
	// NewWorkspace checks the plan against what is free, then allocates. x is
	// kept, not copied, and must not change. Errors: [*MemoryError],
	// [*NonFiniteError], [*UnavailableError].
	NewWorkspace(ctx context.Context, x *kernel.Points) (Workspace, error)
	// Close releases the devices.
	Close() error
}

// Capabilities are what a caller may rely on.
type Capabilities struct {
	// Method is the method's name.
	Method string
	// Exact says that nothing is approximated but by rounding: log-determinants
	// have no standard error.
	Exact bool
	// Precision is the relative error that rounding leaves in a value of the
	// likelihood of a fit, an order of magnitude.
	Precision float64
	// Devices are those in use; the Info of each tells its memory.
	Devices []Device
}

// Exact is the method of one factorisation on one device: Σ = LLᵀ in one n×n
// matrix of float64 numbers, n³/3 operations for a value and n³ with gradient.
// Each of its devices is an [ExactDevice] and makes a backend of its own.
type Exact struct{}

// exactPrecision is the rounding of values at the condition numbers of fits.
const exactPrecision = 1e-12

// Name returns "exact".
func (Exact) Name() string { return "exact" }

// Backends implements [Method].
func (m Exact) Backends(devices []Device) ([]Backend, error) {
	var out []Backend
	for _, d := range devices {
		e, ok := d.(ExactDevice)
		if !ok {
			return nil, &UnavailableError{Device: d.Info().Name, Reason: "it does not factor matrices, as the exact method does"}
		}
		out = append(out, m.On(e))
	}
	return out, nil
}

// On returns the backend of the method on d.
func (Exact) On(d ExactDevice) Backend { return exactBackend{d} }

// ExactDevice is a [Device] for [Exact]: it can hold one n×n matrix of float64
// numbers and factor it. The methods are those of [Backend].
type ExactDevice interface {
	Device
	Plan(n, d int) Plan
	Supports(prog *kernel.Program) error
	NewWorkspace(ctx context.Context, x *kernel.Points) (ExactWorkspace, error)
}

// ExactWorkspace is the workspace of an [ExactDevice]: one n×n matrix, which holds
// Σ and then its Cholesky factor L, Σ = LLᵀ. It has all optional capabilities,
// and the two steps of Form apart, for those who time or test them:
//
//	Fill → Factor → Solve, Contract, … in any order → Fill …
//
// A call out of order returns [ErrStage].
type ExactWorkspace interface {
	Workspace
	InverseDiagonal
	JointCovariance
	FactorStore
	// Fill forms Σ, as Form does.
	Fill(ctx context.Context, prog *kernel.Program, theta, noise []float64) error
	// Factor overwrites Σ by L. Cost n³/3 flops. Errors as of Form.
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

package device

import (
	"errors"
	"fmt"

	"gpfit/internal/textform"
	"gpfit/kernel"
)

// NotPDError reports a Cholesky factorization that failed: the covariance matrix is
// not positive definite in floating-point arithmetic. During a line search, an
// optimizer treats it as an objective of +∞; at a start point it is an error.
type NotPDError struct {
	// Minor is the order (1-based) of the leading principal minor that is not
	// positive definite, like LAPACK's info > 0; 0 if the method has no minors.
	Minor int
	// N is the order of the matrix.
	N int
}

func (e *NotPDError) Error() string {
	if e.Minor == 0 {
		return "covariance matrix is not positive definite"
	}
	return fmt.Sprintf("covariance matrix is not positive definite: leading minor of order %d of %d", e.Minor, e.N)
}

// Infeasible returns true: the objective is not defined at the parameters, and an
// optimizer steps back.
func (e *NotPDError) Infeasible() bool { return true }

// IsNotPD reports whether err is, or wraps, a [*NotPDError].
func IsNotPD(err error) bool {
	var npd *NotPDError
	return errors.As(err, &npd)
}

// NonFiniteError reports a NaN or an infinity where a finite number is required.
type NonFiniteError struct {
	// What names the quantity, for example "inputs" or "covariance matrix".
	What string
	// Row and Col are the 0-based indices of the element, −1 if not applicable.
	Row, Col int
}

func (e *NonFiniteError) Error() string {
	switch {
	case e.Row >= 0 && e.Col >= 0:
		return fmt.Sprintf("%s: not a finite number at row %d, column %d", e.What, e.Row, e.Col)
	case e.Row >= 0:
		return fmt.Sprintf("%s: not a finite number at row %d", e.What, e.Row)
	}
	return e.What + ": not a finite number"
}

// UnavailableError reports that a device requested by name is unavailable. The
// command line maps it to exit code 12.
type UnavailableError struct {
	// Device is the requested name, for example "cuda:0". Method, if not "", is the name of a method that is not
	// available on any device.
	Device, Method string
	// Reason explains why.
	Reason string
}

func (e *UnavailableError) Error() string {
	if e.Method != "" {
		return fmt.Sprintf("the method %s is not available: %s", e.Method, e.Reason)
	}
	return fmt.Sprintf("device %s is not available: %s", textform.Quote(e.Device), e.Reason)
}

// UnsupportedKernelError reports a covariance function that a device cannot evaluate, such as one
// with a leaf written in Go on a GPU, or a method. The CPU evaluates all kernels, by the method dense.
type UnsupportedKernelError struct {
	// Device is its name, for example "cuda:0".
	Device string
	// Method is the method's name, or "" if the device is the reason.
	Method string
	// Kernel is the text form.
	Kernel string
	// Err is the reason.
	Err error
}

func (e *UnsupportedKernelError) Error() string {
	if e.Method != "" {
		return fmt.Sprintf("the method %s cannot evaluate the kernel %s: %v; the method dense can", e.Method, e.Kernel, e.Err)
	}
	return fmt.Sprintf("device %s cannot evaluate the kernel %s: %v; the CPU can", e.Device, e.Kernel, e.Err)
}

// Unwrap returns Err.
func (e *UnsupportedKernelError) Unwrap() error { return e.Err }

// UnsupportedError reports a capability that a method lacks, for example access to
// a factor; see [Capability].
type UnsupportedError struct {
	// Method is the name of the method.
	Method string
	// What names the missing result, as the object of "cannot provide".
	What string
}

func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("the method %q cannot provide %s", e.Method, e.What)
}

// IsOfMethod reports whether an error says that a method cannot compute a workload on any device, or is not available on any.
func IsOfMethod(err error) bool {
	if e, ok := errors.AsType[*UnsupportedKernelError](err); ok {
		return e.Method != ""
	}
	if e, ok := errors.AsType[*UnavailableError](err); ok {
		return e.Method != ""
	}
	_, ok := errors.AsType[*UnsupportedError](err)
	return ok
}

// ErrStage reports a call of a [Workspace] in the wrong order, such as Solve
// before Form. It is a mistake in the program, not in its input.
var ErrStage = errors.New("device: workspace call out of order")

// LostError reports a device that this process can no longer use, after a hardware
// fault or an illegal access. Its results are lost; the work can continue on
// another device from the last checkpoint.
type LostError struct {
	// Device is its name, for example "cuda:0".
	Device string
	// Err is the driver's error.
	Err error
}

func (e *LostError) Error() string { return fmt.Sprintf("device %s is lost: %v", e.Device, e.Err) }

// Unwrap returns Err.
func (e *LostError) Unwrap() error { return e.Err }

// WrongError reports a device, or libraries on it, that compute wrong results: a
// result violates a known identity by more than rounding.
type WrongError struct {
	// Device is its name, for example "cuda:0".
	Device string
	// What names the wrong result and its error.
	What string
}

func (e *WrongError) Error() string {
	name := e.Device
	if name == "" {
		name = "the device"
	}
	return fmt.Sprintf("%s computes wrong results: do not use this device or its libraries (%s)", name, e.What)
}

// CheckInputs returns a [*NonFiniteError] for the first NaN or infinity in x, column by column.
func CheckInputs(x *kernel.Points) error {
	for c := range x.D {
		for i, v := range x.Column(c) {
			if v-v != 0 {
				return &NonFiniteError{What: "inputs", Row: i, Col: c}
			}
		}
	}
	return nil
}

// ExplainMinor returns the error for a Cholesky factorization that failed at a leading minor of the
// given order: a [*NonFiniteError] if the last row of that minor of K + diag(noise) is not finite,
// a [*NotPDError] otherwise. It recomputes the row, because the factorization has overwritten it.
func ExplainMinor(minor int, x *kernel.Points, prog *kernel.Program, theta, noise []float64) error {
	e := kernel.NewEvaluator(prog)
	e.Bind(theta)
	row := make([]float64, minor)
	e.Row(row, x, minor-1, x, 0, minor)
	row[minor-1] += noise[min(minor-1, len(noise)-1)]
	for j, v := range row {
		if v-v != 0 {
			return &NonFiniteError{What: "covariance matrix", Row: minor - 1, Col: j}
		}
	}
	return &NotPDError{Minor: minor, N: x.N}
}

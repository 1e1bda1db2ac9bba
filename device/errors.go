package device

import (
	"errors"
	"fmt"
)

// NotPDError reports a Cholesky factorisation that failed: the covariance
// matrix is not positive definite in floating-point arithmetic. An optimiser
// takes it as an objective of +∞ during a line search; at a start point it is
// an error of its own.
type NotPDError struct {
	// Minor is the order (1-based) of the leading principal minor that is not
	// positive definite, as LAPACK's info > 0.
	Minor int
	// N is the order of the matrix.
	N int
}

func (e *NotPDError) Error() string {
	return fmt.Sprintf("covariance matrix is not positive definite: leading minor of order %d of %d", e.Minor, e.N)
}

// IsNotPD reports whether err is, or wraps, a [*NotPDError].
func IsNotPD(err error) bool {
	var npd *NotPDError
	return errors.As(err, &npd)
}

// NonFiniteError reports a NaN or an infinity where a finite number is needed.
type NonFiniteError struct {
	// What names the quantity, for example "inputs" or "covariance matrix".
	What string
	// Row and Col locate the element, 0-based; −1 where there is no such index.
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

// UnavailableError reports a device that was asked for by name and cannot be
// had. The command line maps it to exit code 12.
type UnavailableError struct {
	// Device is the name asked for, for example "cuda:0".
	Device string
	// Reason says why, in words.
	Reason string
}

func (e *UnavailableError) Error() string {
	return fmt.Sprintf("device %q is not available: %s", e.Device, e.Reason)
}

// ErrStage reports a call of a [Workspace] in the wrong order, such as Solve
// before Factor. It is a mistake in the program, not in its input.
var ErrStage = errors.New("device: workspace call out of order")

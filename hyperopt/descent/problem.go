package descent

import (
	"context"
	"math"

	"gpfit/hyperopt/journal"
)

// Func is a differentiable function of p numbers z: logarithms of positive
// parameters, and others as they are.
//
// Both methods read z only during the call. An error for which [IsInfeasible]
// holds says that f is not defined at z; a trial step then counts as infeasible,
// exactly as for a value that is not finite. Any other error ends the run. A panic
// is turned into a [*PanicError] and ends the run too.
type Func interface {
	// Value returns f(z). Cost n³/3.
	Value(ctx context.Context, z []float64) (float64, error)
	// ValueGradient returns f(z) and writes ∂f/∂z to grad (length p), fixed
	// parameters included. An [Oracle] only calls it directly after Value at the
	// same z, whose factor it can then reuse: it costs the other 2n³/3.
	ValueGradient(ctx context.Context, z, grad []float64) (float64, error)
}

// Parameter is one that was checked: an element of the vector that is minimised
// over.
type Parameter struct {
	// Name is for messages, "lengthscale[2]"; Group is that of the vector it
	// belongs to, "lengthscale", or its own.
	Name, Group string
	// Log says that it is positive and optimised as a logarithm.
	Log bool
	// Start, Lower and Upper are natural values; ∓Inf, or 0 of a positive one, is
	// no bound.
	Start, Lower, Upper float64
	// Fixed says that it stays at Start.
	Fixed bool
}

// Z turns a natural value into an element of the vector.
func (p Parameter) Z(v float64) float64 {
	if p.Log {
		return math.Log(v)
	}
	return v
}

// Natural is the inverse of Z.
func (p Parameter) Natural(z float64) float64 {
	if p.Log {
		return math.Exp(z)
	}
	return z
}

// Start is a place to begin at, p numbers, and a metric there or nil.
type Start struct {
	Z []float64
	// Metric, unless nil, is an approximation of the Hessian ∂²f/∂z² at Z, such as
	// [Hessian] computes on part of the data; rows and columns of fixed parameters
	// do not matter. The first direction is then that of Newton with it
	// (eigenvalues below 2 raised to 2), and it is updated as the descent goes, by
	// damped BFGS. Should it mislead, L-BFGS takes over.
	Metric Metric
}

// Search says what is minimised, over what, and from where.
type Search struct {
	// Objectives are the same function on one or more devices: starts run side by
	// side on all of them. Required.
	Objectives []Func
	// Parameters are the p elements of the vector. Required.
	Parameters []Parameter
	// Starts are the places to begin at; nil for one at the parameters' own starts.
	// A free parameter outside its bounds is moved to the nearest, with a warning
	// for start 0.
	Starts []Start
	// Log, unless nil, keeps the evaluations of each start.
	Log func(start int) *journal.Sequence
}

package descent

import (
	"context"
	"math"

	"gpfit/internal/journal"
)

// Func is a differentiable function of p numbers z: logarithms of positive
// parameters, and other parameters unchanged.
//
// Both methods read z only during the call. An error for which [IsInfeasible]
// returns true means that f is not defined at z; a trial step then counts as
// infeasible, as it does for a value that is not finite. Any other error ends the
// run. A panic becomes a [*PanicError] and also ends the run.
type Func interface {
	// Value returns f(z). It costs n³/3 operations.
	Value(ctx context.Context, z []float64) (float64, error)
	// ValueGradient returns f(z) and writes ∂f/∂z to grad (length p), including
	// fixed parameters. An [Oracle] calls it only directly after Value at the same
	// z. It can reuse that factor and then costs 2n³/3 more operations.
	ValueGradient(ctx context.Context, z, grad []float64) (float64, error)
}

// Parameter is an element of the vector that the search varies.
type Parameter struct {
	// Name is the name in messages, such as "lengthscale[2]". Group is the name of
	// the vector that the parameter belongs to, such as "lengthscale", or equals
	// Name.
	Name, Group string
	// Log means that the parameter is positive and optimised as a logarithm.
	Log bool
	// Start, Lower and Upper are natural values. ∓Inf, or 0 for a positive
	// parameter, means no bound.
	Start, Lower, Upper float64
	// Fixed keeps the parameter at Start.
	Fixed bool
}

// Z converts a natural value to an element of the vector.
func (p Parameter) Z(v float64) float64 {
	if p.Log {
		return math.Log(v)
	}
	return v
}

// Natural converts an element of the vector to a natural value.
func (p Parameter) Natural(z float64) float64 {
	if p.Log {
		return math.Exp(z)
	}
	return z
}

// Start is a start point of p numbers, with a metric there or nil.
type Start struct {
	Z []float64
	// Metric, unless nil, is an approximation of the Hessian ∂²f/∂z² at Z, such as
	// [Hessian] computes on part of the data; rows and columns of fixed parameters
	// are ignored. The first direction is then the Newton direction (with
	// eigenvalues below 2 raised to 2), and damped BFGS updates the metric during
	// the descent. If the metric misleads, L-BFGS takes over.
	Metric Metric
}

// Search is a minimisation problem: objectives, parameters and starts.
type Search struct {
	// Objectives are the same function on one or more devices; starts run in
	// parallel on all of them. Required.
	Objectives []Func
	// Parameters are the p elements of the vector. Required.
	Parameters []Parameter
	// Limits, unless nil, returns for each element of z the value from which its effect
	// vanishes, so that f changes almost linearly with a power of its inverse, or +Inf: a
	// lengthscale much longer than its column. LBFGS then tries the upper bound.
	Limits func(z []float64) []float64
	// Starts are the start points; nil means one, at the parameters' Start values.
	// A free parameter outside its bounds is moved to the nearest bound, with a
	// warning for start 0.
	Starts []Start
	// Log, unless nil, returns the journal for the evaluations of a start.
	Log func(start int) *journal.Sequence
}

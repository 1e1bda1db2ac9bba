package descent

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gpfit/hyperopt/journal"
)

// Objective is a differentiable function of p numbers z: logarithms of positive
// parameters, and others as they are.
//
// Both methods read z only during the call. An error for which [IsInfeasible]
// holds says that f is not defined at z; a trial step then counts as infeasible,
// exactly as for a value that is not finite. Any other error ends the run. A panic
// is turned into a [*PanicError] and ends the run too.
type Objective interface {
	// Value returns f(z). Cost n³/3.
	Value(ctx context.Context, z []float64) (float64, error)
	// ValueGradient returns f(z) and writes ∂f/∂z to grad (length p), fixed
	// parameters included. An [Evaluator] only calls it directly after Value at the
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

// Problem says what is minimised, over what, and from where.
type Problem struct {
	// Objectives are the same function on one or more devices: starts run side by
	// side on all of them. Required.
	Objectives []Objective
	// Parameters are the p elements of the vector. Required.
	Parameters []Parameter
	// Starts are the places to begin at; nil for one at the parameters' own starts.
	// A free parameter outside its bounds is moved to the nearest, with a warning
	// for start 0.
	Starts []Start
	// Log, unless nil, keeps the evaluations of each start.
	Log func(start int) *journal.Stream
}

// space is a list of parameters that were found consistent, with their bounds as
// elements of the vector.
type space struct {
	params   []Parameter
	lo, hi   []float64
	fixed    []bool
	warnings []string
}

// newSpace checks the parameters.
func newSpace(params []Parameter) (*space, error) {
	if len(params) == 0 {
		return nil, fmt.Errorf("hyperopt: there are no parameters")
	}
	s := &space{params: slices.Clone(params)}
	for i := range s.params {
		p := &s.params[i]
		if p.Name == "" {
			p.Name = fmt.Sprintf("parameter %d", i)
		}
		z, lo, hi := p.Z(p.Start), p.Z(p.Lower), p.Z(p.Upper)
		switch {
		case math.IsNaN(z) || math.IsInf(z, 0):
			return nil, fmt.Errorf("hyperopt: the start of %s is not a finite number: %g", p.Name, p.Start)
		case math.IsNaN(lo) || math.IsInf(lo, 1):
			return nil, fmt.Errorf("hyperopt: the lower bound of %s is %g", p.Name, p.Lower)
		case math.IsNaN(hi) || math.IsInf(hi, -1):
			return nil, fmt.Errorf("hyperopt: the upper bound of %s is %g", p.Name, p.Upper)
		case lo > hi:
			return nil, fmt.Errorf("hyperopt: the lower bound of %s is above its upper bound: %g > %g", p.Name, p.Lower, p.Upper)
		}
		if p.Fixed && (z < lo || z > hi) {
			s.warnings = append(s.warnings, fmt.Sprintf("%s is fixed at %.6g, outside its bounds [%.6g, %.6g]", p.Name, p.Start, p.Lower, p.Upper))
		}
		// An interval with nothing to move in is as good as fixed.
		width := hi - lo
		fixed := p.Fixed || !math.IsInf(width, 0) && width <= 1e-10*max(1, math.Abs(lo), math.Abs(hi))
		s.lo, s.hi, s.fixed = append(s.lo, lo), append(s.hi, hi), append(s.fixed, fixed)
	}
	return s, nil
}

// begin returns the starts with free parameters within their bounds and the
// others where they are fixed.
func (s *space) begin(starts []Start) ([]Start, error) {
	p := len(s.params)
	own := make([]float64, p)
	for i, q := range s.params {
		own[i] = q.Z(q.Start)
	}
	if starts == nil {
		starts = []Start{{Z: own}}
	}
	out := make([]Start, len(starts))
	for k, start := range starts {
		if len(start.Z) != p || start.Metric != nil && len(start.Metric) != p*p {
			return nil, fmt.Errorf("hyperopt: start %d has %d elements and a metric of %d, expected %d and %d", k, len(start.Z), len(start.Metric), p, p*p)
		}
		z := slices.Clone(start.Z)
		for i, q := range s.params {
			if q.Fixed {
				z[i] = own[i]
				continue
			}
			if z[i] = s.clip(i, z[i]); z[i] != start.Z[i] && k == 0 {
				s.warnings = append(s.warnings, fmt.Sprintf("the start of %s, %.6g, is outside its bounds [%.6g, %.6g]: moved to %.6g",
					q.Name, q.Natural(start.Z[i]), q.Lower, q.Upper, q.Natural(z[i])))
			}
		}
		out[k] = Start{Z: z, Metric: start.Metric}
	}
	return out, nil
}

// free returns the indices of the parameters that are not fixed.
func (s *space) free() []int {
	var index []int
	for i, fixed := range s.fixed {
		if !fixed {
			index = append(index, i)
		}
	}
	return index
}

package descent

import "fmt"

// Status says why a start, or the run, ended.
type Status int

// The reasons for which a start ends.
const (
	// StatusNone: it has not run.
	StatusNone Status = iota
	// StatusGradientConverged: the gradient is within its tolerance, but for
	// parameters at a bound that f pushes outwards.
	StatusGradientConverged
	// StatusFunctionConverged: f changed by less than RelativeTolerance in five
	// consecutive iterations, with the gradient still above its tolerance, and
	// no trial among them was infeasible; or f could not be decreased any
	// further in floating point, and its quadratic model promises no more than
	// RelativeTolerance.
	StatusFunctionConverged
	// StatusAllFixed: there was nothing to optimise; f was evaluated once.
	StatusAllFixed
	// StatusStalled: the gradient is above its tolerance, but f could not be
	// decreased any further in floating point, not along the direction of
	// steepest descent either, or only by less than RelativeTolerance because
	// the way down leads where f is not defined.
	StatusStalled
	// StatusMaxEvaluations: MaxEvaluations was reached.
	StatusMaxEvaluations
	// StatusCancelled: the context was cancelled or its deadline passed.
	StatusCancelled
	// StatusFailed: f is not defined at the start, or the objective reported an
	// error that ends the run.
	StatusFailed
	// StatusDropped: in a race, it could not become the best any more.
	StatusDropped
	// StatusMerged: in a race, it was on its way to where a better start is.
	StatusMerged
)

var statusNames = [...]string{"none", "gradient-converged", "function-converged",
	"all-fixed", "stalled", "max-evaluations", "cancelled", "failed", "dropped", "merged"}

// String returns the name used in JSON output, for example
// "gradient-converged".
func (s Status) String() string {
	if s < 0 || int(s) >= len(statusNames) {
		return fmt.Sprintf("Status(%d)", int(s))
	}
	return statusNames[s]
}

// Converged reports whether a convergence criterion truly holds.
func (s Status) Converged() bool {
	return s == StatusGradientConverged || s == StatusFunctionConverged || s == StatusAllFixed
}

// BoundSide names a bound.
type BoundSide int

// The sides of an interval.
const (
	NoSide BoundSide = iota
	Lower
	Upper
)

// String returns "lower" or "upper".
func (s BoundSide) String() string {
	switch s {
	case Lower:
		return "lower"
	case Upper:
		return "upper"
	}
	return "none"
}

package descent

import "fmt"

// Status is the reason why a start, or the run, ended.
type Status int

// The reasons for which a start ends.
const (
	// StatusNone means that the start has not run.
	StatusNone Status = iota
	// StatusGradientConverged means that the gradient is within its tolerance,
	// except for parameters at a bound that f pushes outwards.
	StatusGradientConverged
	// StatusFunctionConverged means that f changed by less than RelativeTolerance
	// in five consecutive iterations without an infeasible trial, with the gradient
	// still above its tolerance; or that floating-point precision allowed no
	// further decrease of f, and its quadratic model promises no more than
	// RelativeTolerance or the noise of the values.
	StatusFunctionConverged
	// StatusGainConverged means that the quadratic model promises no further decrease
	// of f above ToleranceNats and that products of the Hessian, which would show a
	// saddle, confirm it.
	StatusGainConverged
	// StatusAllFixed means that all parameters are fixed; f was evaluated once.
	StatusAllFixed
	// StatusStalled means that the gradient is above its tolerance, but that
	// floating-point precision allowed no further decrease of f, even along the
	// steepest descent, or only by less than RelativeTolerance because f decreases
	// towards points where it is not defined.
	StatusStalled
	// StatusMaxEvaluations means that MaxEvaluations was reached.
	StatusMaxEvaluations
	// StatusCancelled means that the context was cancelled or its deadline passed.
	StatusCancelled
	// StatusFailed means that f is not defined at the start, or that the objective
	// returned an error that ends the run.
	StatusFailed
	// StatusDropped means that a race stopped the start because it could no longer
	// become the best.
	StatusDropped
	// StatusMerged means that a race stopped the start because it was converging to
	// the optimum of a better start.
	StatusMerged
)

var statusNames = [...]string{"none", "gradient-converged", "function-converged",
	"gain-converged", "all-fixed", "stalled", "max-evaluations", "cancelled", "failed", "dropped", "merged"}

// String returns the name used in JSON output, for example
// "gradient-converged".
func (s Status) String() string {
	if s < 0 || int(s) >= len(statusNames) {
		return fmt.Sprintf("Status(%d)", int(s))
	}
	return statusNames[s]
}

// Converged reports whether a convergence criterion holds.
func (s Status) Converged() bool {
	return s == StatusGradientConverged || s == StatusFunctionConverged || s == StatusGainConverged || s == StatusAllFixed
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

package descent

import (
	"errors"
	"fmt"
)

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

// Bound is a parameter at a bound that f pushes outwards.
type Bound struct {
	Index int
	Name  string
	Side  Side
}

// Iteration is what [Settings].Callback is told.
type Iteration struct {
	// Start is the index of the start; Iteration counts from 0, the start
	// point itself.
	Start, Iteration int
	// F is the value at Z.
	F float64
	// GradientNorm is as in [StartResult].
	GradientNorm float64
	// Evaluations of this start so far, and Total over all starts so far.
	Evaluations, Total Evaluations
	// Best is the lowest finite value so far over all starts, trial points
	// included.
	Best float64
	// Rows is for callers that minimise over part of the data first: on how many
	// rows this is. Minimize leaves it 0.
	Rows int
	// Z holds the log-parameters: a copy that the callback may keep.
	Z []float64
}

// StartResult is the outcome of one start.
//
// X is, for a status for which [Status.Converged] holds, the point at which the
// criteria hold; its F is the lowest value seen, up to rounding
// (Settings.Precision). Otherwise it is the point with the lowest finite value of
// all that were evaluated, trial points of a line search included, even if their
// gradient was never asked for.
type StartResult struct {
	// Start is where it began, moved inside the bounds if need be.
	Start []float64
	// X holds the log-parameters, in the order of Problem.Parameters; nil if no
	// finite value was seen.
	X []float64
	// F is the value at X; +Inf if no finite value was seen.
	F float64
	// Gradient is ∂f/∂z at X, or nil if it was not evaluated there.
	Gradient []float64
	// GradientNorm is the largest |∂f/∂zᵢ| over the free parameters that are
	// not at a bound that f pushes outwards; NaN if Gradient is nil.
	GradientNorm float64
	// RelativeChange is |f_k − f_{k+1}|/max(1, |f_{k+1}|) of the last
	// iteration, NaN if there was none.
	RelativeChange float64
	// AtBound lists the parameters of X at a bound that f pushes outwards.
	AtBound []Bound
	// Metric is the approximation of the Hessian there that the steps have
	// taught, for a later [Start]; nil if there were none.
	Metric Metric
	// Status says why it ended.
	Status Status
	// MergedInto is the index of the better start, with StatusMerged.
	MergedInto int
	// Err is what made it fail, or nil.
	Err error
	// Iterations counts the accepted steps.
	Iterations  int
	Evaluations Evaluations
	// Warnings are findings that did not stop it.
	Warnings []string
}

// Result is the outcome of [Minimize]: that of the best start, but for its
// Status, which is StatusCancelled or StatusFailed if the run as a whole ended so,
// and for Iterations and Evaluations, which are sums over all starts.
type Result struct {
	StartResult
	// Starts holds the outcome of each start that ran, in order.
	Starts []StartResult
	// BestStart is the index of the start that found X; −1 if none did.
	BestStart int
}

// StartError says why a start could not begin: f is not defined there.
type StartError struct {
	// Start is the index of the start.
	Start int
	// Err is the reason; [IsInfeasible] may hold for it.
	Err error
}

func (e *StartError) Error() string {
	var number *nonFiniteError
	if !errors.As(e.Err, &number) {
		return fmt.Sprintf("start %d: %v; likely causes are duplicate rows with a tiny noise variance, "+
			"wildly scaled data, or a lengthscale far beyond the extent of the data: "+
			"raise the start value of the noise variance or its lower bound, or set other start values", e.Start, e.Err)
	}
	return fmt.Sprintf("start %d: %v; likely causes are NaN or wildly scaled data: "+
		"check the data, or set other start values", e.Start, e.Err)
}

// Unwrap returns the reason.
func (e *StartError) Unwrap() error { return e.Err }

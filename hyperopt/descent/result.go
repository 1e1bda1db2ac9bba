package descent

import (
	"errors"
	"fmt"
)

// Bound is a parameter at a bound that f pushes outwards.
type Bound struct {
	Index int
	Name  string
	Side  BoundSide
}

// Iteration is what [Options].Callback is told.
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
// (Options.Precision). Otherwise it is the point with the lowest finite value of
// all that were evaluated, trial points of a line search included, even if their
// gradient was never asked for.
type StartResult struct {
	// Start is where it began, moved inside the bounds if need be.
	Start []float64
	// X holds the log-parameters, in the order of Search.Parameters; nil if no
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
	var number *UndefinedError
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

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

// Iteration is the progress report that [Options].Callback receives.
type Iteration struct {
	// Start is the index of the start. Iteration counts from 0, which is the start
	// point.
	Start, Iteration int
	// F is the value at Z.
	F float64
	// GradientNorm is defined as in [StartResult].
	GradientNorm float64
	// Evaluations counts those of this start so far, Total those of all starts.
	Evaluations, Total Evaluations
	// Best is the lowest finite value so far over all starts, including trial
	// points.
	Best float64
	// Rows is the number of rows, for callers that first minimise over part of the
	// data. Minimize leaves it 0.
	Rows int
	// Z holds the log-parameters, in a copy that the callback may keep.
	Z []float64
}

// StartResult is the outcome of one start.
//
// If [Status.Converged] holds, X is the point at which the criteria hold, and F is
// the lowest value seen, up to rounding (Options.Precision). Otherwise X is the
// evaluated point with the lowest finite value. This can be a trial point of a line
// search whose gradient was never computed.
type StartResult struct {
	// Start is the start point, moved inside the bounds if necessary.
	Start []float64
	// X holds the log-parameters, in the order of Search.Parameters; nil if no
	// finite value was seen.
	X []float64
	// F is the value at X; +Inf if no finite value was seen.
	F float64
	// Gradient is ∂f/∂z at X, or nil if it was not evaluated there.
	Gradient []float64
	// GradientNorm is the largest |∂f/∂zᵢ| over the free parameters, except those
	// at a bound that f pushes outwards; NaN if Gradient is nil.
	GradientNorm float64
	// RelativeChange is |f_k − f_{k+1}|/max(1, |f_{k+1}|) of the last
	// iteration, NaN if there was none.
	RelativeChange float64
	// AtBound lists the parameters of X at a bound that f pushes outwards.
	AtBound []Bound
	// Metric approximates the Hessian at X from the steps, for a later [Start]; nil
	// if there were no steps.
	Metric Metric
	// Status is the reason for the end.
	Status Status
	// MergedInto is the index of the better start if Status is StatusMerged.
	MergedInto int
	// Err is the error that ended the start, or nil.
	Err error
	// Iterations counts the accepted steps.
	Iterations  int
	Evaluations Evaluations
	// Warnings are problems that did not end the start.
	Warnings []string
}

// Result is the outcome of [Minimize]. It equals the outcome of the best start,
// except that Status is StatusCancelled or StatusFailed if the whole run ended so,
// and that Iterations and Evaluations are sums over all starts.
type Result struct {
	StartResult
	// Starts holds the outcome of each start that ran, in order.
	Starts []StartResult
	// BestStart is the index of the start that found X; −1 if none did.
	BestStart int
}

// StartError reports a start point at which f is not defined.
type StartError struct {
	// Start is the index of the start.
	Start int
	// Err is the reason; [IsInfeasible] may return true for it.
	Err error
}

func (e *StartError) Error() string {
	if !errors.Is(e.Err, errUndefined) {
		return fmt.Sprintf("start %d: %v; likely causes are duplicate rows with a tiny noise variance, "+
			"wildly scaled data, or a lengthscale far beyond the extent of the data: "+
			"increase the start value of the noise variance or its lower bound, or set other start values", e.Start, e.Err)
	}
	return fmt.Sprintf("start %d: %v; likely causes are NaN or wildly scaled data: "+
		"check the data, or set other start values", e.Start, e.Err)
}

// Unwrap returns the reason.
func (e *StartError) Unwrap() error { return e.Err }

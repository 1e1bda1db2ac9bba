package descent

import (
	"errors"
	"fmt"
	"math"

	"gpfit/hyperopt/journal"
)

// Parameter is an element of the vector that the search varies.
type Parameter struct {
	// Name is the name in messages, such as "lengthscale[2]". Group is the name of the vector
	// that the parameter belongs to, such as "lengthscale", or equals Name.
	Name, Group string
	// Log means that the parameter is positive and optimized as a logarithm.
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
	// Metric, unless nil, is an approximation of the Hessian ∂²f/∂z² at Z, such as [Hessian]
	// computes on part of the data; rows and columns of fixed parameters are ignored. The first
	// direction is then the Newton direction (with eigenvalues below 2 raised to 2), and damped
	// BFGS updates the metric during the descent. If the metric misleads, L-BFGS takes over.
	Metric Metric
}

// Search is a minimization problem: objectives, parameters and starts.
type Search struct {
	// Objectives are the same function on one or more devices; starts run in
	// parallel on all of them. Required.
	Objectives []Func
	// Parameters are the p elements of the vector. Required.
	Parameters []Parameter
	// Limits, unless nil, returns for each element of z the value from which its effect
	// vanishes, so that f changes almost linearly with a power of its inverse, or +Inf: a
	// lengthscale much longer than its column. The descent then tries the upper bound.
	Limits func(z []float64) []float64
	// Starts are the start points; nil means one, at the parameters' Start values. A free
	// parameter outside its bounds is moved to the nearest bound, with a warning for start 0.
	Starts []Start
	// Ends are the ends of earlier descents, none by default. With Options.Race every start
	// races against these and not against the other starts, so that its outcome does not
	// depend on theirs. MergedInto counts the ends before the starts.
	Ends []StartResult
	// Log, unless nil, returns the journal for the evaluations of a start.
	Log func(start int) *journal.Sequence
}

// Constants of the descents, with the problems that they were measured on.

// relativeIterations is the number of consecutive iterations that must change f by less than
// Options.RelativeTolerance. A single short step says nothing about convergence.
const relativeIterations = 5

// pairs is the number of correction pairs of L-BFGS. It exceeds the 3 to 20 pairs of N&W 7.2, because their arithmetic
// costs almost nothing next to an evaluation: on ill-conditioned GPs (c₂ = 0.9) 5,
// 10, 15, 20, 30, 60 pairs needed costs of 16449, 11404, 10666, 9971, 9552, 9487.
const pairs = 30

const (
	// maxRounds bounds the number of times that parameters are held at or released from bounds.
	maxRounds = 200
	// maxReleases bounds the number of times that a parameter is released before the others have
	// converged. A parameter that is held repeatedly would make them zigzag.
	maxReleases = 2
	// If hessianAfter iterations do not converge, the scales of the parameters differ too much
	// for L-BFGS to learn, and the Hessian is worth its 2p gradients. The CO2 model of Rasmussen
	// & Williams (2006), with a curvature of 2e7 along its period, needs 290 gradients without it
	// and 141 with it. It saves little when convergence is fast, and a Hessian at the start point
	// led to worse optima for four of eight data sets and kernels with a lengthscale per column.
	hessianAfter = 100
)

const (
	// firstMax bounds how far, in log units, an iteration along the steepest descent may move a
	// parameter. The gradient does not determine the length of that step, and it is mostly one of the
	// noise: with 2 log units, descents on 768 rows of energy ended 42 and 68 nats higher.
	firstMax = 1
	// stepMax bounds how far any trial may move a parameter: e⁵ is a factor of
	// 150.
	stepMax = 5
	// newtonReach bounds the first trial along the first direction from a metric,
	// which may come from another point or from fewer rows. On kin40k (2,000 rows,
	// metric of 736 rows), no trial went up with a bound of 1, but two of the first
	// four with 5. The bound doubles, up to stepMax, when a trial at the bound
	// succeeds, and halves, down to newtonLeast, when one was too long.
	newtonReach, newtonLeast = 1, 0.25
)

const (
	// armijo and curvature are c₁ and c₂ of the strong Wolfe conditions (N&W 3.7). For
	// quasi-Newton directions c₂ = 0.9 is usual (N&W p. 62); here a trial with its gradient costs
	// as much as an iteration, and the loosest value that still keeps sᵀy > 0 was the cheapest:
	// on the problems of TestLineSearchCost, from all their starts of 2026-11-20, weighted costs were
	// 14803, 14157, 14058, 13913, 13975 for c₂ = 0.5, 0.9, 0.95, 0.99, 0.999.
	armijo    = 1e-4
	curvature = 0.99
	// maxTrials bounds the values of one line search.
	maxTrials = 40
	// infeasibleContraction multiplies a step at whose end f is not defined, to
	// give the next trial.
	infeasibleContraction = 0.3
	// maxGrowth bounds the factor by which a step that was too short is extrapolated.
	maxGrowth = 4
)

const (
	// gainHope times the promise of the quadratic model bounds the further decrease of a
	// descent near its end. With 3 instead of 30 a periodic kernel on 300 rows lost 1.6
	// nats; the evaluations of 220 tunings were the same to a few percent.
	gainHope = 30
	// gainDecreases is the number of latest iterations whose decreases must shrink.
	gainDecreases = 3
	// gainLooks is the largest number of comparisons with the Hessian.
	gainLooks = 10
	// gainReach is the distance, in log units, up to which a direction without curvature
	// counts. Beyond it, f differs too much from its quadratic model to say anything.
	gainReach = 2
	// gainError is the relative error of the model, in its own norm, from which another
	// product looks at the direction of the error; gainProducts is the largest number of
	// products in one comparison.
	gainError, gainProducts = 0.3, 3
	// gainLeastStep is the smallest step for a product of the Hessian.
	gainLeastStep = 1e-4
)

// The rules of a race, in units of f. They were chosen on 568 descents recorded on
// four data sets of 278 to 1,353 rows. There, the quadratic models put distinct
// optima 10 nats or more apart, and of the descents that later fell below the best,
// all but one in thirty promised at least a fiftieth of the gap.
const (
	// raceWarm is the number of iterations after which a start is judged, raceWarmMetric the
	// number for a start with a metric. Before that its quadratic model says nothing.
	raceWarm, raceWarmMetric = 6, 2
	// raceHope times the decrease that its quadratic model promises bounds the further decrease
	// of a start. raceGain is the lead over the best that it must be able to reach: two starts
	// that creep along the same valley would otherwise both run to its end.
	raceHope, raceGain = 6, 0.25
	// raceNear bounds the quadratic model of the distance of two starts in one
	// basin, and raceLevel the difference of their values.
	raceNear, raceLevel = 3, 5
)

// Status is the reason why a start, or the run, ended.
type Status int

// The reasons for which a start ends.
const (
	// StatusNone means that the start has not run.
	StatusNone Status = iota
	// StatusGradientConverged means that the gradient is within its tolerance,
	// except for parameters at a bound that f pushes outwards.
	StatusGradientConverged
	// StatusFunctionConverged means that f changed by less than RelativeTolerance in five
	// consecutive iterations without an infeasible trial, with the gradient still above its
	// tolerance; or that floating-point precision allowed no further decrease of f, and its
	// quadratic model promises no more than RelativeTolerance or the noise of the values.
	StatusFunctionConverged
	// StatusGainConverged means that the quadratic model promises no further decrease of f above
	// ToleranceNats and that products of the Hessian, which would show a saddle, confirm it.
	StatusGainConverged
	// StatusAllFixed means that all parameters are fixed; f was evaluated once.
	StatusAllFixed
	// StatusStalled means that the gradient is above its tolerance, but that floating-point
	// precision allowed no further decrease of f, even along the steepest descent, or only by
	// less than RelativeTolerance because f decreases towards points where it is not defined.
	StatusStalled
	// StatusMaxEvaluations means that MaxEvaluations was reached.
	StatusMaxEvaluations
	// StatusCancelled means that the context was cancelled or its deadline passed.
	StatusCancelled
	// StatusFailed means that f is not defined at the start, or that the objective
	// returned an error that ends the run.
	StatusFailed
	// StatusDropped means that a race stopped the start because it could no longer become the best.
	StatusDropped
	// StatusMerged means that a race stopped the start because it was converging to
	// the optimum of a better start.
	StatusMerged
)

var statusNames = [...]string{"none", "gradient-converged", "function-converged",
	"gain-converged", "all-fixed", "stalled", "max-evaluations", "cancelled", "failed", "dropped", "merged"}

// String returns the name used in JSON output, for example "gradient-converged".
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

// Bound is a parameter at a bound that f pushes outwards.
type Bound struct {
	Index int
	Name  string
	Side  BoundSide
}

// Iteration is the progress report that [Options].Callback receives.
type Iteration struct {
	// Start is the index of the start. Iteration counts from 0, which is the start point.
	Start, Iteration int
	// F is the value at Z.
	F float64
	// GradientNorm is defined as in [StartResult].
	GradientNorm float64
	// Evaluations counts the evaluations of this start so far, Total of all starts.
	Evaluations, Total Evaluations
	// Best is the lowest finite value so far over all starts, including trial points.
	Best float64
	// Rows is the number of rows, for callers that first minimize over part of the
	// data. Minimize leaves it 0.
	Rows int
	// Z holds the log-parameters, in a copy that the callback may keep.
	Z []float64
}

// StartResult is the outcome of one start.
//
// If [Status.Converged] holds, X is the point at which the criteria hold, and F is the lowest value
// seen, up to rounding (Options.Precision). Otherwise X is the evaluated point with the lowest
// finite value. This can be a trial point of a line search whose gradient was never computed.
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
	// GradientNorm is the largest |∂f/∂zᵢ| over the free parameters, except
	// parameters at a bound that f pushes outwards; NaN if Gradient is nil.
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

// Undefined returns the error of a start at which f is not defined, from an error that wraps one.
func Undefined(err error) (begin *StartError, ok bool) { return errors.AsType[*StartError](err) }

// Unwrap returns the reason.
func (e *StartError) Unwrap() error { return e.Err }

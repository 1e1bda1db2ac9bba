package descent

// Constants of the descents, with the problems that they were measured on.

// relativeIterations is the number of consecutive iterations that must change f by
// less than Options.RelativeTolerance. A single short step says nothing about
// convergence.
const relativeIterations = 5

// DefaultMemory exceeds the 3 to 20 pairs of N&W 7.2, because their arithmetic
// costs almost nothing next to an evaluation: on ill-conditioned GPs (c₂ = 0.9) 5,
// 10, 15, 20, 30, 60 pairs needed costs of 16449, 11404, 10666, 9971, 9552, 9487.
const DefaultMemory = 30

const (
	// maxRounds bounds the number of times that parameters are held at or released
	// from bounds.
	maxRounds = 200
	// maxReleases bounds the number of times that a parameter is released before
	// the others have converged. A parameter that is held repeatedly would make
	// them zigzag.
	maxReleases = 2
	// If hessianAfter iterations do not converge, the scales of the parameters
	// differ too much for L-BFGS to learn, and the Hessian is worth its 2p
	// gradients. The CO2 model of Rasmussen & Williams (2006), with a curvature of
	// 2e7 along its period, needs 290 gradients without it and 141 with it. It
	// saves little when convergence is fast, and a Hessian at the start point led
	// to worse optima for four of eight data sets and kernels with a lengthscale
	// per column.
	hessianAfter = 100
)

const (
	// firstTrial and firstMax bound how far, in log units, an iteration along the
	// steepest descent may move a parameter, in its first trial and in any trial.
	// The gradient does not determine the length of that step.
	firstTrial = 1
	firstMax   = 2
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
	// armijo and curvature are c₁ and c₂ of the strong Wolfe conditions (N&W 3.7).
	// For quasi-Newton directions c₂ = 0.9 is usual (N&W p. 62); here a trial with
	// its gradient costs as much as an iteration, and the loosest value that still
	// keeps sᵀy > 0 was the cheapest: weighted costs in BenchmarkLineSearch were
	// 14803, 14157, 14058, 13913, 13975 for c₂ = 0.5, 0.9, 0.95, 0.99, 0.999, with
	// its starts of 2026-11-20.
	armijo    = 1e-4
	curvature = 0.99
	// maxTrials bounds the values of one line search.
	maxTrials = 40
	// infeasibleContraction multiplies a step at whose end f is not defined, to
	// give the next trial.
	infeasibleContraction = 0.3
	// maxGrowth bounds the factor by which a step that was too short is
	// extrapolated.
	maxGrowth = 4
)

// metricFloor is the smallest eigenvalue of a metric, in units of f per squared log
// unit; smaller ones are raised to it. It bounds steps where f is flat (to g/2 log
// units for a slope g) and where the Hessian is not positive definite. On elevators
// (18 columns) 2 works well; 10 stays far from the optimum for a long time.
const metricFloor = 2

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

// minCosine is the smallest acceptable cosine between the direction and the
// steepest descent, and between the step and the change of the gradient; below it
// the memory is cleared (N&W p. 47 and 7.2: sᵀy must be positive).
const minCosine = 1e-10

// hessianStep is the step of [Hessian], in log units, for a metric: a secant over
// one percent, which rounding in the gradient (1e-9 of f at large n) does not
// affect. Truncation errors are of the order of 1e-4.
const hessianStep = 1e-2

// The rules of a race, in units of f. They were chosen on 568 descents recorded on
// four data sets of 278 to 1,353 rows. In those, the quadratic models put distinct
// optima 10 nats or more apart, and of the descents that later fell below the best,
// all but one in thirty promised at least a fiftieth of the gap.
const (
	// raceWarm is the number of iterations after which a start is judged,
	// raceWarmMetric the number for a start with a metric. Before that its
	// quadratic model says nothing.
	raceWarm, raceWarmMetric = 6, 2
	// raceHope times the decrease that its quadratic model promises bounds the further
	// decrease of a start. raceGain is the lead over the best that it must be able to
	// reach: two starts that creep along the same valley would otherwise both run to its
	// end.
	raceHope, raceGain = 6, 0.25
	// raceNear bounds the quadratic model of the distance of two starts in one
	// basin, and raceLevel the difference of their values.
	raceNear, raceLevel = 3, 5
)

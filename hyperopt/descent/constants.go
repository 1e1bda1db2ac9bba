package descent

// The numbers that steer descents, with what each was measured on.

// relativeIterations is how many iterations in a row must change f by less than
// Options.RelativeTolerance: a single short step says nothing about
// convergence.
const relativeIterations = 5

// DefaultMemory is more than the 3 to 20 of N&W 7.2, since the arithmetic that
// pairs cost is nothing next to an evaluation: on ill-conditioned GPs (c₂ = 0.9)
// 5, 10, 15, 20, 30, 60 pairs needed costs of 16449, 11404, 10666, 9971, 9552,
// 9487.
const DefaultMemory = 30

const (
	// maxRounds bounds how often parameters are held at or released from bounds.
	maxRounds = 200
	// maxReleases bounds how often a parameter is released before the others have
	// converged: one that is held again and again would make them zigzag.
	maxReleases = 2
	// After hessianAfter iterations without convergence the scales of the
	// parameters differ too much for what L-BFGS learns, and the Hessian there is
	// worth its 2p gradients: the CO2 model of Rasmussen & Williams (2006), with a
	// curvature of 2e7 along its period, needs 290 gradients without and 141 with.
	// Where nothing is slow it saves little; and from the start point on it led to
	// worse optima on four of eight data sets and kernels with a lengthscale per
	// column.
	hessianAfter = 100
)

const (
	// firstTrial and firstMax bound how far, in log units, the first trial and
	// any trial of an iteration along the steepest descent may move a
	// parameter: the gradient says nothing about the length of that step.
	firstTrial = 1
	firstMax   = 2
	// stepMax bounds how far any trial may move a parameter: e⁵ is a factor of
	// 150.
	stepMax = 5
	// newtonReach bounds the first trial along the first direction from a metric,
	// which is that of another place or of fewer rows: on kin40k (2,000 rows,
	// metric of 736) 1 spares all trials that go up, 5 has two in the first four.
	// The bound doubles, up to stepMax, whenever a trial at it was good, and
	// halves, not below newtonLeast, when one was too long.
	newtonReach, newtonLeast = 1, 0.25
)

const (
	// armijo and curvature are c₁ and c₂ of the strong Wolfe conditions
	// (N&W 3.7). For quasi-Newton directions c₂ = 0.9 is usual (N&W p. 62); here,
	// where a trial with its gradient costs as much as an iteration, the loosest
	// value that still keeps sᵀy > 0 was the cheapest: weighted costs in
	// BenchmarkLineSearch were 14803, 14157, 14058, 13913, 13975 for c₂ = 0.5,
	// 0.9, 0.95, 0.99, 0.999, with the starts that it had on 2026-11-20.
	armijo    = 1e-4
	curvature = 0.99
	// maxTrials bounds the values of one search.
	maxTrials = 40
	// infeasibleContraction is the fraction of a step tried next when f is not
	// defined at its end.
	infeasibleContraction = 0.3
	// maxGrowth bounds the extrapolation of a step that was too short.
	maxGrowth = 4
)

// metricFloor is the least curvature that a metric is trusted with, in units of
// f per squared log unit: along an eigenvector of less the first step is as if
// it were this. It bounds steps where f is flat, g/2 log units for a slope g, and
// where the Hessian is not positive definite. On elevators (18 columns) 2 works
// and 10 stays far from the optimum for long.
const metricFloor = 2

// minCosine is the smallest cosine between the direction and steepest
// descent, and between the step and the change of the gradient, that the
// memory is trusted with (N&W p. 47 and 7.2: sᵀy must be positive).
const minCosine = 1e-10

// hessianStep is the step of [Hessian] in log units that suits a metric: the
// secant over a percent, which rounding in the gradient (1e-9 of f at large n)
// does not reach. Truncation leaves errors of the order of 1e-4.
const hessianStep = 1e-2

// The rules of a race, in units of f. They were chosen on 568 descents recorded
// on four data sets of 278 to 1,353 rows, where the quadratic models of distinct
// optima are 10 nats apart or more, and descents that had yet to fall below the
// best promised at least a fiftieth of the gap, but for one in thirty.
const (
	// raceWarm is the number of iterations after which a start is judged, and
	// raceWarmMetric that of one that came with a metric: before, its quadratic
	// model says nothing.
	raceWarm, raceWarmMetric = 6, 2
	// raceHope is how many times the decrease that its quadratic model promises a
	// start may yet fall, on top of raceMargin.
	raceHope, raceMargin = 30, 0.5
	// raceNear bounds the quadratic model of the distance of two starts in one
	// basin, and raceLevel the difference of their values.
	raceNear, raceLevel = 3, 5
)

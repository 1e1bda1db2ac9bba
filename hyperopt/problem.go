package hyperopt

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"gpfit/hyperopt/descent"
)

// Problem is an objective over the rows of a table that can be opened on some of
// them. Calls of its methods other than Open never overlap.
type Problem interface {
	// Rows returns the total number of rows.
	Rows() int
	// Parameters returns the p parameters to tune.
	Parameters() []descent.Parameter
	// Limits returns, for each of the p elements of the vector z, the value from which
	// its effect vanishes at the values of the others, +Inf for none; see
	// [descent.Search]. A stage begins with no larger value. A lengthscale of a column
	// that looks irrelevant on few rows drifts to where the gradient vanishes; without a
	// limit, the column would stay inactive on more rows, where it matters.
	Limits(z []float64) []float64
	// Starts returns starts other than the parameters' own that the data suggest, in
	// the order in which they are worth a descent. The order does not depend on a seed. Without
	// restarts, starts[:first] take part.
	Starts() (starts [][]float64, first int)
	// Alternatives returns points where there may be a better optimum than at z, because the
	// model explains the data in a similar way. At the near ones, f is about as low as at z if
	// they are any good: two terms that change places. The far ones need a descent to show
	// it: another period.
	Alternatives(z []float64) (near, far [][]float64)
	// Groups returns the number of the group of each row, from 0, or nil if every row
	// is on its own. Rows of a group, such as repeated ones, stay together in subsets.
	Groups() []int
	// Workers returns the number of workers on which objectives over the given rows are
	// best evaluated in parallel: devices, or shares of one.
	Workers(rows int) int
	// Room returns an error if the given number of workers lack the memory for all rows, so that
	// a fit can fail before its stages on few rows and not after them.
	Room(ctx context.Context, workers int) error
	// Open returns the objective over the given rows, in ascending order, or over all rows for nil,
	// on a worker, counted from 0. Sessions over all rows stay open; the caller of Tune closes
	// them. The error [ErrUndetermined] means that the rows are too few to determine the objective.
	Open(ctx context.Context, worker int, rows []int) (Session, error)
}

// Watcher is a [Problem] whose method Iterated Tune calls after each iteration. Calls never
// overlap.
type Watcher interface{ Iterated(descent.Iteration) }

// Structured is a [Problem] whose rows have a structure only together, by which an evaluation over all of
// them costs less than over many of them.
type Structured interface {
	// EqualRows returns how many of the rows cost as much as all of them.
	EqualRows() int
}

// Session is an objective that was opened on a worker.
type Session interface {
	descent.Func
	// Close frees the resources of the session.
	Close()
}

// ErrUndetermined reports that the given rows do not determine the objective. Tune skips the stage.
var ErrUndetermined = errors.New("the rows do not determine the objective")

// Coarse selects whether to tune on subsets of the rows before all of them.
type Coarse string

// The values of Coarse; empty means CoarseAuto.
const (
	// CoarseAuto uses subsets from 2,000 rows on.
	CoarseAuto Coarse = "auto"
	CoarseOn   Coarse = "on"
	CoarseOff  Coarse = "off"
	// CoarseCheck is CoarseAuto with the descent from the start values over all rows
	// besides, to compare: the better end is the result.
	CoarseCheck Coarse = "check"
)

// Coarses returns all values, the default first.
func Coarses() []Coarse { return []Coarse{CoarseAuto, CoarseOn, CoarseOff, CoarseCheck} }

// DefaultToleranceNats and LargeToleranceNats are the defaults of Settings.ToleranceNats for
// fewer than 2,000 rows, where evaluations are cheap, and from there on. They move a
// parameter by less than a 2000th and a seventh of its standard error.
const (
	DefaultToleranceNats = 1e-7
	LargeToleranceNats   = 1e-2
)

// MaxRestarts is the largest Settings.Restarts; each restart keeps a point and a result in memory.
const MaxRestarts = 10_000

// Method names a method of descent.
type Method string

// LBFGS is the method of package descent.
const LBFGS Method = "lbfgs"

// Settings configures [Tune]. The zero value is ready to use.
type Settings struct {
	// Method is the method of descent: LBFGS or, which is the same, "".
	Method Method `hash:",interface"`
	// MaxEvaluations, the tolerances and Precision are as in
	// [descent.Options]; the tolerances apply to descents over all rows.
	MaxEvaluations                       int
	GradientTolerance, RelativeTolerance float64
	Precision                            float64
	// ToleranceNats ends a descent over all rows that can gain no more than this, as in
	// [descent.Options]; 0 means the default, negative means never.
	ToleranceNats float64 `hash:"omitzero"`
	// Coarse selects whether to begin on subsets of the rows.
	Coarse Coarse
	// Restarts is the number of additional starts, at most MaxRestarts: a sequence that fills the
	// space around the starts that the problem suggests. With CoarseOff all
	// starts run to their end; otherwise some end early.
	Restarts int
	// Metric, unless nil, is an approximation of the Hessian at the start values, with
	// which the descent from there begins unless subsets come before all rows.
	Metric descent.Metric `hash:"omitzero"`
	// Beat, unless nil, is the value that the optimum has to go below to be of any use, as in
	// [descent.Options]. A run whose first end is far above it has no further starts and alternatives.
	Beat *float64 `hash:"omitzero"`
	// Seed is the seed of all random choices.
	Seed uint64
}

// Check returns an error if the settings are invalid.
func (s Settings) Check() error {
	switch {
	case s.Method != "" && s.Method != LBFGS:
		return fmt.Errorf("hyperopt: Method is %q: must be %s", s.Method, LBFGS)
	case s.Restarts < 0 || s.Restarts > MaxRestarts:
		return fmt.Errorf("hyperopt: Restarts is %d: must be from 0 to %d", s.Restarts, MaxRestarts)
	case math.IsNaN(s.ToleranceNats) || math.IsInf(s.ToleranceNats, 0):
		return fmt.Errorf("hyperopt: ToleranceNats is not a finite number: %g", s.ToleranceNats)
	case s.Coarse != "" && !slices.Contains(Coarses(), s.Coarse):
		return fmt.Errorf("hyperopt: Coarse is %q: must be auto, on, off or check", s.Coarse)
	}
	return nil
}

// Result is the outcome of [Tune]: the result of the descents over all rows. Starts
// is nil if the starts raced; Optima then lists their outcomes.
type Result struct {
	descent.Result
	// Total counts all evaluations, FullSize the evaluations over all rows.
	Total, FullSize descent.Evaluations
	// Path lists the stages in order; the last is over all rows.
	Path []Stage
	// Subsets means that descents on fewer rows chose where descents over all rows began,
	// so that the descent from the start values may end lower. Plain compares the two; nil
	// without CoarseCheck.
	Subsets bool
	Plain   *PlainDescent
	// Optima are the distinct optima that starts reached, best first, followed by
	// the starts that were dropped.
	Optima []Optimum
}

// Stage is a step of the tuning on some number of rows: descents from all remaining
// starts, or the Hessian at the best of them.
type Stage struct {
	// Step is "descent" or "hessian". On few rows it is also "halves" (some steps of each start on
	// a random half of the rows, or on all of up to 100) and "values" (over all rows, at the ends of
	// these). "screen" are descents on few rows from alternatives to the best end or from starts,
	// "alternatives" values over all rows and descents from the best of these. "plain" is the
	// descent from the start values that CoarseCheck asks for, and "lower" one from a point where
	// a value was below the end.
	Step string
	Rows int
	// Starts counts the descents, Optima the distinct optima among their ends.
	Starts, Optima int
	// Z and F are the point and the value of the best end, over these rows. For
	// halves, F is the lowest value, although the values are over different rows.
	Z           []float64
	F           float64
	Evaluations descent.Evaluations
	Took        time.Duration
}

// PlainDescent compares the end of the descent from the start values over all rows, F,
// with the end of the descent that began on fewer rows, Coarse.
type PlainDescent struct{ Coarse, F float64 }

// Optimum is a local optimum that starts reached, or the last point of a dropped start.
type Optimum struct {
	Z []float64
	F float64
	// Starts counts the starts that led here, Drawn the random ones among them.
	// Evaluations counts what these starts took, on any number of rows.
	Starts, Drawn int
	Evaluations   descent.Evaluations
	// Dropped means that gpfit stopped the start here because it could no longer become the best;
	// the point is not an optimum. Rows is the number of rows of its F if that is not all.
	Dropped bool
	Rows    int
}

// Constants of the tuning strategy. Values of the objective are in nats.
const (
	// coarseFrom is the number of rows from which CoarseAuto tunes on subsets.
	coarseFrom = 2000
	// Rows double from stage to stage. An evaluation in the last stage but one thus costs an
	// eighth of an evaluation over all rows, and earlier stages cost hardly anything. coarseLeast
	// and coarseLeastPerParameter are the smallest number of rows of a stage, in total and for
	// each parameter; fewer rows say little about the optimum.
	coarseLeast, coarseLeastPerParameter = 400, 20
	// looseGradient and looseChange are the tolerances of all descents before the last, see
	// descent.Settings. The next stage moves the optimum by more than these.
	looseGradient, looseChange = 0.3, 1e-5
	// hessianShare bounds the cost of the differences for the Hessian of a subset,
	// as a fraction of an evaluation over all rows.
	hessianShare = 1

	// halfEvaluations limits the values of a descent on half of the rows: after that
	// many, values over all rows tell more than further descent.
	halfEvaluations = 10

	// halvesFrom is the number of rows from which starts begin on halves. With fewer rows, a
	// half says little, and complete descents cost almost nothing.
	halvesFrom = 60
	// Up to wholeUpTo rows, of which half says little, starts and alternatives take their first steps over
	// all rows: at most wholeEvaluations values each.
	wholeUpTo        = 100
	wholeEvaluations = 4
	// leastFinals is the least number of starts that line up besides the given one.
	leastFinals = 2
	// block is the number of starts over all rows that descend side by side; none of them
	// stops another.
	block = 4
	// restartStd is the standard deviation, in log units, of restarts around the
	// given start: two standard deviations are a factor of 20 up or down.
	restartStd = 1.5
	// pool is the number of starts on fewer rows that each restart beyond leastFinals adds.
	pool = 2
	// undone is the difference between the value of a start, estimated from its half, and the
	// best value over all rows, up to which its own value over all rows is worth an evaluation.
	undone = 50
	// worthwhile is the largest difference of the value at an alternative to the best
	// value with which a descent from there is worth its evaluations: of 245 such descents on
	// 180 tables and kernels, 19 led to a better end, of which all but one began within that.
	worthwhile = 3
	// hopeless is the largest difference to the best, on a subset of the rows, with which an
	// optimum continues. Over all rows the difference is about twice as large.
	hopeless = 20

	// Two ends of a stage are the same optimum if their values differ by at most
	// sameValue, and if either the quadratic model of their distance is at most
	// sameNats or the ridge midway between them is at most sameRidge.
	sameValue, sameNats, sameRidge = 2, 0.5, 0.05
)

package hyperopt

import (
	"context"
	"errors"
	"fmt"
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
	// Limits returns, for each of the p elements of the vector, the largest value
	// with which a stage begins, +Inf for none. A lengthscale of a column that
	// looks irrelevant on few rows drifts to where the gradient vanishes; without a
	// limit, the column would stay inactive on more rows, where it matters.
	Limits() []float64
	// Workers returns the number of devices on which objectives can be open in
	// parallel.
	Workers() int
	// Room returns an error if the given number of workers lack the memory for all
	// rows, so that a fit can fail before its stages on few rows and not after
	// them.
	Room(ctx context.Context, workers int) error
	// Open returns the objective over the given rows, in ascending order, or over
	// all rows for nil, on a worker, counted from 0. Sessions over all rows stay
	// open; the caller of Tune closes them. The error [ErrUndetermined] means that
	// the rows are too few to determine the objective.
	Open(ctx context.Context, worker int, rows []int) (Session, error)
}

// Session is an objective that was opened on a worker.
type Session interface {
	descent.Func
	// Close frees the resources of the session.
	Close()
}

// ErrUndetermined reports that the given rows do not determine the objective. Tune
// skips the stage.
var ErrUndetermined = errors.New("hyperopt: the rows do not determine the objective")

// Coarse selects whether to tune on subsets of the rows before all of them.
type Coarse string

// The values of Coarse; empty means CoarseAuto.
const (
	// CoarseAuto uses subsets from 2,000 rows on.
	CoarseAuto Coarse = "auto"
	CoarseOn   Coarse = "on"
	CoarseOff  Coarse = "off"
)

// Coarses returns all values, the default first.
func Coarses() []Coarse { return []Coarse{CoarseAuto, CoarseOn, CoarseOff} }

// MaxRestarts is the largest Settings.Restarts; each restart keeps a point and a
// result in memory.
const MaxRestarts = 10_000

// Settings configures [Tune]. The zero value is ready to use.
type Settings struct {
	// Method, MaxEvaluations, the tolerances and Precision are as in
	// [descent.Options]; the tolerances apply to descents over all rows.
	Method                               descent.Method
	MaxEvaluations                       int
	GradientTolerance, RelativeTolerance float64
	Precision                            float64
	// Coarse selects whether to begin on subsets of the rows.
	Coarse Coarse
	// Restarts is the number of additional starts from a Latin hypercube, at most
	// MaxRestarts. They race, unless the rows are few or Coarse is CoarseOff; then
	// all starts run to their end.
	Restarts int
	// Metric, unless nil, is an approximation of the Hessian at the start values, with
	// which the descent from there begins unless subsets come before all rows.
	Metric descent.Metric `hash:"omitzero"`
	// Seed is the seed of all random choices.
	Seed uint64
	// Callback, unless nil, is called after each iteration. Calls never overlap.
	Callback func(descent.Iteration)
}

// Check returns an error if the settings are invalid.
func (s Settings) Check() error {
	switch {
	case s.Restarts < 0 || s.Restarts > MaxRestarts:
		return fmt.Errorf("hyperopt: Restarts is %d: must be from 0 to %d", s.Restarts, MaxRestarts)
	case s.Coarse != "" && !slices.Contains(Coarses(), s.Coarse):
		return fmt.Errorf("hyperopt: Coarse is %q: must be auto, on or off", s.Coarse)
	}
	return nil
}

// Result is the outcome of [Tune]: the result of the descents over all rows. Starts
// is nil if the starts raced; Optima then lists their outcomes.
type Result struct {
	descent.Result
	// Total counts all evaluations, FullSize those over all rows.
	Total, FullSize descent.Evaluations
	// Path lists the stages in order; the last is over all rows.
	Path []Stage
	// Optima are the distinct optima that starts reached, best first, followed by
	// the starts that were dropped; nil without restarts.
	Optima []Optimum
}

// Stage is a step of the tuning on some number of rows: descents from all remaining
// starts, or the Hessian at the best of them.
type Stage struct {
	// Step is "descent" or "hessian". With restarts on few rows it is also "halves"
	// (descents on a random half of the rows each) and "hessians" (at the end of
	// each of those).
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

// Optimum is a local optimum that starts reached, or the last point of a dropped
// start.
type Optimum struct {
	Z []float64
	F float64
	// Starts counts the starts that led here.
	Starts int
	// Dropped means that gpfit stopped the start here because it could no longer
	// become the best; the point is not an optimum. Rows is the number of rows of
	// its F if that is not all.
	Dropped bool
	Rows    int
}

package hyperopt

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"gpfit/hyperopt/descent"
)

// Problem is an objective over the rows of a table, which can be opened on some
// of them. Its methods but Open are called one at a time.
type Problem interface {
	// Rows is the number of rows of all of it.
	Rows() int
	// Parameters are what is minimised over, p of them.
	Parameters() []descent.Parameter
	// Limits are the largest elements of the vector, p of them, +Inf for none, that
	// a stage begins with: a column that looks irrelevant on few rows drifts to
	// where the gradient vanishes, and would stay switched off where it matters.
	Limits() []float64
	// Workers is the number of devices that objectives can be opened on, side by
	// side.
	Workers() int
	// Room returns an error if so many workers have no room for all rows: a fit
	// should end before its stages on few rows and not after them.
	Room(ctx context.Context, workers int) error
	// Open returns the objective over the given rows, ascending, or over all for
	// nil, on a worker from 0. Those over all rows stay open: their Close is the
	// caller's of Tune. [ErrUndetermined] says that so few rows do not make an
	// objective.
	Open(ctx context.Context, worker int, rows []int) (Session, error)
}

// Session is an objective that was opened on a worker.
type Session interface {
	descent.Func
	// Close frees what it takes.
	Close()
}

// ErrUndetermined says that an objective is not determined by the rows it was to
// be opened on. The stage is left out.
var ErrUndetermined = errors.New("hyperopt: the rows do not determine the objective")

// Coarse says whether to tune on subsets of the rows before all of them.
type Coarse string

// The values of Coarse; empty means CoarseAuto.
const (
	// CoarseAuto does from 2,000 rows on.
	CoarseAuto Coarse = "auto"
	CoarseOn   Coarse = "on"
	CoarseOff  Coarse = "off"
)

// Coarses lists them, the default first.
func Coarses() []Coarse { return []Coarse{CoarseAuto, CoarseOn, CoarseOff} }

// MaxRestarts bounds Settings.Restarts: each has a point and a result in memory.
const MaxRestarts = 10_000

// Settings tell how to tune. The zero value is ready to use.
type Settings struct {
	// Method, MaxEvaluations, the tolerances and Precision are those of
	// [descent.Options]; the tolerances hold over all rows.
	Method                               descent.Method
	MaxEvaluations                       int
	GradientTolerance, RelativeTolerance float64
	Precision                            float64
	// Coarse says whether to begin on subsets of the rows.
	Coarse Coarse
	// Restarts is the number of starts beyond the parameters' own, from a Latin
	// hypercube. They race, unless the rows are few or Coarse is CoarseOff: then
	// all run to their end. At most MaxRestarts.
	Restarts int
	// Seed of everything random.
	Seed uint64
	// Callback, unless nil, is called after each iteration, one call at a time.
	Callback func(descent.Iteration)
}

// Check returns an error if the settings make no sense.
func (s Settings) Check() error {
	switch {
	case s.Restarts < 0 || s.Restarts > MaxRestarts:
		return fmt.Errorf("hyperopt: Restarts is %d: must be from 0 to %d", s.Restarts, MaxRestarts)
	case s.Coarse != "" && !slices.Contains(Coarses(), s.Coarse):
		return fmt.Errorf("hyperopt: Coarse is %q: must be auto, on or off", s.Coarse)
	}
	return nil
}

// Result is the outcome of [Tune]: that of the descents over all rows, whose
// Starts are nil where starts raced, since Optima then tell what became of them.
type Result struct {
	descent.Result
	// Total counts all evaluations, FullSize those over all rows.
	Total, FullSize descent.Evaluations
	// Path lists the stages that were gone through; the last is over all rows.
	Path []Stage
	// Optima are the distinct ones that starts came to, best first, and then what
	// was dropped on the way; nil without restarts.
	Optima []Optimum
}

// Stage is a step of the tuning: a descent from every start that is left, on so
// many rows, or the Hessian at the best of them.
type Stage struct {
	// Step is "descent" or "hessian"; or with restarts on few rows "halves",
	// descents that have a random half of the rows each, and "hessians", at the
	// end of each.
	Step string
	Rows int
	// Starts counts the descents, Optima the distinct ones among their ends.
	Starts, Optima int
	// Z and F are those of the best end, over these rows; of halves F is the
	// lowest, though they are of different rows.
	Z           []float64
	F           float64
	Evaluations descent.Evaluations
	Took        time.Duration
}

// Optimum is a local optimum that starts have come to.
type Optimum struct {
	Z []float64
	F float64
	// Starts counts the starts that led here.
	Starts int
	// Dropped says that it was left where it is, since it could not become the
	// best any more: this is no optimum, only on the way to one. Rows is the
	// number of rows that its F is over where that is not all.
	Dropped bool
	Rows    int
}

package hyperopt

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"sync"
	"time"

	"gpfit/hyperopt/descent"
	"gpfit/hyperopt/journal"
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
	descent.Objective
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

// Settings tell how to tune. The zero value is ready to use.
type Settings struct {
	// Method, MaxEvaluations, the tolerances and Precision are those of
	// [descent.Settings]; the tolerances hold over all rows.
	Method                               descent.Method
	MaxEvaluations                       int
	GradientTolerance, RelativeTolerance float64
	Precision                            float64
	// Coarse says whether to begin on subsets of the rows.
	Coarse Coarse
	// Restarts is the number of starts beyond the parameters' own, from a Latin
	// hypercube. They race, unless the rows are few or Coarse is CoarseOff: then
	// all run to their end.
	Restarts int
	// Seed of everything random.
	Seed uint64
	// Callback, unless nil, is called after each iteration, one call at a time.
	Callback func(descent.Iteration)
}

// Check returns an error if the settings make no sense.
func (s Settings) Check() error {
	switch {
	case s.Restarts < 0:
		return fmt.Errorf("hyperopt: Restarts is negative: %d", s.Restarts)
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

// tuner takes the starts of a problem through its stages.
type tuner struct {
	Settings
	problem Problem
	params  []descent.Parameter
	rows    int
	free    int // parameters that are not fixed
	journal *journal.Journal
	told    sync.Mutex // for the callback
	result  *Result
	dropped []candidate // over all rows, and on fewer
	anew    bool        // whether all rows began anew, see full
}

// candidate is a place that one or more starts have come to.
type candidate struct {
	descent.Start
	f      float64 // over the rows of the last stage
	starts int     // how many led here
	// left says that it was dropped, and on how many rows if not on all.
	left bool
	rows int
}

// Tune minimises the problem's objective over all rows. The journal, which may be
// nil, keeps the evaluations. With an error, the result holds the best until then,
// if its X is not nil: that of a smaller stage has no F (NaN). The error is the
// context's if the run was cancelled, [*descent.StartError] where the objective is
// not defined at any start, and otherwise the objective's own.
func Tune(ctx context.Context, p Problem, s Settings, j *journal.Journal) (*Result, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	t := &tuner{Settings: s, problem: p, params: p.Parameters(), rows: p.Rows(), journal: j}
	t.result = &Result{Result: descent.Result{BestStart: -1, StartResult: descent.StartResult{
		F: math.NaN(), Status: descent.StatusCancelled, GradientNorm: math.NaN(), RelativeChange: math.NaN(),
	}}}
	for _, q := range t.params {
		if !q.Fixed {
			t.free++
		}
	}
	found, err := t.approach(ctx)
	if err == nil {
		err = t.finish(ctx, found)
	} else if found != nil && !math.IsInf(found[0].f, 1) {
		t.result.X = found[0].Z
	}
	t.result.Total.Add(t.result.FullSize)
	if t.raced() {
		t.result.Starts = nil
	}
	return t.result, err
}

// approach returns what the descents over all rows begin at. With an error that
// is the best until then.
func (t *tuner) approach(ctx context.Context) ([]candidate, error) {
	sizes := t.stageSizes()
	if len(sizes) > 0 {
		if err := t.problem.Room(ctx, min(t.problem.Workers(), 1+t.Restarts)); err != nil {
			return nil, err
		}
	}
	var found []candidate
	n := 1 + t.Restarts
	if t.raced() && !t.halved() {
		n *= pool
	}
	for _, z := range latinStarts(t.params, t.Seed, n) {
		found = append(found, candidate{Start: descent.Start{Z: z}, f: math.Inf(1), starts: 1})
	}
	if t.halved() {
		return t.halves(ctx, found)
	}
	return t.stages(ctx, sizes, found)
}

// raced reports whether restarts begin on fewer rows, and race.
func (t *tuner) raced() bool {
	return t.Restarts > 0 && t.Coarse != CoarseOff && t.rows >= restartsFrom && t.free > 0
}

// halved reports whether every start has a half of the rows of its own.
func (t *tuner) halved() bool { return t.raced() && t.rows < coarseFrom }

// descents are the settings of those over all rows.
func (t *tuner) descents() descent.Settings {
	return descent.Settings{Method: t.Method, MaxEvaluations: t.MaxEvaluations, GradientTolerance: t.GradientTolerance,
		RelativeTolerance: t.RelativeTolerance, Precision: t.Precision, Callback: t.Callback}
}

// looseDescents are the settings of descents on fewer rows: there is no point in
// following an optimum that moves by more at the next stage.
func (t *tuner) looseDescents(rows int) descent.Settings {
	s := t.descents()
	if s.GradientTolerance >= 0 {
		s.GradientTolerance = max(s.GradientTolerance, looseGradient)
	}
	if s.RelativeTolerance >= 0 {
		s.RelativeTolerance = max(s.RelativeTolerance, looseChange)
	}
	if t.Callback != nil {
		s.Callback = func(it descent.Iteration) {
			t.told.Lock()
			defer t.told.Unlock()
			it.Rows = rows
			t.Callback(it)
		}
	}
	return s
}

// open opens the objective over some rows on as many workers as there are starts.
func (t *tuner) open(ctx context.Context, rows []int, starts int) ([]Session, error) {
	var out []Session
	for w := range min(t.problem.Workers(), starts) {
		o, err := t.problem.Open(ctx, w, rows)
		if err != nil {
			if rows != nil {
				closeAll(out)
			}
			return nil, err
		}
		out = append(out, o)
	}
	return out, nil
}

func closeAll(objectives []Session) {
	for _, o := range objectives {
		o.Close()
	}
}

// minimize runs descents from the candidates; stream names them in the journal.
func (t *tuner) minimize(ctx context.Context, objectives []Session, stream string, from []candidate, s descent.Settings) (*descent.Result, error) {
	p := descent.Problem{Parameters: t.params, Log: func(start int) *journal.Stream { return t.journal.Stream(stream + "-" + strconv.Itoa(start)) }}
	for _, o := range objectives {
		p.Objectives = append(p.Objectives, o)
	}
	for _, c := range from {
		p.Starts = append(p.Starts, c.Start)
	}
	return descent.Minimize(ctx, p, s)
}

// finish runs the descents over all rows. They end cleanly if ctx is done, so
// that the best point can be reported.
func (t *tuner) finish(ctx context.Context, found []candidate) error {
	objectives, err := t.open(context.WithoutCancel(ctx), nil, 1+t.Restarts)
	if err != nil {
		return err
	}
	settings := t.descents()
	settings.Race = t.raced()
	if err := t.full(ctx, objectives, found, "descent", settings); err != nil {
		return err
	}
	between := t.between("descent", objectives[0])
	optima, dropped, err := t.distinct(ctx, &t.result.Result, found, between)
	t.result.FullSize.Add(between.Counts())
	if t.Restarts > 0 {
		t.result.Optima = optimaOf(slices.Concat(optima, dropped, t.dropped))
	}
	return err
}

// full runs descents over all rows. If the stages before have led to where the
// objective is not defined over all rows, it begins anew at the start values.
func (t *tuner) full(ctx context.Context, objectives []Session, from []candidate, step string, settings descent.Settings) error {
	began := time.Now()
	result, err := t.minimize(ctx, objectives, step, from, settings)
	if result == nil {
		return err
	}
	t.result.FullSize.Add(result.Evaluations)
	var begin *descent.StartError
	if errors.As(err, &begin) && len(t.result.Path) > 0 && !t.anew {
		t.anew = true
		own := []candidate{{Start: descent.Start{Z: latinStarts(t.params, 0, 1)[0]}, f: math.Inf(1), starts: from[0].starts}}
		err := t.full(ctx, objectives, own, step+"-anew", settings)
		t.result.Warnings = append(t.result.Warnings, fmt.Sprintf("the optimum on fewer rows is of no use on all: began anew at the start values (%v)", begin))
		return err
	}
	t.result.Result = *result
	if result.X != nil {
		t.record(Stage{Step: step, Rows: t.rows, Starts: len(result.Starts), Z: result.X, F: result.F, Evaluations: result.Evaluations}, began)
	}
	return err
}

// record adds a stage to the path.
func (t *tuner) record(s Stage, began time.Time) {
	s.Took = time.Since(began)
	t.result.Path = append(t.result.Path, s)
}

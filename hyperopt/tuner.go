package hyperopt

import (
	"context"
	"errors"
	"math"
	"slices"
	"strconv"
	"sync"
	"time"

	"gpfit/hyperopt/descent"
	"gpfit/hyperopt/journal"
	"gpfit/internal/each"
)

// tuner takes the starts of a problem through its stages.
type tuner struct {
	plan
	problem Problem
	params  []descent.Parameter
	journal *journal.Journal
	told    sync.Mutex // for the callback
	result  *Result
	dropped []candidate // over all rows, and on fewer
	anew    bool        // whether the stage over all rows started over, see descendAllRows
	starts  [][]float64
	// suggested counts the starts of the problem, which follow the given one; others are drawn.
	suggested int
	full      []Session // over all rows, once opened
	lowest    candidate // the lowest value over all rows outside of the descents
	screens   int       // of alternatives
	groups    [][]int   // rows that stay together in subsets; nil if all are on their own
}

// candidate is a point that one or more starts have reached; F is over the rows of the last stage.
type candidate struct {
	Optimum
	Metric descent.Metric // there, or nil
	// added means that it takes part only with restarts, and same that it led to the optimum of another.
	added, same bool
}

// reached is a candidate that a start has reached.
func reached(z []float64, f float64, metric descent.Metric) candidate {
	return candidate{Optimum: Optimum{Z: z, F: f, Starts: 1}, Metric: metric}
}

// total returns the counts of evaluations on a number of rows.
func (t *tuner) total(rows int) *descent.Evaluations {
	if rows == t.rows {
		return &t.result.FullSize
	}
	return &t.result.Total
}

// Descents returns the options of a descent over all rows.
func (s Settings) Descents(rows int) descent.Options {
	return descent.Options{MaxEvaluations: s.MaxEvaluations, GradientTolerance: s.GradientTolerance,
		RelativeTolerance: s.RelativeTolerance, ToleranceNats: s.toleranceNats(rows), Precision: s.Precision, FewRows: rows < coarseFrom, Beat: s.Beat}
}

// toleranceNats returns the tolerance of a descent over all rows.
func (s Settings) toleranceNats(rows int) float64 {
	switch {
	case s.ToleranceNats != 0:
		return max(0, s.ToleranceNats)
	case rows < coarseFrom:
		return DefaultToleranceNats
	}
	return LargeToleranceNats
}

// descents returns the options of descents over all rows.
func (t *tuner) descents() descent.Options {
	s := t.Descents(t.rows)
	if w, ok := t.problem.(Watcher); ok {
		s.Callback = w.Iterated
	}
	return s
}

// looseDescents returns the options of descents on fewer rows. Converging more
// closely is pointless, because the next stage moves the optimum by more.
func (t *tuner) looseDescents(rows int) descent.Options {
	s := t.descents()
	s.Eager, s.Beat = true, nil // which is a value over all rows
	if s.GradientTolerance >= 0 {
		s.GradientTolerance = max(s.GradientTolerance, looseGradient)
	}
	if s.RelativeTolerance >= 0 {
		s.RelativeTolerance = max(s.RelativeTolerance, looseChange)
	}
	if tell := s.Callback; tell != nil {
		s.Callback = func(it descent.Iteration) {
			t.told.Lock()
			defer t.told.Unlock()
			it.Rows = rows
			tell(it)
		}
	}
	return s
}

// open opens the objective over some rows on as many workers as there are starts.
func (t *tuner) open(ctx context.Context, rows []int, starts int) ([]Session, error) {
	var out []Session
	size := t.rows
	if rows != nil {
		size = len(rows)
	}
	for w := range min(t.problem.Workers(size), starts) {
		o, err := t.problem.Open(ctx, w, rows)
		if err != nil {
			if rows != nil {
				closeSessions(out)
			}
			return nil, err
		}
		out = append(out, o)
	}
	return out, nil
}

func closeSessions(objectives []Session) {
	for _, o := range objectives {
		o.Close()
	}
}

// minimize runs descents from the candidates, after earlier ones with the given ends; stream names
// the descents in the journal.
func (t *tuner) minimize(ctx context.Context, objectives []Session, stream string, ends []descent.StartResult, from []candidate, s descent.Options) (*descent.Result, error) {
	p := descent.Search{Parameters: t.params, Limits: t.problem.Limits, Ends: ends, Log: func(start int) *journal.Sequence {
		return t.journal.Sequence(stream + "-" + strconv.Itoa(len(ends)+start))
	}}
	for _, o := range objectives {
		p.Objectives = append(p.Objectives, o)
	}
	for _, c := range from {
		p.Starts = append(p.Starts, descent.Start{Z: c.Z, Metric: c.Metric})
	}
	if tell := s.Callback; tell != nil {
		s.Callback = func(it descent.Iteration) {
			it.Start += len(ends)
			tell(it)
		}
	}
	return descent.Minimize(ctx, p, s)
}

// record adds a stage to the path, or to the last one if it is the same step.
func (t *tuner) record(s Stage, began time.Time) {
	s.Took = time.Since(began)
	if n := len(t.result.Path); n > 0 && t.result.Path[n-1].Step == s.Step && t.result.Path[n-1].Rows == s.Rows && s.Rows == t.rows {
		last := &t.result.Path[n-1]
		s.Starts, s.Took = s.Starts+last.Starts, s.Took+last.Took
		s.Evaluations.Add(last.Evaluations)
		if last.F <= s.F {
			s.Z, s.F = last.Z, last.F
		}
		*last = s
		return
	}
	t.result.Path = append(t.result.Path, s)
}

// note keeps the lowest value over all rows outside of the descents.
func (t *tuner) note(p descent.Point) {
	if p.Z != nil && (t.lowest.Z == nil || p.F < t.lowest.F) {
		t.lowest = reached(p.Z, p.F, nil)
	}
}

// withinReach cuts z to the problem's limits.
func (t *tuner) withinReach(z []float64) []float64 {
	limits := t.problem.Limits(z)
	z = slices.Clone(z)
	for i, limit := range limits {
		if p := t.params[i]; !p.Fixed && !math.IsInf(limit, 1) {
			z[i] = min(z[i], max(limit, p.Z(p.Lower)))
		}
	}
	return z
}

// openFull opens the objective over all rows on as many workers as there are starts, once.
func (t *tuner) openFull(ctx context.Context) ([]Session, error) {
	var err error
	if t.full == nil {
		t.full, err = t.open(ctx, nil, t.finals())
	}
	return t.full, err
}

// hessianOn returns the Hessian at z on some rows, scaled to all rows. It is nil if
// these rows yield none.
func (t *tuner) hessianOn(ctx context.Context, worker int, stream string, rows []int, z []float64) (descent.Metric, descent.Evaluations, error) {
	var none descent.Evaluations
	if len(rows) < t.free || t.free > descent.MostModelled {
		return nil, none, nil
	}
	o, err := t.problem.Open(ctx, worker, rows)
	if errors.Is(err, ErrUndetermined) {
		return nil, none, nil
	}
	if err != nil {
		return nil, none, err
	}
	defer o.Close()
	fixed := each.Of(t.params, func(p descent.Parameter) bool { return p.Fixed })
	ev := descent.NewOracle(o, t.journal.Sequence(stream))
	h, err := descent.Hessian(ctx, ev, z, descent.HessianOptions{Fixed: fixed})
	return h.Scaled(float64(t.rows) / float64(len(rows))), ev.Counts(), err
}

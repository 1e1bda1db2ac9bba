package hyperopt

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"gpfit/hyperopt/descent"
	"gpfit/hyperopt/journal"
)

// Tune minimises the problem's objective over all rows. The journal, which may be
// nil, records the evaluations. With an error, the result holds the best point
// until then, unless X is nil; F is NaN if the point comes from a smaller stage.
// The error is the context's if the run was cancelled, [*descent.StartError] if the
// objective is not defined at any start, and otherwise the objective's error.
func Tune(ctx context.Context, p Problem, s Settings, j *journal.Journal) (*Result, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	t := &tuner{Settings: s, problem: p, params: p.Parameters(), limits: p.Limits(), rows: p.Rows(), journal: j}
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

// approach returns the starts of the descents over all rows. With an error it
// returns the best point until then.
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
	if len(sizes) == 0 && !t.halved() {
		found[0].Metric = t.Metric
	}
	if t.halved() {
		return t.halves(ctx, found)
	}
	return t.stages(ctx, sizes, found)
}

// finish runs the descents over all rows. They end cleanly if ctx is done, so
// that the best point can be reported.
func (t *tuner) finish(ctx context.Context, found []candidate) error {
	objectives, err := t.open(context.WithoutCancel(ctx), nil, 1+t.Restarts)
	if err != nil {
		return err
	}
	settings := t.Descents()
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

// full runs descents over all rows. If the earlier stages led to a point where the
// objective is not defined over all rows, it starts over at the start values.
func (t *tuner) full(ctx context.Context, objectives []Session, from []candidate, step string, settings descent.Options) error {
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
		t.result.Warnings = append(t.result.Warnings, fmt.Sprintf("the objective is not defined over all rows at the optimum of fewer rows: the fit started over at the start values (%v)", begin))
		return err
	}
	t.result.Result = *result
	if result.X != nil {
		t.record(Stage{Step: step, Rows: t.rows, Starts: len(result.Starts), Z: result.X, F: result.F, Evaluations: result.Evaluations}, began)
	}
	return err
}

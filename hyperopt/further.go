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

// After the descents over all rows there may be more of them, one at a time: from an
// alternative to the best end, from the start values to compare, and from a point that is
// lower than the end.

// another descends over all rows from one more start and adds its outcome to the result and
// the start to found. The result is nil if the descent did not run.
func another(ctx context.Context, t *tuner, objectives []Session, stream string, found []candidate, from candidate) (*descent.Result, []candidate, error) {
	result, err := t.minimize(ctx, objectives, stream, []candidate{from}, t.descents())
	if result == nil {
		return nil, found, err
	}
	t.result.FullSize.Add(result.Evaluations)
	if result.X == nil || len(result.Starts) == 0 {
		return nil, found, err
	}
	all := &t.result.Result
	all.Starts = append(all.Starts, result.Starts[0])
	iterations, evaluations := all.Iterations+result.Iterations, all.Evaluations
	evaluations.Add(result.Evaluations)
	if result.F < all.F {
		all.StartResult, all.BestStart = result.StartResult, len(all.Starts)-1
	}
	all.Iterations, all.Evaluations = iterations, evaluations
	return result, append(slices.Clone(found), from), err
}

// throughSubsets reports whether descents on fewer rows chose where those over all rows began, so
// that none of these is the descent from the start values: it did not begin, or a race
// stopped it.
func throughSubsets(t *tuner) bool {
	switch {
	case t.anew:
		return false
	case t.halved():
		return len(t.result.Starts) > 0 && t.result.Starts[0].Status == descent.StatusDropped
	}
	return slices.ContainsFunc(t.result.Path, func(s Stage) bool { return s.Rows < t.rows })
}

// plainDescent makes the descent from the start values over all rows, if the settings ask for the
// comparison and it was not made before.
func plainDescent(ctx context.Context, t *tuner, objectives []Session, found []candidate) ([]candidate, error) {
	if t.result.Subsets = throughSubsets(t); !t.result.Subsets || t.Coarse != CoarseCheck || t.result.Status == descent.StatusCancelled {
		return found, nil
	}
	began, coarse := time.Now(), t.result.F
	result, found, err := another(ctx, t, objectives, "plain", found, candidate{Start: descent.Start{Z: t.starts[0], Metric: t.Metric}, starts: 1})
	var begin *descent.StartError
	if errors.As(err, &begin) {
		t.result.Warnings = append(t.result.Warnings, fmt.Sprintf("coarse to fine cannot be compared with a descent from the start values: the objective is not defined there (%v)", begin))
		return found, nil
	}
	if result == nil {
		return found, err
	}
	t.record(Stage{Step: "plain", Rows: t.rows, Starts: 1, Z: result.X, F: result.F, Evaluations: result.Evaluations}, began)
	t.result.Plain = &PlainDescent{Coarse: coarse, F: result.F}
	if above := coarse - result.F; above > sameRidge {
		t.result.Warnings = append(t.result.Warnings, fmt.Sprintf("coarse to fine ended %.2g nats above the descent from the start values over all rows, whose end the fit keeps; option coarse off makes that descent alone", above))
	}
	return found, err
}

// note keeps the lowest value over all rows outside of the descents.
func (t *tuner) note(p descent.Point) {
	if p.Z != nil && (t.lowest.Z == nil || p.F < t.lowest.f) {
		t.lowest = candidate{Start: descent.Start{Z: p.Z}, f: p.F, starts: 1}
	}
}

// lowerDescent descends from the lowest value over all rows outside of the descents, if they ended
// above it. more is false if they did not.
func lowerDescent(ctx context.Context, t *tuner, objectives []Session, found []candidate) (_ []candidate, more bool, err error) {
	if t.lowest.Z == nil || !(t.lowest.f < t.result.F-sameRidge) || t.result.Status == descent.StatusCancelled {
		return found, false, nil
	}
	began := time.Now()
	result, found, err := another(ctx, t, objectives, "lower", found, t.lowest)
	if result != nil {
		t.record(Stage{Step: "lower", Rows: t.rows, Starts: 1, Z: result.X, F: result.F, Evaluations: result.Evaluations}, began)
	}
	return found, result != nil, err
}

// Subsets and their starts may all miss an optimum that only all rows show, such as the
// one at a third of a period. So after the descents over all rows, values over all rows at
// the alternatives to the best end decide whether another descent is worth it.

// alternatives descends from the best alternative to the best end, unless that is much
// worse, and adds its outcome to the result and its start to found.
func alternatives(ctx context.Context, t *tuner, objectives []Session, found []candidate) ([]candidate, error) {
	if !t.racing() || !t.result.Status.Converged() {
		return found, nil
	}
	began := time.Now()
	best := candidate{f: math.Inf(1), starts: 1}
	var values descent.Evaluations
	for k, z := range t.problem.Alternatives(t.result.X) {
		ev := descent.NewOracle(objectives[0], t.journal.Sequence(fmt.Sprintf("alternative-%d", k)))
		f, err := ev.Value(ctx, z)
		values.Add(ev.Counts())
		if err != nil {
			t.result.FullSize.Add(values)
			return found, err
		}
		if f < best.f {
			best.Start, best.f = descent.Start{Z: z}, f
		}
	}
	t.result.FullSize.Add(values)
	if !(best.f <= t.result.F+worthwhile) {
		return found, nil
	}
	result, found, err := another(ctx, t, objectives, "alternative", found, best)
	if result != nil {
		values.Add(result.Evaluations)
		t.record(Stage{Step: "alternatives", Rows: t.rows, Starts: 1, Z: result.X, F: result.F, Evaluations: values}, began)
	}
	return found, err
}

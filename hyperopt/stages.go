package hyperopt

import (
	"context"
	"errors"
	"strconv"
	"time"

	"gpfit/hyperopt/descent"
)

// Tune fits many rows on growing, nested random subsets. Each stage begins at the ends
// of the previous stage, with their metrics scaled by the number of rows, because the
// objective and its curvatures grow with it. Several times the requested number of
// starts race on the first subset, and the best distinct ends continue to the next.
// The stage over all rows begins with a finite-difference Hessian on a subset.

// stages takes the candidates through subsets of these sizes.
func (t *tuner) stages(ctx context.Context, sizes []int, found []candidate) ([]candidate, error) {
	if len(sizes) == 0 {
		return found, nil
	}
	order := t.order(coarseStream)
	for i, size := range sizes {
		var err error
		rows := order.first(size)
		if found, err = t.descend(ctx, rows, found); err != nil {
			return found, err
		}
		m, next := len(rows), t.rows
		if i+1 < len(sizes) {
			next = len(order.first(sizes[i+1]))
		}
		for k := range found {
			found[k].Z = t.withinReach(found[k].Z)
			found[k].Metric = found[k].Metric.Scaled(float64(next) / float64(m))
		}
	}
	found = t.shortlist(found, sizes[len(sizes)-1])
	if t.result.Total.Information > 0 { // the descent over all rows begins with its own
		return found, nil
	}
	rows := order.first(t.hessianSize(hessianShare))
	began := time.Now()
	metric, counts, err := t.hessianOn(ctx, 0, "hessian", rows, found[0].Z)
	if t.result.Total.Add(counts); err == nil && metric != nil {
		found[0].Metric = metric
		t.record(Stage{Step: "hessian", Rows: len(rows), Z: found[0].Z, F: found[0].F, Evaluations: counts}, began)
	}
	return found, err
}

// descend runs a stage other than the last and returns its distinct ends, or from if it failed.
func (t *tuner) descend(ctx context.Context, rows []int, from []candidate) ([]candidate, error) {
	began := time.Now()
	objectives, err := t.open(ctx, rows, len(from))
	if errors.Is(err, ErrUndetermined) {
		return from, nil
	}
	if err != nil {
		return from, err
	}
	defer closeSessions(objectives)
	settings, stream := t.looseDescents(len(rows)), strconv.Itoa(len(rows))
	settings.Race, settings.Reach = t.raced(), hopeless
	result, err := t.minimize(ctx, objectives, stream, nil, from, settings)
	if result == nil {
		return from, err
	}
	t.result.Total.Add(result.Evaluations)
	_, undefined := descent.Undefined(err)
	switch {
	case undefined:
		return from, nil // not defined there on these rows: see descendAllRows
	case err != nil && result.X != nil:
		return []candidate{reached(result.X, result.F, nil)}, err // the best so far
	case err != nil:
		return from, err
	}
	t.record(Stage{Step: "descent", Rows: len(rows), Starts: len(result.Starts), Z: result.X, F: result.F, Evaluations: result.Evaluations}, began)
	between := t.basins(stream, objectives[0])
	found, dropped, err := between.distinct(ctx, result, from)
	t.result.Total.Add(between.Counts())
	if err != nil {
		return from, err
	}
	for _, c := range dropped {
		c.Rows = len(rows)
		t.dropped = append(t.dropped, c)
	}
	t.result.Path[len(t.result.Path)-1].Optima = len(found)
	return found, nil
}

// shortlist returns the candidates that continue over all rows: the best ends of the last stage,
// which had the given number of rows, at most as many as the requested starts.
func (t *tuner) shortlist(found []candidate, rows int) []candidate {
	keep := min(len(found), 1+t.Restarts)
	for keep > 1 && found[keep-1].F > found[0].F+hopeless {
		keep--
	}
	for _, c := range found[keep:] {
		c.Rows, c.Dropped = rows, true
		t.dropped = append(t.dropped, c)
	}
	return found[:keep:keep]
}

package hyperopt

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"strconv"
	"time"

	"gpfit/hyperopt/descent"
	"gpfit/internal/matrixrows"
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
	found = shortlist(t, found, sizes[len(sizes)-1])
	if t.result.Total.Information > 0 { // the descent over all rows begins with its own
		return found, nil
	}
	rows := order.first(t.hessianSize(hessianShare))
	began := time.Now()
	metric, counts, err := t.hessianOn(ctx, 0, "hessian", rows, found[0].Z)
	if t.result.Total.Add(counts); err == nil && metric != nil {
		found[0].Metric = metric
		t.record(Stage{Step: "hessian", Rows: len(rows), Z: found[0].Z, F: found[0].f, Evaluations: counts}, began)
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
		return []candidate{{Start: descent.Start{Z: result.X}, f: result.F}}, err // the best so far
	case err != nil:
		return from, err
	}
	t.record(Stage{Step: "descent", Rows: len(rows), Starts: len(result.Starts), Z: result.X, F: result.F, Evaluations: result.Evaluations}, began)
	between := pointsBetween(t, stream, objectives[0])
	found, dropped, err := distinct(ctx, t, result, from, between)
	t.result.Total.Add(between.Counts())
	if err != nil {
		return from, err
	}
	for _, c := range dropped {
		c.rows = len(rows)
		t.dropped = append(t.dropped, c)
	}
	t.result.Path[len(t.result.Path)-1].Optima = len(found)
	return found, nil
}

// shortlist returns the candidates that continue over all rows: the best ends of the last stage,
// which had the given number of rows, at most as many as the requested starts.
func shortlist(t *tuner, found []candidate, rows int) []candidate {
	keep := min(len(found), 1+t.Restarts)
	for keep > 1 && found[keep-1].f > found[0].f+hopeless {
		keep--
	}
	for _, c := range found[keep:] {
		c.rows, c.left = rows, true
		t.dropped = append(t.dropped, c)
	}
	return found[:keep:keep]
}

// With few rows, many starts take a few steps each, every one on a random half of the rows of its
// own: on the same half, all starts may converge to an optimum that is not the best. The fewest rows
// are not halved. The halves only prepare. A value over all rows decides which starts race over all
// rows, and it also compares where a start began with where its half led it, so that a half cannot
// undo a good start.

// half is the outcome of a start on its half of the rows.
type half struct {
	candidate
	result *descent.Result // nil if the start could not begin
	rows   int
	first  float64 // the value on the half where the start began
	// full is the value over all rows, +Inf before it is known, and end where the half led;
	// values counts such values.
	full, end float64
	values    descent.Evaluations
}

// halves prepares each candidate on half of the rows and returns the candidates that
// line up over all rows. The given start is always one of them, unchanged.
func (t *tuner) halves(ctx context.Context, from []candidate) ([]candidate, error) {
	began := time.Now()
	done := make([]half, len(from))
	subset, _ := subsetSize(t.rows)
	workers := matrixrows.All(t.problem.Workers(subset))
	err := descent.SideBySide(ctx, len(done), workers, func(ctx context.Context, worker, k int) error {
		done[k].candidate, done[k].full, done[k].end = from[k], math.Inf(1), math.Inf(1)
		return descendHalf(ctx, t, worker, &done[k], k)
	})
	best := recordHalves(t, done, began)
	if err == nil && subset < t.rows {
		err = compareHalves(ctx, t, done, from)
	}
	if err != nil {
		if best >= 0 {
			return []candidate{done[best].candidate}, err // the best so far
		}
		return from, err
	}
	return finalists(t, done, from), nil
}

// descendHalf runs the descent of start k.
func descendHalf(ctx context.Context, t *tuner, worker int, h *half, k int) error {
	subset, most := subsetSize(t.rows)
	rows := t.order(halfStream + uint64(k)).first(subset)
	h.rows = len(rows)
	o, err := t.problem.Open(ctx, worker, rows)
	if errors.Is(err, ErrUndetermined) {
		return nil
	}
	if err != nil {
		return err
	}
	defer o.Close()
	settings := t.looseDescents(len(rows))
	settings.MaxEvaluations = min(cmp.Or(settings.MaxEvaluations, most), most)
	callback := settings.Callback
	settings.Callback = func(it descent.Iteration) {
		if it.Iteration == 0 {
			h.first = it.F
		}
		if it.Start = k; callback != nil {
			callback(it)
		}
	}
	result, err := t.minimize(ctx, []Session{o}, "half-"+strconv.Itoa(k), nil, []candidate{h.candidate}, settings)
	if _, undefined := descent.Undefined(err); undefined {
		return nil // not defined there on these rows: it continues unchanged
	}
	if result != nil && result.X != nil {
		h.result, h.f, h.spent = result, result.F, result.Evaluations
		if len(rows) == t.rows {
			h.full = h.f
		}
		h.Start = descent.Start{Z: t.withinReach(result.X), Metric: result.Metric.Scaled(float64(t.rows) / float64(len(rows)))}
	}
	return err
}

// recordHalves adds the descents on halves to the path and returns the index of the
// descent with the lowest value, or −1.
func recordHalves(t *tuner, done []half, began time.Time) int {
	var descents descent.Evaluations
	best := -1
	for k, h := range done {
		if h.result != nil {
			descents.Add(h.result.Evaluations)
			if best < 0 || h.f < done[best].f {
				best = k
			}
		}
	}
	if best >= 0 {
		total(t, done[best].rows).Add(descents)
		t.record(Stage{Step: "halves", Rows: done[best].rows, Starts: len(done), Z: done[best].result.X, F: done[best].f, Evaluations: descents}, began)
	}
	return best
}

// compareHalves evaluates over all rows where the half of each start led it. If its value on
// the half suggests that the start itself is about as good as the best of these, compare
// evaluates the start, too, and keeps the better.
func compareHalves(ctx context.Context, t *tuner, done []half, from []candidate) error {
	began := time.Now()
	objectives, err := t.openFull(ctx)
	if err != nil {
		return err
	}
	workers := matrixrows.All(len(objectives))
	oracle := func(worker, k int, what string) *descent.Oracle {
		return descent.NewOracle(objectives[worker], t.journal.Sequence(what+"-"+strconv.Itoa(k)))
	}
	err = descent.SideBySide(ctx, len(done), workers, func(ctx context.Context, worker, k int) error {
		ev := oracle(worker, k, "end")
		f, err := ev.Value(ctx, done[k].Z)
		if done[k].values = ev.Counts(); err == nil {
			done[k].full, done[k].end = f, f
		}
		return err
	})
	if err == nil {
		level := func(k int) float64 { // the best end of the starts that start k is compared with
			best, size := math.Inf(1), t.pool
			for size <= k {
				size += t.perRestart()
			}
			for i := range min(size, len(done)) { // other calls write other fields
				best = min(best, done[i].end)
			}
			return best
		}
		err = descent.SideBySide(ctx, len(done), workers, func(ctx context.Context, worker, k int) error {
			h := &done[k]
			if h.result == nil || !(h.first*float64(t.rows)/float64(h.rows) <= level(k)+undone) {
				return nil
			}
			ev := oracle(worker, k, "start")
			f, err := ev.Value(ctx, from[k].Z)
			h.values.Add(ev.Counts())
			if err == nil && f <= h.full {
				spent := h.spent
				h.candidate, h.full = from[k], f
				h.spent = spent
			}
			return err
		})
	}
	return recordValues(t, done, began, err)
}

// recordValues adds the values over all rows to the path.
func recordValues(t *tuner, done []half, began time.Time, err error) error {
	var values descent.Evaluations
	best := 0
	for k, h := range done {
		values.Add(h.values)
		if h.full < done[best].full {
			best = k
		}
	}
	t.result.FullSize.Add(values)
	switch known := !math.IsInf(done[best].full, 1); {
	case err != nil && known:
		t.result.X, t.result.F = done[best].Z, done[best].full // the best so far
	case err == nil && known:
		t.note(descent.Point{Z: done[best].Z, F: done[best].full})
		t.record(Stage{Step: "values", Rows: t.rows, Starts: len(done), Z: done[best].Z, F: done[best].full, Evaluations: values}, began)
	}
	return err
}

// lowestOf returns the unused start with the lowest value over all rows; −1 if none has one.
func lowestOf(done []half, used []bool) int {
	best := -1
	for i, h := range done {
		if !used[i] && !math.IsInf(h.full, 1) && (best < 0 || h.full < done[best].full) {
			best = i
		}
	}
	return best
}

// finalists returns the starts that line up over all rows, at most one of a basin: the best one, the given
// one, and the best of the others, or with a screen all that the data suggest. Each restart beyond
// leastFinals adds the best start of the pool from which it chooses, so more restarts only add some at the
// end. The best start is the first, because with a metric it soon ends, and that end stops others early.
func finalists(t *tuner, done []half, from []candidate) []candidate {
	out := []candidate{from[0]}
	out[0].Metric, out[0].spent = t.Metric, done[0].spent
	used := make([]bool, len(done))
	room := leastFinals
	for k := range t.Restarts + 1 {
		all := k == 0 && t.screened()
		if k > leastFinals {
			room++
		}
		for all || room > 0 || k == t.Restarts {
			best := lowestOf(done[:min(t.poolOf(k), len(done))], used)
			if best < 0 {
				break
			}
			used[best] = true
			c := done[best].candidate
			c.f, c.added = done[best].full, k > 0
			near := func(o candidate) bool {
				return slices.Equal(o.Z, c.Z) || c.f-o.f <= sameValue && min(o.Metric.Nats(o.Z, c.Z), c.Metric.Nats(o.Z, c.Z)) <= sameNats
			}
			if i := slices.IndexFunc(out, near); i >= 0 {
				out[i].join(c)
			} else if all || room > 0 {
				out = append(out, c)
				room--
			} else {
				c.left = true
				t.dropped = append(t.dropped, c)
			}
		}
		if all {
			room = 0
		}
	}
	if len(out) > 1 {
		out[0], out[1] = out[1], out[0]
	}
	return out
}

// nearFinals is the largest number of starts that line up without a screen, because they are near the
// best end before they descend over all rows: few rows do not tell such optima apart.
const nearFinals = 2

// startValues is the largest number of values of a start in a screen. Most need fewer than ten.
const startValues = 40

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

// halves prepares each candidate on half of the rows.
type halves struct {
	*tuner
	from []candidate
	done []half
}

// run returns the candidates that line up over all rows. The given start is always one of them, unchanged.
func (t *halves) run(ctx context.Context) ([]candidate, error) {
	began := time.Now()
	subset, _ := subsetSize(t.rows)
	workers := matrixrows.All(t.problem.Workers(subset))
	err := descent.SideBySide(ctx, len(t.done), workers, t.descendHalf)
	best := t.recordDescents(began)
	if err == nil && subset < t.rows {
		err = t.compare(ctx)
	}
	if err != nil {
		if best >= 0 {
			return []candidate{t.done[best].candidate}, err // the best so far
		}
		return t.from, err
	}
	return t.finalists(), nil
}

// descendHalf runs the descent of start k.
func (t *halves) descendHalf(ctx context.Context, worker, k int) error {
	h := &t.done[k]
	h.candidate, h.full, h.end = t.from[k], math.Inf(1), math.Inf(1)
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
		h.result, h.F, h.Evaluations = result, result.F, result.Evaluations
		if len(rows) == t.rows {
			h.full = h.F
		}
		h.Z, h.Metric = t.withinReach(result.X), result.Metric.Scaled(float64(t.rows)/float64(len(rows)))
	}
	return err
}

// recordDescents adds the descents on halves to the path and returns the index of the
// descent with the lowest value, or −1.
func (t *halves) recordDescents(began time.Time) int {
	var descents descent.Evaluations
	best := -1
	for k, h := range t.done {
		if h.result != nil {
			descents.Add(h.result.Evaluations)
			if best < 0 || h.F < t.done[best].F {
				best = k
			}
		}
	}
	if best >= 0 {
		h := t.done[best]
		t.total(h.rows).Add(descents)
		t.record(Stage{Step: "halves", Rows: h.rows, Starts: len(t.done), Z: h.result.X, F: h.F, Evaluations: descents}, began)
	}
	return best
}

// compare evaluates over all rows where the half of each start led it. If its value on
// the half suggests that the start itself is about as good as the best of these, compare
// evaluates the start, too, and keeps the better.
func (t *halves) compare(ctx context.Context) error {
	began := time.Now()
	objectives, err := t.openFull(ctx)
	if err != nil {
		return err
	}
	workers := matrixrows.All(len(objectives))
	oracle := func(worker, k int, what string) *descent.Oracle {
		return descent.NewOracle(objectives[worker], t.journal.Sequence(what+"-"+strconv.Itoa(k)))
	}
	err = descent.SideBySide(ctx, len(t.done), workers, func(ctx context.Context, worker, k int) error {
		ev := oracle(worker, k, "end")
		f, err := ev.Value(ctx, t.done[k].Z)
		if t.done[k].values = ev.Counts(); err == nil {
			t.done[k].full, t.done[k].end = f, f
		}
		return err
	})
	if err == nil {
		level := func(k int) float64 { // the best end of the starts that start k is compared with
			best, size := math.Inf(1), t.pool
			for size <= k {
				size += t.perRestart()
			}
			for i := range min(size, len(t.done)) { // other calls write other fields
				best = min(best, t.done[i].end)
			}
			return best
		}
		err = descent.SideBySide(ctx, len(t.done), workers, func(ctx context.Context, worker, k int) error {
			h := &t.done[k]
			if h.result == nil || !(h.first*float64(t.rows)/float64(h.rows) <= level(k)+undone) {
				return nil
			}
			ev := oracle(worker, k, "start")
			f, err := ev.Value(ctx, t.from[k].Z)
			h.values.Add(ev.Counts())
			if err == nil && f <= h.full {
				spent := h.Evaluations
				h.candidate, h.full = t.from[k], f
				h.Evaluations = spent
			}
			return err
		})
	}
	return t.recordValues(began, err)
}

// recordValues adds the values over all rows to the path.
func (t *halves) recordValues(began time.Time, err error) error {
	var values descent.Evaluations
	best := 0
	for k, h := range t.done {
		values.Add(h.values)
		if h.full < t.done[best].full {
			best = k
		}
	}
	t.result.FullSize.Add(values)
	switch known := !math.IsInf(t.done[best].full, 1); {
	case err != nil && known:
		t.result.X, t.result.F = t.done[best].Z, t.done[best].full // the best so far
	case err == nil && known:
		t.note(descent.Point{Z: t.done[best].Z, F: t.done[best].full})
		t.record(Stage{Step: "values", Rows: t.rows, Starts: len(t.done), Z: t.done[best].Z, F: t.done[best].full, Evaluations: values}, began)
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
func (t *halves) finalists() []candidate {
	out := []candidate{t.from[0]}
	out[0].Metric, out[0].Evaluations = t.Metric, t.done[0].Evaluations
	used := make([]bool, len(t.done))
	room := leastFinals
	for k := range t.Restarts + 1 {
		all := k == 0 && t.screened()
		if k > leastFinals {
			room++
		}
		for all || room > 0 || k == t.Restarts {
			best := lowestOf(t.done[:min(t.poolOf(k), len(t.done))], used)
			if best < 0 {
				break
			}
			used[best] = true
			c := t.done[best].candidate
			c.F, c.added = t.done[best].full, k > 0
			near := func(o candidate) bool {
				return slices.Equal(o.Z, c.Z) || c.F-o.F <= sameValue && min(o.Metric.Nats(o.Z, c.Z), c.Metric.Nats(o.Z, c.Z)) <= sameNats
			}
			if i := slices.IndexFunc(out, near); i >= 0 {
				out[i].join(c)
			} else if all || room > 0 {
				out = append(out, c)
				room--
			} else {
				c.Dropped = true
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

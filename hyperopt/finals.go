package hyperopt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"gpfit/hyperopt/descent"
)

// Below coarseFrom rows, starts over all rows line up. Each descends until it converges or the
// ends before it show that it cannot become the best; the starts after it never matter. So the
// fit with fewer restarts is part of the fit with more, which can only end lower. From wholeUpTo rows
// on, the third start and those after it first have to come near the best end on fewer rows.

// finals takes the starts over all rows to their ends. found are the candidates in the order of the
// result's starts.
type finals struct {
	*tuner
	objectives []Session
	found      []candidate
	improved   float64 // the end whose alternatives were tried
	seconded   bool    // the alternatives to the second end were tried
}

// run runs the descents over all rows, also from alternatives to the best end.
func (t *finals) run(ctx context.Context) error {
	settings := t.descents()
	settings.Race = t.raced()
	if !t.lined() {
		if err := t.descendAllRows(ctx, t.found, "descent", settings); err != nil {
			return err
		}
		return t.improve(ctx)
	}
	t.improved = math.Inf(1)
	waiting := t.found[1:]
	t.found = t.found[:1:1]
	err := t.descendAllRows(ctx, t.found, "descent", settings)
	if err == nil && len(waiting) > 0 { // the given start, or the best other one
		err = t.descendInBlocks(ctx, waiting[:1], settings)
		waiting = waiting[1:]
	}
	if err == nil && t.screened() {
		near := 0
		for near < min(nearFinals, len(waiting)) && !waiting[near].added && waiting[near].F <= t.result.F+hopeless {
			near++
		}
		err = t.descendInBlocks(ctx, waiting[:near], settings)
		waiting = waiting[near:]
	}
	own := len(slices.DeleteFunc(slices.Clone(waiting), func(c candidate) bool { return c.added })) // the added ones are the last
	if err == nil && t.screened() && own > 0 && !t.ended() {
		var worth []candidate
		worth, err = t.screenStarts(ctx, waiting[:own])
		waiting = slices.Concat(worth, waiting[own:])
	}
	if err == nil {
		err = t.descendInBlocks(ctx, waiting, settings)
	}
	if err == nil && t.result.F < t.improved {
		err = t.improve(ctx)
	}
	if err == nil && t.Restarts > 0 {
		err = t.second(ctx)
	}
	return err
}

// ended reports whether no more starts may descend.
func (t *finals) ended() bool {
	return t.anew || t.result.Status == descent.StatusCancelled || t.Beat != nil && t.result.F > *t.Beat+lost
}

// lost is the distance above Settings.Beat from which on other starts will not make up for it: they seldom end
// by so much lower.
const lost = 50

// descendInBlocks runs descents over all rows, in blocks, and after each what follows from its end.
func (t *finals) descendInBlocks(ctx context.Context, waiting []candidate, settings descent.Options) (err error) {
	for err == nil && len(waiting) > 0 && !t.ended() {
		next := waiting[:min(block, len(waiting))]
		waiting = waiting[len(next):]
		began := time.Now()
		var result *descent.Result
		result, err = t.minimize(ctx, t.objectives, "descent", slices.Clip(t.result.Starts), next, settings)
		if _, undefined := descent.Undefined(err); undefined {
			if err = nil; slices.ContainsFunc(next, func(c candidate) bool { return slices.Equal(c.Z, t.starts[0]) }) {
				t.result.Warnings = append(t.result.Warnings, "the objective is not defined at the start values: the fit began at other starts")
			}
		}
		for k := 0; result != nil && k < len(result.Starts); k++ { // each as if the next ones did not exist
			if err == nil && next[k].added {
				err = t.second(ctx)
			}
			t.found = append(slices.Clone(t.found), next[k])
			t.addDescents(Stage{Step: "descent"}, only(result, k), began)
			if err == nil && t.result.F < t.improved {
				err = t.improve(ctx)
			}
			if err == nil {
				err = t.beyond(ctx)
			}
		}
	}
	return err
}

// descendAllRows runs descents over all rows. If the earlier stages led to a point where the
// objective is not defined over all rows, it starts over at the start values.
func (t *finals) descendAllRows(ctx context.Context, from []candidate, step string, settings descent.Options) error {
	began := time.Now()
	result, err := t.minimize(ctx, t.objectives, step, nil, from, settings)
	if result == nil {
		return err
	}
	t.result.FullSize.Add(result.Evaluations)
	if begin, undefined := descent.Undefined(err); undefined && len(t.result.Path) > 0 && !t.anew {
		t.anew = true
		own := []candidate{reached(t.starts[0], math.Inf(1), nil)}
		own[0].Starts = from[0].Starts
		err := t.descendAllRows(ctx, own, step+"-anew", settings)
		t.result.Warnings = append(t.result.Warnings, fmt.Sprintf("the objective is not defined over all rows at the optimum of fewer rows: the fit started over at the start values (%v)", begin.Err))
		return err
	}
	t.result.Result = *result
	if result.X != nil {
		t.record(Stage{Step: step, Rows: t.rows, Starts: len(result.Starts), Z: result.X, F: result.F, Evaluations: result.Evaluations}, began)
	}
	return err
}

// descendMore descends over all rows from more starts and adds their outcomes to the result and
// the starts to found. It records a step. The result is nil if no descent ran.
func (t *finals) descendMore(ctx context.Context, step Stage, settings descent.Options, from ...candidate) (*descent.Result, error) {
	began := time.Now()
	result, err := t.minimize(ctx, t.objectives, step.Step, slices.Clip(t.result.Starts), from, settings)
	if result == nil {
		return nil, err
	}
	t.addDescents(step, result, began)
	t.found = append(slices.Clone(t.found), from[:len(result.Starts)]...)
	if result.X == nil {
		result = nil
	}
	return result, err
}

// only returns the part of start k in the result of descents over all rows.
func only(r *descent.Result, k int) *descent.Result {
	one := *r
	one.Starts, one.BestStart, one.StartResult = r.Starts[k:k+1], 0, r.Starts[k]
	if one.Warnings = nil; k == 0 {
		one.Warnings = r.Warnings
	}
	return &one
}

// addDescents adds the outcomes of descents over all rows to the result, and a step to the path.
func (t *finals) addDescents(step Stage, result *descent.Result, began time.Time) {
	all := &t.result.Result
	t.result.FullSize.Add(result.Evaluations)
	all.Starts = append(slices.Clip(all.Starts), result.Starts...)
	all.Iterations += result.Iterations
	all.Evaluations.Add(result.Evaluations)
	all.Warnings = append(slices.Clip(all.Warnings), result.Warnings...)
	if result.X != nil && result.F < all.F {
		iterations, evaluations, warnings := all.Iterations, all.Evaluations, all.Warnings
		all.StartResult, all.BestStart = result.StartResult, len(all.Starts)-len(result.Starts)+result.BestStart
		all.Iterations, all.Evaluations, all.Warnings = iterations, evaluations, warnings
	}
	step.Rows, step.Starts, step.Z, step.F = t.rows, len(result.Starts), all.X, all.F
	step.Evaluations = result.Evaluations
	t.record(step, began)
}

// All starts may miss an optimum where the model explains the data in a similar way to the best
// end: another multiple of a period. So alternatives to the best end descend on few rows, together with
// that end itself. Values over all rows of the alternatives that come near decide which go on.
// This repeats from each better end.

// mostImprovements is the largest number of times that alternatives lead to a better end, each of which
// has alternatives of its own.
const mostImprovements = 8

// improve descends from alternatives to the best end until none leads to a better one, and adds
// their outcomes to the result and their starts to found.
func (t *finals) improve(ctx context.Context) error {
	defer func() { t.improved = t.result.F }()
	for range mostImprovements {
		if !t.racing() || !t.result.Status.Converged() || t.ended() {
			return nil
		}
		best := t.result.F
		if err := t.tryAlternatives(ctx, t.result.StartResult); err != nil || !(t.result.F < best-sameRidge) {
			return err
		}
	}
	return nil
}

// tryAlternatives descends from alternatives to an end. It adds their outcomes to the result and their starts
// to the candidates found. The far ones descend on few rows first.
func (t *finals) tryAlternatives(ctx context.Context, end descent.StartResult) error {
	began := time.Now()
	t.screens++
	name := "screen-" + strconv.Itoa(t.screens)
	worth, others, step, err := t.alternatives(ctx, name, end)
	if err == nil && len(others) > 0 {
		_, others, err = t.onFewer(ctx, name, others, 0)
		others = slices.DeleteFunc(others, func(c candidate) bool { return c.Dropped || c.same })
	}
	for k := 0; k < len(others) && err == nil; k++ {
		if err = t.value(ctx, name+"-end-"+strconv.Itoa(k), &others[k], &step); err == nil && others[k].F <= t.result.F+worthwhile {
			worth = append(worth, others[k])
		}
	}
	t.result.FullSize.Add(step.Evaluations)
	if err != nil || step.Step == "" {
		return err
	}
	step.Rows, step.Z, step.F = t.rows, t.result.X, t.result.F
	t.record(step, began)
	settings := t.descents()
	settings.Race = true
	slices.SortStableFunc(worth, func(a, b candidate) int { return cmp.Compare(a.F, b.F) })
	for _, c := range worth[:min(len(worth), mostWorth)] {
		if _, err = t.descendMore(ctx, Stage{Step: step.Step}, settings, c); err != nil {
			return err
		}
	}
	return nil
}

// second descends, once in a fit with restarts, from alternatives to the second of the ends that are about
// as low as the best one: it may be nearer to a better optimum.
func (t *finals) second(ctx context.Context) error {
	if t.seconded || !t.racing() || !t.result.Status.Converged() {
		return nil
	}
	t.seconded = true
	best := t.result.StartResult
	ends := slices.DeleteFunc(slices.Clone(t.result.Starts), func(s descent.StartResult) bool {
		return s.X == nil || s.Status == descent.StatusMerged || !(s.F > best.F+sameRidge && s.F <= best.F+worthwhile)
	})
	slices.SortStableFunc(ends, func(a, b descent.StartResult) int { return cmp.Compare(a.F, b.F) })
	between := t.basins("second", t.objectives[0])
	defer func() { t.result.FullSize.Add(between.Counts()) }()
	for _, s := range ends {
		one, err := between.same(ctx, endOf(best), endOf(s))
		if err != nil {
			return err
		}
		if !one {
			err = t.tryAlternatives(ctx, s)
			if err == nil && t.result.F < best.F-sameRidge {
				err = t.improve(ctx)
			}
			return err
		}
	}
	return nil
}

// endOf returns the end of a descent as a candidate.
func endOf(s descent.StartResult) candidate {
	return candidate{Optimum: Optimum{Z: s.X, F: s.F, Dropped: s.Status == descent.StatusDropped}, Metric: s.Metric}
}

// alternatives returns the alternatives to an end that are worth a descent over all rows, the others that may
// become so, and the step that begins with values over all rows.
func (t *finals) alternatives(ctx context.Context, name string, end descent.StartResult) (worth, others []candidate, step Stage, err error) {
	near, far := t.problem.Alternatives(end.X)
	if len(near)+len(far) > 0 {
		step.Step = "alternatives"
	}
	for k, z := range slices.Concat(near, far) {
		// With the metric of the end it is judged soon, and its first steps are Newton's.
		c := reached(z, math.Inf(1), end.Metric)
		direct := k < len(near) && !t.many()
		if direct {
			if err = t.value(ctx, name+"-near-"+strconv.Itoa(k), &c, &step); err != nil {
				return nil, nil, step, err
			}
		}
		switch {
		case direct && c.F <= t.result.F+worthwhile:
			worth = append(worth, c)
		case !direct || c.F <= t.result.F+farAway:
			others = append(others, c)
		}
	}
	return worth, others, step, nil
}

// value gives a candidate its value over all rows if that is not known, and counts it in a step.
func (t *finals) value(ctx context.Context, stream string, c *candidate, step *Stage) (err error) {
	if math.IsInf(c.F, 1) {
		ev := descent.NewOracle(t.objectives[0], t.journal.Sequence(stream))
		c.F, err = ev.Value(ctx, c.Z)
		step.Evaluations.Add(ev.Counts())
	}
	return err
}

// Near alternatives whose value is further above the best end than farAway never led to a better
// end. mostWorth is the largest number that descend over all rows at once.
const (
	farAway   = 100
	mostWorth = 3
)

// With many rows, alternatives descend on screenRows of them, and only an alternative that ends
// there by more than worthRows below the best end itself is worth a value over all rows.
const (
	screenRows = 1000
	worthRows  = 0.5
)

// onFewer descends from candidates, with at most the given values each or with the usual number, and from
// the best end on few rows. It returns where the best end leads there, and the ends of the others:
// an end that stays far above that one is left, and an end at its optimum is the same.
func (t *finals) onFewer(ctx context.Context, name string, others []candidate, values int) (own candidate, ends []candidate, err error) {
	own = endOf(t.result.StartResult)
	if t.rows < halvesFrom {
		return own, others, nil
	}
	began := time.Now()
	subset, most := subsetSize(t.rows)
	rows := t.order(screenStream + uint64(t.screens)).first(min(screenRows, subset))
	objectives, err := t.open(ctx, rows, len(others))
	if errors.Is(err, ErrUndetermined) {
		return own, others, nil
	}
	if err != nil {
		return own, nil, err
	}
	defer closeSessions(objectives)
	settings := t.looseDescents(len(rows))
	most = max(most, values)
	settings.MaxEvaluations = min(cmp.Or(settings.MaxEvaluations, most), most)
	share := float64(len(rows)) / float64(t.rows)
	reference, spent := &t.result.Result, descent.Evaluations{} // the best end there
	if share < 1 {
		own.Metric = own.Metric.Scaled(share)
		if reference, err = t.minimize(ctx, objectives, name, nil, []candidate{own}, settings); reference == nil || err != nil {
			return own, nil, unlessUndefined(err)
		}
		own = endOf(reference.StartResult)
		spent.Add(reference.Evaluations)
	}
	settings.Race, settings.Reach = true, hopeless
	reach := reference.F + hopeless
	if t.many() && values == 0 {
		settings.Reach, reach = 0, reference.F-worthRows
	}
	result, err := t.minimize(ctx, objectives, name, reference.Starts, others, settings)
	if err = unlessUndefined(err); result == nil {
		return own, nil, err
	}
	spent.Add(result.Evaluations)
	between := t.basins(name, objectives[0])
	for k, s := range result.Starts {
		c := others[k]
		c.Rows = len(rows)
		c.Dropped = s.X == nil || s.Status == descent.StatusDropped || s.F > reach
		if c.Evaluations.Add(s.Evaluations); s.X != nil {
			c.Z, c.F, c.Metric = s.X, s.F, s.Metric
		}
		if c.same = s.Status == descent.StatusMerged; !c.Dropped && !c.same && share < 1 && err == nil {
			c.same, err = between.known(ctx, append([]candidate{own}, ends...), c)
		}
		ends = append(ends, c)
	}
	spent.Add(between.Counts())
	t.total(len(rows)).Add(spent)
	t.record(Stage{Step: "screen", Rows: len(rows), Starts: len(others), Z: reference.X, F: reference.F, Evaluations: spent}, began)
	for k := range ends {
		c := &ends[k]
		if c.Dropped || c.same {
			continue
		}
		c.Z, c.Metric = t.withinReach(c.Z), c.Metric.Scaled(1/share)
		if c.Rows = 0; share < 1 {
			c.F = math.Inf(1)
		}
	}
	return own, ends, err
}

// screenStarts compares starts with the best end on fewer rows and returns the starts whose ends there are
// about as good over all rows as the end of the best one. It counts the others.
func (t *finals) screenStarts(ctx context.Context, waiting []candidate) (worth []candidate, err error) {
	began := time.Now()
	subset, _ := subsetSize(t.rows)
	from := slices.Clone(waiting)
	for k := range from {
		from[k].Metric = from[k].Metric.Scaled(float64(subset) / float64(t.rows))
	}
	own, ends, err := t.onFewer(ctx, "starts", from, startValues)
	if err != nil || len(ends) == 0 {
		return nil, err
	}
	ev := descent.NewOracle(t.objectives[0], t.journal.Sequence("starts-values"))
	level, err := ev.Value(ctx, t.withinReach(own.Z))
	for _, c := range ends {
		if !c.Dropped && !c.same && err == nil {
			if c.F, err = ev.Value(ctx, c.Z); c.F <= level+worthwhile {
				worth = append(worth, c)
				continue
			}
			c.Dropped = true
		}
		if c.same {
			t.found[t.result.BestStart].join(c)
		} else {
			t.dropped = append(t.dropped, c)
		}
	}
	t.result.FullSize.Add(ev.Counts())
	t.record(Stage{Step: "values", Rows: t.rows, Starts: len(worth), Z: t.result.X, F: t.result.F, Evaluations: ev.Counts()}, began)
	return worth, err
}

// Where rounding stops descents in a narrow valley, as with almost no noise, they end one behind another
// along it. So a fit that ends so goes on from the best end, away from the next one, while values fall.

// beyondFirst is the first step, in units of the distance of the two ends; each further one is twice as long.
const beyondFirst = 0.2

// beyond descends from the lowest value on the line from the next end through the best one, while that
// gains, if the best descent has stalled.
func (t *finals) beyond(ctx context.Context) error {
	for last := math.Inf(1); t.racing() && t.result.Status == descent.StatusStalled && t.result.F < last-sameRidge; {
		last = t.result.F
		began := time.Now()
		t.screens++
		ev := descent.NewOracle(t.objectives[0], t.journal.Sequence("beyond-"+strconv.Itoa(t.screens)))
		c, err := t.lowestBeyond(ctx, ev)
		t.result.FullSize.Add(ev.Counts())
		t.record(Stage{Step: "alternatives", Rows: t.rows, Z: t.result.X, F: last, Evaluations: ev.Counts()}, began)
		if err != nil || !(c.F < last) {
			return err
		}
		if _, err = t.descendMore(ctx, Stage{Step: "alternatives"}, t.descents(), c); err != nil {
			return err
		}
	}
	return nil
}

// lowestBeyond returns the last of the points on the line whose values fall.
func (t *finals) lowestBeyond(ctx context.Context, ev *descent.Oracle) (candidate, error) {
	best, next := t.result.StartResult, descent.StartResult{F: math.Inf(1)}
	for _, s := range t.result.Starts {
		if s.X != nil && s.F > best.F+sameRidge && s.F < next.F {
			next = s
		}
	}
	c := reached(best.X, best.F, nil)
	for step := beyondFirst; next.X != nil; step *= 2 {
		z := slices.Clone(best.X)
		for i, p := range t.params {
			if !p.Fixed {
				z[i] = min(max(z[i]+step*(z[i]-next.X[i]), p.Z(p.Lower)), p.Z(p.Upper))
			}
		}
		f, err := ev.Value(ctx, z)
		if err != nil || !(f < c.F) {
			return c, err
		}
		c.Z, c.F = z, f
	}
	return c, nil
}

// unlessUndefined returns nil for the error that the objective is not defined at any start.
func unlessUndefined(err error) error {
	if _, undefined := descent.Undefined(err); undefined {
		return nil
	}
	return err
}

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
// fit with fewer restarts is part of the fit with more, which can only end lower.

// finals runs the descents over all rows, also from alternatives to the best end. It
// returns the candidates of all of them, in the order of the result's starts.
func finals(ctx context.Context, t *tuner, objectives []Session, found []candidate) ([]candidate, error) {
	settings := t.descents()
	settings.Race = t.raced()
	if !t.lined() {
		if err := overAll(ctx, t, objectives, found, "descent", settings); err != nil {
			return found, err
		}
		return improve(ctx, t, objectives, found)
	}
	err := overAll(ctx, t, objectives, found[:1], "descent", settings)
	done, waiting, improved := found[:1:1], found[1:], math.Inf(1)
	for size := 1; err == nil && len(waiting) > 0 && !t.anew && t.result.Status != descent.StatusCancelled; size = block {
		next := waiting[:min(size, len(waiting))]
		waiting = waiting[len(next):]
		began := time.Now()
		var result *descent.Result
		result, err = t.minimize(ctx, objectives, "descent", slices.Clip(t.result.Starts), next, settings)
		if err != nil && undefined(err) == nil {
			if err = nil; slices.ContainsFunc(next, func(c candidate) bool { return slices.Equal(c.Z, t.starts[0]) }) {
				t.result.Warnings = append(t.result.Warnings, "the objective is not defined at the start values: the fit began at other starts")
			}
		}
		for k := 0; result != nil && k < len(result.Starts); k++ { // each as if the next ones did not exist
			done = append(slices.Clone(done), next[k])
			adopt(t, Stage{Step: "descent"}, only(result, k), began)
			if err == nil && t.result.F < improved {
				done, err = improve(ctx, t, objectives, done)
				improved = t.result.F
			}
		}
	}
	if err == nil && t.result.F < improved {
		done, err = improve(ctx, t, objectives, done)
	}
	return done, err
}

// overAll runs descents over all rows. If the earlier stages led to a point where the
// objective is not defined over all rows, it starts over at the start values.
func overAll(ctx context.Context, t *tuner, objectives []Session, from []candidate, step string, settings descent.Options) error {
	began := time.Now()
	result, err := t.minimize(ctx, objectives, step, nil, from, settings)
	if result == nil {
		return err
	}
	t.result.FullSize.Add(result.Evaluations)
	var begin *descent.StartError
	if errors.As(err, &begin) && len(t.result.Path) > 0 && !t.anew {
		t.anew = true
		own := []candidate{{Start: descent.Start{Z: t.starts[0]}, f: math.Inf(1), starts: from[0].starts}}
		err := overAll(ctx, t, objectives, own, step+"-anew", settings)
		t.result.Warnings = append(t.result.Warnings, fmt.Sprintf("the objective is not defined over all rows at the optimum of fewer rows: the fit started over at the start values (%v)", begin.Err))
		return err
	}
	t.result.Result = *result
	if result.X != nil {
		t.record(Stage{Step: step, Rows: t.rows, Starts: len(result.Starts), Z: result.X, F: result.F, Evaluations: result.Evaluations}, began)
	}
	return err
}

// further descends over all rows from more starts and adds their outcomes to the result and
// the starts to found. It records a step. The result is nil if no descent ran.
func further(ctx context.Context, t *tuner, objectives []Session, step Stage, found []candidate, settings descent.Options, from ...candidate) (*descent.Result, []candidate, error) {
	began := time.Now()
	result, err := t.minimize(ctx, objectives, step.Step, slices.Clip(t.result.Starts), from, settings)
	if result == nil {
		return nil, found, err
	}
	adopt(t, step, result, began)
	found = append(slices.Clone(found), from[:len(result.Starts)]...)
	if result.X == nil {
		result = nil
	}
	return result, found, err
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

// adopt adds the outcomes of descents over all rows to the result, and a step to the path.
func adopt(t *tuner, step Stage, result *descent.Result, began time.Time) {
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
// end: another multiple of a period. So alternatives to the best end descend on few rows, beside
// that end itself. Values over all rows of the alternatives that come near decide which go on.
// This repeats from each better end.

// mostHops is the largest number of times that alternatives lead to a better end, each of which
// has alternatives of its own.
const mostHops = 8

// improve descends from alternatives to the best end until none leads to a better one, and adds
// their outcomes to the result and their starts to found.
func improve(ctx context.Context, t *tuner, objectives []Session, found []candidate) ([]candidate, error) {
	for range mostHops {
		if !t.racing() || !t.result.Status.Converged() {
			return found, nil
		}
		best := t.result.F
		began := time.Now()
		worth, step, err := screen(ctx, t, objectives)
		t.result.FullSize.Add(step.Evaluations)
		if err != nil || step.Step == "" {
			return found, err
		}
		step.Rows, step.Z, step.F = t.rows, t.result.X, best
		t.record(step, began)
		settings := t.descents()
		settings.Race = true
		for _, c := range worth {
			if _, found, err = further(ctx, t, objectives, Stage{Step: step.Step}, found, settings, c); err != nil {
				return found, err
			}
		}
		if err != nil || !(t.result.F < best-sameRidge) {
			return found, err
		}
	}
	return found, nil
}

// screen returns the alternatives to the best end that are worth a descent over all rows, and
// the step that begins with their values over all rows.
func screen(ctx context.Context, t *tuner, objectives []Session) (worth []candidate, step Stage, err error) {
	t.screens++
	name := "screen-" + strconv.Itoa(t.screens)
	value := func(c *candidate, stream string) { // if it is not known
		if math.IsInf(c.f, 1) {
			ev := descent.NewOracle(objectives[0], t.journal.Sequence(name+stream))
			c.f, err = ev.Value(ctx, c.Z)
			step.Evaluations.Add(ev.Counts())
		}
		if err == nil && c.f <= t.result.F+worthwhile {
			worth = append(worth, *c)
		}
	}
	var others []candidate
	near, far := t.problem.Alternatives(t.result.X)
	if len(near)+len(far) > 0 {
		step.Step = "alternatives"
	}
	for k, z := range slices.Concat(near, far) {
		// With the metric of the best end it is judged soon, and its first steps are Newton's.
		c := candidate{Start: descent.Start{Z: z, Metric: t.result.Metric}, f: math.Inf(1), starts: 1}
		if k < len(near) && !t.many() {
			if value(&c, "-near-"+strconv.Itoa(k)); err != nil {
				return nil, step, err
			}
		}
		if k >= len(near) || t.many() || c.f > t.result.F+worthwhile && c.f <= t.result.F+farAway {
			others = append(others, c)
		}
	}
	if len(others) > 0 {
		others, err = onFewer(ctx, t, name, others)
	}
	for k := 0; k < len(others) && err == nil; k++ {
		value(&others[k], "-end-"+strconv.Itoa(k))
	}
	slices.SortStableFunc(worth, func(a, b candidate) int { return cmp.Compare(a.f, b.f) })
	return worth[:min(len(worth), mostWorth)], step, err
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

// many reports whether a value over all rows is too dear for each alternative.
func (t *tuner) many() bool { return t.rows >= coarseFrom || t.Coarse == CoarseOn }

// onFewer descends from alternatives to the best end on few rows and returns the ends that are
// not far above where the best end itself leads there.
func onFewer(ctx context.Context, t *tuner, name string, others []candidate) ([]candidate, error) {
	if t.rows < halvesFrom {
		return others, nil
	}
	began := time.Now()
	few, most := fewer(t.rows)
	rows := t.order(screenStream + uint64(t.screens)).first(min(screenRows, few))
	objectives, err := t.open(ctx, rows, len(others))
	if errors.Is(err, ErrUndetermined) {
		return others, nil
	}
	if err != nil {
		return nil, err
	}
	defer closeSessions(objectives)
	settings := t.looseDescents(len(rows))
	settings.MaxEvaluations = min(cmp.Or(settings.MaxEvaluations, most), most)
	share := float64(len(rows)) / float64(t.rows)
	reference, spent := &t.result.Result, descent.Evaluations{} // the best end there
	if share < 1 {
		own := candidate{Start: descent.Start{Z: t.result.X, Metric: t.result.Metric.Scaled(share)}}
		if reference, err = t.minimize(ctx, objectives, name, nil, []candidate{own}, settings); reference == nil || err != nil {
			return nil, undefined(err)
		}
		spent.Add(reference.Evaluations)
	}
	settings.Race, settings.Reach = true, hopeless
	reach := reference.F + hopeless
	if t.many() {
		settings.Reach, reach = 0, reference.F-worthRows
	}
	result, err := t.minimize(ctx, objectives, name, reference.Starts, others, settings)
	if err = undefined(err); result == nil {
		return nil, err
	}
	spent.Add(result.Evaluations)
	total(t, len(rows)).Add(spent)
	t.record(Stage{Step: "screen", Rows: len(rows), Starts: len(others), Z: reference.X, F: reference.F, Evaluations: spent}, began)
	var out []candidate
	for k, s := range result.Starts {
		if s.X != nil && s.Status != descent.StatusDropped && s.Status != descent.StatusMerged && s.F <= reach {
			c := others[k]
			c.Start, c.spent = descent.Start{Z: t.withinReach(s.X), Metric: s.Metric.Scaled(1 / share)}, s.Evaluations
			if c.f = math.Inf(1); share == 1 {
				c.f = s.F
			}
			out = append(out, c)
		}
	}
	return out, err
}

// undefined returns nil for the error that the objective is not defined at any start.
func undefined(err error) error {
	var begin *descent.StartError
	if errors.As(err, &begin) {
		return nil
	}
	return err
}

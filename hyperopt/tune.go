package hyperopt

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gpfit/hyperopt/descent"
	"gpfit/hyperopt/journal"
)

// Tune minimizes the problem's objective over all rows. The journal, which may be
// nil, records the evaluations. With an error, the result holds the best point
// until then, unless X is nil; F is NaN if the point comes from a smaller stage.
// The error is the context's if the run was cancelled, [*descent.StartError] if the
// objective is not defined at any start, and otherwise the objective's error.
func Tune(ctx context.Context, p Problem, s Settings, j *journal.Journal) (*Result, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	t := &tuner{plan: plan{Settings: s, rows: p.Rows()}, problem: p, params: p.Parameters(), journal: j}
	t.result = &Result{Result: descent.Result{BestStart: -1, StartResult: descent.StartResult{
		F: math.NaN(), Status: descent.StatusCancelled, GradientNorm: math.NaN(), RelativeChange: math.NaN(),
	}}}
	for _, q := range t.params {
		if !q.Fixed {
			t.free++
		}
	}
	if together, ok := p.(Structured); ok {
		t.equal = together.EqualRows()
	}
	t.prepare()
	found, sizes, err := t.candidates(ctx)
	switch {
	case err != nil:
	case t.halved():
		found, err = (&halves{t, found, make([]half, len(found))}).run(ctx)
	default:
		found, err = t.stages(ctx, sizes, found)
	}
	if err == nil {
		err = t.finish(ctx, found)
	} else if t.result.X == nil && found != nil && !math.IsInf(found[0].F, 1) {
		t.result.X = found[0].Z
	}
	told := map[string]int{}
	t.result.Warnings = slices.DeleteFunc(slices.Clone(t.result.Warnings), func(w string) bool { told[w]++; return told[w] > 1 })
	t.result.Total.Add(t.result.FullSize)
	if t.raced() {
		t.result.Starts = nil
	}
	return t.result, err
}

// prepare lists the starts, and the rows that stay together if there are subsets.
// Without restarts the only other starts are the problem's suggestions.
func (t *tuner) prepare() {
	var suggested [][]float64
	if t.Restarts > 0 || t.racing() {
		suggested, t.pool = t.problem.Starts()
		suggested = suggested[:min(t.pool, len(suggested))]
		t.pool++
	}
	n := t.startCount()
	if t.Restarts == 0 {
		n = min(n, 1+len(suggested))
	}
	t.starts, t.suggested = starts(t.params, suggested, t.Seed, n), len(suggested)
	t.count = len(t.starts)
	if t.raced() || len(t.stageSizes()) > 0 {
		t.groups = grouped(t.problem.Groups())
	}
}

// candidates returns the starts, and the numbers of rows of the stages before all rows.
func (t *tuner) candidates(ctx context.Context) (found []candidate, sizes []int, err error) {
	if sizes = t.stageSizes(); len(sizes) > 0 {
		if err := t.problem.Room(ctx, min(t.problem.Workers(t.rows), 1+t.Restarts)); err != nil {
			return nil, nil, err
		}
	}
	for k, z := range t.starts {
		c := reached(z, math.Inf(1), nil)
		c.added = k >= t.pool
		if k > t.suggested { // the given start is the first
			c.Drawn = 1
		}
		found = append(found, c)
	}
	if len(sizes) == 0 && !t.halved() {
		found[0].Metric = t.Metric
	}
	return found, sizes, nil
}

// finish runs the descents over all rows. They end cleanly if ctx is done, so
// that the best point can be reported.
func (t *tuner) finish(ctx context.Context, found []candidate) error {
	objectives, err := t.openFull(context.WithoutCancel(ctx))
	if err != nil {
		return err
	}
	last := &finals{tuner: t, objectives: objectives, found: found}
	if err := last.run(ctx); err != nil {
		return err
	}
	if err := last.plainDescent(ctx); err != nil {
		return err
	}
	between := t.basins("descent", objectives[0])
	optima, dropped, err := between.distinct(ctx, &t.result.Result, last.found)
	if err == nil {
		var more bool
		t.note(between.Best())
		if more, err = last.lowerDescent(ctx); more && err == nil {
			optima, dropped, err = between.distinct(ctx, &t.result.Result, last.found)
		}
	}
	t.result.FullSize.Add(between.Counts())
	for _, c := range slices.Concat(optima, dropped, t.dropped) {
		t.result.Optima = append(t.result.Optima, c.Optimum)
	}
	return err
}

// Expectation says about how many values a stage takes.
type Expectation struct {
	// Rows is the number of rows of the stage.
	Rows int
	// Values counts the values of all starts, most of them with a gradient.
	Values int
}

// Typical numbers of values of a descent: from start values, over all rows, a number and one more
// for each parameter; on few rows, with loose tolerances; from the optimum of half as many
// rows, with loose or final tolerances; and of further descents over all rows. Fits of the CO₂ data with 3, 5 and 6 parameters
// take 24, 44 and 40 values; of 2,600 rows with 3 to 10 parameters, in stages, 9 to 15 for each start, 4 to 12 and 2 to 5.
const (
	typicalAlone, typicalPerParameter                         = 10, 6
	typicalFirst, typicalFurther, typicalLast, typicalOverAll = 12, 7, 5, 11
	typicalStarts                                             = 8 // without restarts
)

// Expected returns the stages of a run with these settings over a number of rows, for a
// number of parameters that are not fixed. The last stage has all rows. The numbers are
// for reports of progress; a run may take twice as many.
func Expected(s Settings, rows, free int) []Expectation {
	t := &plan{Settings: s, rows: rows, free: free, pool: typicalStarts}
	t.count = t.startCount()
	finals, alone := t.finals(), typicalAlone+typicalPerParameter*free
	check := 0
	if s.Coarse == CoarseCheck {
		check = alone
	}
	if t.halved() {
		subset, evaluations := subsetSize(t.rows)
		return []Expectation{{subset, evaluations * t.count},
			{rows, t.count + alone + typicalOverAll*(finals-1) + check}}
	}
	sizes := t.stageSizes()
	switch {
	case t.lined():
		return []Expectation{{rows, alone + typicalOverAll*(finals-1) + check}}
	case len(sizes) == 0:
		return []Expectation{{rows, alone * finals}}
	}
	out := []Expectation{{sizes[0], typicalFirst * t.count}}
	for _, m := range sizes[1:] {
		out = append(out, Expectation{m, typicalFurther * finals})
	}
	return append(out, Expectation{rows, typicalLast*finals + check})
}

// throughSubsets reports whether descents on fewer rows chose where descents over all
// rows began, so that none of these is the descent from the start values: it did not
// begin, or a race stopped it.
func (t *finals) throughSubsets() bool {
	switch {
	case t.anew:
		return false
	case t.lined():
		own := slices.IndexFunc(t.result.Starts, func(r descent.StartResult) bool { return slices.Equal(r.Start, t.starts[0]) })
		return own < 0 || t.result.Starts[own].Status == descent.StatusDropped
	}
	return slices.ContainsFunc(t.result.Path, func(s Stage) bool { return s.Rows < t.rows })
}

// plainDescent makes the descent from the start values over all rows, if the settings ask for the
// comparison and it was not made before.
func (t *finals) plainDescent(ctx context.Context) error {
	if t.result.Subsets = t.throughSubsets(); !t.result.Subsets || t.Coarse != CoarseCheck || t.result.Status == descent.StatusCancelled {
		return nil
	}
	coarse := t.result.F
	own := reached(t.starts[0], 0, t.Metric)
	result, err := t.descendMore(ctx, Stage{Step: "plain"}, t.descents(), own)
	if begin, undefined := descent.Undefined(err); undefined {
		t.result.Warnings = append(t.result.Warnings, fmt.Sprintf("coarse to fine cannot be compared with a descent from the start values: the objective is not defined there (%v)", begin.Err))
		return nil
	}
	if result == nil {
		return err
	}
	t.result.Plain = &PlainDescent{Coarse: coarse, F: result.F}
	if above := coarse - result.F; above > sameRidge {
		t.result.Warnings = append(t.result.Warnings, fmt.Sprintf("coarse to fine ended %.2g nats above the descent from the start values over all rows, whose end the fit keeps; option coarse off makes that descent alone", above))
	}
	return err
}

// lowerDescent descends from the lowest value over all rows outside of the descents, if they ended
// above it. more is false if they did not.
func (t *finals) lowerDescent(ctx context.Context) (more bool, err error) {
	if t.lowest.Z == nil || !(t.lowest.F < t.result.F-sameRidge) || t.result.Status == descent.StatusCancelled {
		return false, nil
	}
	result, err := t.descendMore(ctx, Stage{Step: "lower"}, t.descents(), t.lowest)
	return result != nil, err
}

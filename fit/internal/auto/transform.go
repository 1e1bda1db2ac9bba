package auto

import (
	"cmp"
	"context"
	"math"
	"slices"

	"gpfit/fit/problem"
	"gpfit/fit/summary"
	"gpfit/fit/tuning"
	"gpfit/hyperopt"
	"gpfit/hyperopt/descent"
	"gpfit/hyperopt/journal"
	"gpfit/internal/matrixrows"
	"gpfit/internal/transform"
)

// transformRows is the largest number of rows on which transforms are compared. The shape of a
// target's distribution needs no more.
const transformRows = 500

// transforms is the state of a choice of a transform.
type transforms struct {
	w      *tuning.Workplace
	log    *journal.Journal
	rows   []int // of the choice; nil for all
	report summary.TransformReport
	spent  descent.Evaluations
	best   []problem.Assignment // parameters of the best
	won    *tuned               // the best, on the rows of the choice
	beat   bool                 // a transform that has lost may stop early
}

// Transform chooses the transform of the target of the job of w, and gives w the job of that transform,
// which starts at the parameters found. It must have no session yet. The scores are in original units
// and extrapolated from the rows of the choice to all: a density of the target itself, with one
// parameter more for λ. It returns what was compared and what it cost.
func Transform(ctx context.Context, w *tuning.Workplace, log *journal.Journal) (*summary.TransformReport, descent.Evaluations, error) {
	c := newTransforms(w, log)
	if err := c.all(ctx, transform.Names()...); err != nil {
		return nil, c.spent, err
	}
	job, err := c.with(c.report.Kind)
	w.Job = job
	return &c.report, c.spent, err
}

// newTransforms returns a choice on the rows of the job of w, or on some of them.
func newTransforms(w *tuning.Workplace, log *journal.Journal) *transforms {
	c := &transforms{w: w, log: log}
	if n := w.Job.N(); n > transformRows {
		c.rows = matrixrows.DrawRows(n, transformRows, w.Job.Options.Settings.Seed, 2)
	}
	return c
}

// all compares transforms with those before.
func (c *transforms) all(ctx context.Context, kinds ...transform.Name) error {
	for _, kind := range kinds {
		if kind.Positive() && !allPositive(c.w.Job) {
			c.report.Candidates = append(c.report.Candidates, summary.TransformCandidate{Kind: kind, Error: "needs positive targets"})
		} else if err := c.try(ctx, kind); err != nil {
			return err
		}
	}
	order := func(x summary.TransformCandidate) float64 {
		if x.BIC == nil {
			return math.Inf(1)
		}
		return *x.BIC
	}
	slices.SortStableFunc(c.report.Candidates, func(a, b summary.TransformCandidate) int { return cmp.Compare(order(a), order(b)) })
	c.report.Kind = c.report.Candidates[0].Kind
	return nil
}

// with returns the job with a transform.
func (c *transforms) with(kind transform.Name) (*tuning.Job, error) {
	prepared, err := c.w.Job.WithTransforms(c.w.Job.Options.InputTransform, kind, c.best)
	return c.w.Job.With(func(p *problem.Prepared) {
		if err == nil {
			*p = *prepared
		}
	}), err
}

// try tunes a transform and compares it. It passes over a later one that has no value at its start.
func (c *transforms) try(ctx context.Context, kind transform.Name) error {
	whole, err := c.with(kind)
	if err != nil {
		return err
	}
	job := whole
	if c.rows != nil {
		job = whole.With(func(p *problem.Prepared) { p.Sample, p.Experts = p.Sample.WithRows(c.rows), nil })
	}
	settings := job.Settings(c.w.Backends[0])
	if c.best != nil {
		settings.Coarse, settings.Restarts = hyperopt.CoarseOff, 0
	}
	if c.beat && settings.ToleranceNats == 0 {
		settings.ToleranceNats = hyperopt.LargeToleranceNats
	}
	if c.beat && c.won != nil {
		n, m := float64(whole.N()), float64(job.N())
		beat := (*c.report.Candidates[0].BIC-float64(whole.NumFitted())*math.Log(n))*m/(2*n) - units(job)
		settings.Beat = &beat
	}
	w := &tuning.Workplace{Job: job, Backends: c.w.Backends, Crew: c.w.Crew}
	defer w.Close()
	result, err := hyperopt.Tune(ctx, w, settings, c.log.Part("transform-"+string(kind)+"-"))
	if result != nil {
		c.spent.Add(result.Total)
	}
	one := summary.TransformCandidate{Kind: kind, Rows: job.N()}
	if undefined, ok := descent.Undefined(err); ok && c.best != nil {
		one.Error, err = undefined.Error(), nil
	} else if err == nil {
		c.score(&one, whole, job, result)
	}
	c.report.Candidates = append(c.report.Candidates, one)
	return err
}

// score completes a candidate that was tuned, and keeps its parameters if it is the best.
func (c *transforms) score(one *summary.TransformCandidate, whole, job *tuning.Job, result *hyperopt.Result) {
	n, m, p := float64(whole.N()), float64(job.N()), float64(whole.NumFitted())
	named := job.Params.Named(result.X)
	if lambda, ok := named[transform.Parameter]; ok {
		one.Lambda = &lambda
	}
	bic := p*math.Log(n) + 2*(result.F+units(job))*n/m
	for _, other := range c.report.Candidates {
		if other.BIC != nil && *other.BIC <= bic {
			one.BIC = &bic
			return
		}
	}
	delete(named, transform.Parameter)
	one.BIC, c.best, c.won = &bic, problem.FoundValues(named), &tuned{job: job, result: result}
}

// units returns what makes the objective of a job with a transform the negative logarithm of a density of the targets.
func units(job *tuning.Job) float64 {
	scaling := job.Sample.Scalings[0]
	nats := float64(job.N()) * math.Log(scaling.Unit())
	if t := scaling.Transform; t != nil && !t.Kind.Tuned() {
		nats += scaling.Volume(job.Sample.Y) // the objective has it only with λ
	}
	return nats
}

// allPositive reports whether all targets are positive, held out or not.
func allPositive(job *tuning.Job) bool { return slices.Min(job.Sample.Data.Y) > 0 }

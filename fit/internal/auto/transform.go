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
}

// Transform chooses the transform of the target of the job of w, and gives w the job of that transform,
// which starts at the parameters found. It must have no session yet. The scores are in original units
// and extrapolated from the rows of the choice to all: a density of the target itself, with one
// parameter more for λ. It returns what was compared and what it cost.
func Transform(ctx context.Context, w *tuning.Workplace, log *journal.Journal) (*summary.TransformReport, descent.Evaluations, error) {
	c := &transforms{w: w, log: log}
	if n := w.Job.N(); n > transformRows {
		c.rows = matrixrows.DrawRows(n, transformRows, w.Job.Options.Settings.Seed, 2)
	}
	for _, kind := range transform.Names() {
		if kind.Positive() && slices.Min(w.Job.Sample.Y) <= 0 {
			c.report.Candidates = append(c.report.Candidates, summary.TransformCandidate{Kind: kind, Error: "needs positive targets"})
		} else if err := c.try(ctx, kind); err != nil {
			return nil, c.spent, err
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
	job, err := c.with(c.report.Kind)
	w.Job = job
	return &c.report, c.spent, err
}

// with returns the job with a transform.
func (c *transforms) with(kind transform.Name) (*tuning.Job, error) {
	prepared, err := c.w.Job.WithTransform(kind, c.best)
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
	scaling, nats, named := job.Sample.Scalings[0], result.F, job.Params.Named(result.X)
	if lambda, ok := named[transform.Parameter]; ok {
		one.Lambda = &lambda
	}
	if nats += m * math.Log(scaling.Unit()); scaling.Transform != nil && !one.Kind.Tuned() {
		nats += scaling.Volume(job.Sample.Y) // the objective has it only with λ
	}
	bic := p*math.Log(n) + 2*nats*n/m
	for _, other := range c.report.Candidates {
		if other.BIC != nil && *other.BIC <= bic {
			one.BIC = &bic
			return
		}
	}
	delete(named, transform.Parameter)
	one.BIC, c.best = &bic, problem.FoundValues(named)
}

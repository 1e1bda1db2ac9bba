package fit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"gpfit/fit/problem"
	"gpfit/fit/summary"
	"gpfit/fit/tuning"
	"gpfit/gp"
	"gpfit/hyperopt/descent"
	"gpfit/hyperopt/journal"
	"gpfit/mean"
)

// A closing is the work after tuning: the model, and then the report on it.
type closing struct {
	found
	w   *tuning.Workplace
	s   *tuning.Placement
	ev  *descent.Oracle
	log *journal.Journal // may be nil
	// scores has an element for each optimum, empty for the result, and bounds has tests of parameters at bounds.
	scores []optimumScores
	bounds boundTests
	// cancelled is the error of a run that ended early, or nil.
	cancelled error
	// disproved says that the kernel is no covariance function at the result.
	disproved bool
	// out is the outcome to complete, settled the counts before that, and stdErrors what explain adds to its report.
	out       *Outcome
	settled   descent.Evaluations
	stdErrors *summary.StdErrors
}

// settle evaluates the result once more and returns an outcome with the model. Its report lacks all
// that [Outcome.Complete] adds.
func (c *closing) settle(ctx context.Context) (*Outcome, error) {
	var err error
	if c.s, err = c.w.First(ctx); err != nil {
		return nil, err
	}
	c.ev = descent.NewOracle(c.s, nil)
	if err := c.evaluate(ctx); err != nil {
		return nil, err
	}
	c.s.WarnCondition(ctx)
	c.s.WarnGradient(c.result.Gradient)
	model := c.s.Model(c.result.X, c.result.Status.String())
	if err := c.ask(ctx, model); err != nil {
		return nil, err
	}
	if columns := exactColumns(c.w.Job.Prepared, model); columns != nil {
		c.s.Warnings = append(c.s.Warnings, fmt.Sprintf("the target is a linear function of %s, up to rounding: the mean is exact. If one of them was computed from the target, leave it out (option features)", problem.Listed(columns)))
	}
	out := &Outcome{Report: c.report(), Model: model, Job: c.w.Job}
	c.settled = c.ev.Counts()
	out.complete = func(ctx context.Context) (error, error) {
		err := c.complete(ctx, out)
		if err != nil {
			err = c.failed(err)
		}
		return c.cancelled, err
	}
	return out, nil
}

// notInMean is the largest coefficient of a standardized column that counts as rounding.
const notInMean = 1e-7

// exactColumns names the columns that the mean uses, if it leaves only rounding of the targets; nil otherwise.
func exactColumns(j *problem.Prepared, m *gp.Model) (columns []string) {
	if !j.Model.Explains(j.Sample) {
		return nil
	}
	for k, f := range m.Mean.Basis {
		if f.Group != mean.Constant && math.Abs(m.Mean.Coefficients[k]) > notInMean {
			columns = append(columns, columnName(j, f.Column))
		}
	}
	return columns
}

// ask asks the gate whether the model may be written. A kernel that is no covariance function costs a warning at least.
func (c *closing) ask(ctx context.Context, m *gp.Model) error {
	known := summary.Facts{Digits: c.s.Digits, Disproof: c.w.Job.DisproofAt(m.Theta)}
	if wrong, ok := errors.AsType[*gp.FileError](m.CheckWeights(ctx)); ok && known.Disproof == nil {
		known.Weights = errors.New(wrong.Msg)
	}
	if why := known.Found(summary.Refuse); why != nil {
		return fmt.Errorf("%s%.0w", why[0], errors.Join(known.Weights, known.Disproof))
	}
	c.disproved = known.Disproof != nil
	return nil
}

// failed adds to an error the best parameters found.
func (c *closing) failed(err error) error {
	if c.cancelled != nil {
		err = errors.Join(c.cancelled, err)
	}
	return c.w.Job.WithBest(err, c.result)
}

// evaluate evaluates the result. All that follows depends on this factor.
func (c *closing) evaluate(ctx context.Context) error {
	c.s.Checked = false
	f, err := c.ev.Value(ctx, c.result.X)
	if err == nil && math.IsInf(f, 1) {
		err = c.ev.Reason()
	}
	return err
}

// report returns what the report has without further evaluations.
func (c *closing) report() summary.Report {
	e := evaluation{z: c.result.X, grad: c.result.Gradient, all: c.result.Total, fullSize: c.result.FullSize}
	for _, counts := range []*descent.Evaluations{&e.all, &e.fullSize} {
		counts.Add(c.ev.Counts())
	}
	if e.all.Add(c.bounds.spent); c.bounds.rows == 0 {
		e.fullSize.Add(c.bounds.spent)
	}
	r := newReport(c.s, e)
	r.Type, r.Choice, r.Disproved = "fit", c.choice, c.disproved
	if c.transform != nil {
		r.TargetTransform = c.transform
	}
	r.EvaluationSeconds = c.w.EvaluationTime().Seconds()
	for i, other := range c.w.Full[1:] {
		// Others share a device, and lanes have the name of theirs.
		if i+1 < len(c.w.Backends) && !slices.Contains(strings.Split(r.Device, ","), other.Info.Name) {
			r.Device += "," + other.Info.Name
		}
		r.Warnings = append(r.Warnings, other.Warnings...)
	}
	addTuning(&r, c.w.Job, c.result)
	r.Warnings = append(r.Warnings, c.w.Warnings...)
	return r
}

// A closingStep adds to the outcome what takes further evaluations, predictions or draws. A cancellation leaves out
// the steps that have a phrase for it, and no others, so that the report is whole.
type closingStep struct {
	interrupted string
	run         func(c *closing, ctx context.Context) error
}

// closingSteps are the steps after tuning, in order.
var closingSteps = []closingStep{
	{"standard errors were complete", (*closing).addStdErrors},
	{"scores of the other optima were complete", (*closing).scoreOptima},
	{"tests of bounds were complete", (*closing).testBounds},
	{"", (*closing).restore},
	{"", (*closing).conclude},
	{"relevance of the columns was known", (*closing).addRelevance},
	{"", (*closing).explain},
	{"posterior was drawn", (*closing).drawPosterior},
	{"", (*closing).scoreHeldOut},
}

// complete takes the steps.
func (c *closing) complete(ctx context.Context, out *Outcome) error {
	c.out = out
	for _, step := range closingSteps {
		switch {
		case step.interrupted == "":
			if err := step.run(c, context.WithoutCancel(ctx)); err != nil {
				return err
			}
		case c.cancelled == nil:
			err := step.run(c, ctx)
			if problem.IsCancelled(err) {
				c.cancelled = &problem.CancelledError{Msg: "interrupted before the " + step.interrupted, Err: err}
			} else if err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *closing) addStdErrors(ctx context.Context) (err error) {
	if c.w.Job.Options.StdErrors {
		c.stdErrors, err = newStdErrors(ctx, c.w.Job, c.ev, c.result)
	}
	return err
}

func (c *closing) scoreOptima(ctx context.Context) (err error) {
	c.scores, err = scoreOptima(ctx, c.s, c.ev, listed(c.w.Job, c.result))
	return err
}

func (c *closing) testBounds(ctx context.Context) (err error) {
	c.bounds, err = testBounds(ctx, c.w.Job, c.w, c.s, c.result)
	return err
}

// restore makes the workspace hold the factor of the result again if steps evaluated other points.
func (c *closing) restore(ctx context.Context) error {
	c.s.Workspace.OnProgress(nil)
	if c.ev.Counts() == c.settled && c.bounds.spent == (descent.Evaluations{}) {
		return nil
	}
	return c.evaluate(ctx)
}

func (c *closing) addRelevance(ctx context.Context) (err error) {
	j := c.w.Job
	c.out.Report.Relevance, err = relevance(ctx, j, c.s.Info.Threads, c.out.posterior, j.Params.Values(c.result.X))
	return err
}

// explain adds what follows from the steps before.
func (c *closing) explain(ctx context.Context) error {
	r, j := &c.out.Report, c.w.Job
	explainBounds(r, j, c.result.AtBound, c.bounds)
	addStdErrors(r, c.stdErrors, c.result.Status)
	if c.cancelled == nil {
		addEvidence(ctx, r, j, c.out.posterior)
	}
	r.Predictions = j.Averaging
	return nil
}

func (c *closing) scoreHeldOut(ctx context.Context) error {
	tests, err := scoreHeldOut(ctx, c.w.Job, c.out.posterior)
	if err != nil {
		return err
	}
	addTests(&c.out.Report, tests)
	return c.out.Report.CheckFinite()
}

// conclude adds the posterior, and to the report what follows from it and from the factor.
func (c *closing) conclude(ctx context.Context) error {
	j, s, result, out := c.w.Job, c.s, c.result, c.out
	loo, err := scoreLeaveOneOut(ctx, s, result.X)
	if err != nil {
		return err
	}
	out.Report = c.report()
	r := &out.Report
	r.Scores.LeaveOneOut = loo
	if r.Residual, err = s.Residual(ctx); err != nil {
		return err
	}
	if r.Interpolation, err = interpolation(ctx, s, result.AtBound, result.X, loo); err != nil {
		return err
	}
	if out.posterior, err = s.Posterior(ctx, out.Model); err != nil {
		return err
	}
	if err = addCalibration(r, out.Model); err != nil {
		return err
	}
	if len(c.scores) > 0 {
		if c.scores[0], err = scoreOptimum(ctx, s, out.posterior, result.X); err != nil {
			return err
		}
	}
	if r.NoiseFloor = c.floor; r.NoiseFloor != nil {
		r.Warnings = append(r.Warnings, floorText(r.NoiseFloor))
	}
	addOptima(r, j, result, c.scores)
	r.Robust, err = robustReport(ctx, s, result.X)
	return err
}

// drawPosterior draws the parameters and stores them in the outcome. A posterior that cannot be drawn
// costs a warning and not the fit; an error is a cancellation, or of the checkpoint.
func (c *closing) drawPosterior(ctx context.Context) error {
	j, r := c.w.Job, &c.out.Report
	if j.Options.Posterior == "" {
		return nil
	}
	p := newPosterior(j, c.result.X, c.log)
	p.keepNoise(r.Interpolation)
	var d *draws
	known := summary.Facts{Digits: r.Digits}
	err := refused(known.Found(summary.Optimum))
	if err == nil || j.Averaging == "" {
		d, err = p.sample(ctx, c.w.Backends[0], c.s, c.result.Optima)
	}
	switch {
	case problem.IsCancelled(err):
	case isJournal(err):
		return err
	case err != nil && j.Averaging != "":
		r.Predictions = fmt.Sprintf("of the parameters found (%s): there are no draws of the parameters, because %v", j.Averaging, err)
		err = nil
	case err != nil:
		r.Warnings = append(r.Warnings, fmt.Sprintf("no draws of the posterior: %v", err))
		err = nil
	default:
		if j.Averaging != "" {
			r.Predictions = averages(j.Prepared, d)
		}
		c.out.Model.Draws, r.Posterior = p.modelDraws(d), p.report(d)
		r.Warnings = append(r.Warnings, r.Posterior.Warnings...)
	}
	// The workspace shall hold the factor of the result again.
	if _, lost := c.s.Value(context.WithoutCancel(ctx), c.result.X); lost != nil {
		return lost
	}
	return err
}

// isJournal reports whether a checkpoint could not be read or written. Without it, the draws could be others.
func isJournal(err error) bool {
	_, is := errors.AsType[*journal.Error](err)
	return is
}

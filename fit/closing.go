package fit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"gpfit/device"
	"gpfit/fit/problem"
	"gpfit/fit/summary"
	"gpfit/fit/tuning"
	"gpfit/gp"
	"gpfit/hyperopt/descent"
	"gpfit/hyperopt/journal"
	"gpfit/mean"
	"gpfit/method"
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
	// late ends some time after a cancellation. left names what there was no time for then, and whole is the number of
	// rows if the model has fewer for that reason.
	late  context.Context
	left  []string
	whole int
	// formed says that the result was evaluated again, so that the workspace has held its factor.
	formed bool
	// out is the outcome to complete, settled the counts before that, and stdErrors what explain adds to its report.
	out       *Outcome
	settled   descent.Evaluations
	stdErrors *summary.StdErrors
}

// grace returns a context that ends some time after ctx was cancelled, and a function to call when it is not needed any more.
// A fit that discards its result then has no such time.
func grace(ctx context.Context, j *tuning.Job, d time.Duration) (late context.Context, end func()) {
	if j.Options.DiscardCancelled || d <= 0 {
		return ctx, func() {}
	}
	late, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(d, cancel) })
	return late, func() { stop(); cancel() }
}

// settle returns an outcome with the model of the result. Its report lacks all that [Outcome.Complete] adds.
func (c *closing) settle(ctx context.Context) (*Outcome, error) {
	if err := c.place(ctx); err != nil {
		return nil, err
	}
	if err := c.leave("error of the method", c.approximate(c.late)); err != nil {
		return nil, err
	}
	c.s.WarnGradient(c.result.Gradient)
	model := c.s.Model(c.result.X, c.result.Status.String())
	if err := c.ask(c.late, model); err != nil {
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

// place opens a session whose last evaluation is the result. That takes an evaluation, which all that follows depends on. After
// a cancellation, the evaluation that found the result does, and if there is none, and no time for another one, the best
// evaluation of this model that there is: over all rows, or else over fewer.
func (c *closing) place(ctx context.Context) (err error) {
	for _, s := range c.w.Full {
		if c.cancelled != nil && s.Best != nil && slices.Equal(s.Best.Z, c.result.X) {
			return c.recall(s)
		}
	}
	if c.s, err = c.w.First(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	c.ev = descent.NewOracle(c.s, nil)
	value, end := grace(ctx, c.w.Job, c.w.Job.Notice*5/8)
	defer end()
	if err = c.evaluate(value); !problem.IsCancelled(err) || c.w.Job.Options.DiscardCancelled {
		return err
	}
	c.cancel("interrupted: this is the best point so far", err)
	if s := c.w.Lowest(); s != nil {
		return c.recall(s)
	}
	n := c.w.Rows()
	s, failed := c.w.Reopen(context.WithoutCancel(ctx))
	if s == nil || failed != nil {
		return cmp.Or(failed, err)
	}
	if c.w.Rows() < n {
		c.whole = n
	}
	return c.recall(s)
}

// mostTightened is how often a method whose error may be larger than wanted begins again at most.
const mostTightened = 2

// approximate bounds the error of the result if the method is not exact. If the bound is larger than wanted, it evaluates the
// result with a tenth of the tolerance, and goes back if the method cannot reach that.
func (c *closing) approximate(ctx context.Context) error {
	err := c.s.Approximate(ctx, c.result.X)
	for c.cancelled == nil && err == nil {
		a := c.s.Approximation
		if !a.Loose() || a.Tightened == mostTightened || a.Element <= device.LeastTolerance {
			break
		}
		before, tighter := c.s, *c.w.Job
		tighter.Tightened++
		if err = c.reopen(&tighter); err == nil {
			err = c.evaluate(ctx)
		}
		if err == nil {
			err = c.s.Approximate(ctx, c.result.X)
		}
		if err != nil {
			return c.goBack(before, err)
		}
	}
	return err
}

// goBack continues with an earlier evaluation of the result, after an error of a better one. Unless that was a cancellation,
// it is no error of the fit, whose report says how far the method may be off.
func (c *closing) goBack(before *tuning.Placement, why error) error {
	c.formed = false
	if err := c.reopen(before.Job); err != nil {
		return err
	}
	if err := c.s.Continue(before); err != nil || !problem.IsCancelled(why) {
		return err
	}
	return why
}

// reopen opens another job of the same problem.
func (c *closing) reopen(j *tuning.Job) (err error) {
	c.result.Total.Add(c.ev.Counts())
	c.result.FullSize.Add(c.ev.Counts())
	warnings := slices.Clone(c.w.Warnings)
	for _, s := range c.w.Full {
		warnings = append(warnings, s.Warnings...)
	}
	tuning.Rebind(c.w, j)
	c.w.Warnings = warnings
	s, err := c.w.First(context.WithoutCancel(c.late))
	if err == nil {
		c.s, c.ev = s, descent.NewOracle(s, nil)
	}
	return err
}

// recall makes the best evaluation of a session the result.
func (c *closing) recall(s *tuning.Placement) error {
	c.s, c.ev = s, descent.NewOracle(s, nil)
	if best := s.Best; !slices.Equal(best.Z, c.result.X) {
		r := *c.result
		r.X, r.F, r.Gradient, r.AtBound, r.Status = best.Z, best.F, nil, nil, descent.StatusCancelled
		r.GradientNorm, r.RelativeChange = math.NaN(), math.NaN()
		c.result = &r
	}
	return s.Recall(s.Best)
}

// cancel keeps the first error of a cancellation.
func (c *closing) cancel(msg string, err error) {
	if c.cancelled == nil {
		c.cancelled = &problem.CancelledError{Msg: msg, Err: err}
	}
}

// leave returns an error unless it says that there was no time left for something.
func (c *closing) leave(what string, err error) error {
	if !problem.IsCancelled(err) || c.w.Job.Options.DiscardCancelled {
		return err
	}
	c.cancel("interrupted before the "+what+" were complete", err)
	if !slices.Contains(c.left, what) {
		c.left = append(c.left, what)
	}
	return nil
}

// notInMean is the largest coefficient of a standardized column that counts as rounding.
const notInMean = 1e-7

// exactColumns names the columns that the mean uses, if it leaves only rounding of the targets; nil otherwise.
func exactColumns(j *problem.Prepared, m *gp.Model) (columns []string) {
	if !j.Model.Explains(j.Sample) {
		return nil
	}
	for k, f := range m.Mean.Basis {
		if matters := math.Abs(m.Mean.Coefficients[k]) > notInMean; matters && f.Period > 0 {
			return nil // a season is no mistake
		} else if matters && f.Group != mean.Constant {
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

// evaluate evaluates the result.
func (c *closing) evaluate(ctx context.Context) error {
	c.s.Checked = false
	f, err := c.ev.Value(ctx, c.result.X)
	if err == nil && math.IsInf(f, 1) {
		err = c.ev.Reason()
	}
	if err == nil && !c.formed {
		c.s.WarnCondition(ctx)
		c.formed = true
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
	r.Type, r.Choice, r.Disproved, r.OfRows = "fit", c.choice, c.disproved, c.whole
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
// the steps that have a name, and gives the others some time, so that the report has what it has time for.
type closingStep struct {
	name string
	// asked says that there is something to do.
	asked func(c *closing) bool
	run   func(c *closing, ctx context.Context) error
}

// closingSteps are the steps after tuning, in order.
var closingSteps = []closingStep{
	{"standard errors", func(c *closing) bool { return c.w.Job.Options.StdErrors }, (*closing).addStdErrors},
	{"scores of the other optima", func(c *closing) bool { return len(listed(c.w.Job, c.result)) > 1 }, (*closing).scoreOptima},
	{"tests of bounds", func(c *closing) bool { return len(c.result.AtBound) > 0 }, (*closing).testBounds},
	{"", nil, (*closing).restore},
	{"", nil, (*closing).conclude},
	{"comparison with one process", func(c *closing) bool { return c.w.Job.Experts.Several() }, func(c *closing, ctx context.Context) (err error) {
		if c.w.Job.Experts.Several() {
			c.out.Report.Experts.Lost, err = lostByExperts(ctx, c.w.Job, c.w.Backends[0], c.result.X, c.out.Report.NLML, method.All())
		}
		return err
	}},
	{"relevances of the columns", func(c *closing) bool { return c.w.Job.D() > 1 }, (*closing).addRelevance},
	{"", nil, (*closing).explain},
	{"draws of the posterior", func(c *closing) bool { return c.w.Job.Options.Posterior != "" }, func(c *closing, ctx context.Context) error {
		c.w.Job.Meter.Step(2)
		return c.drawPosterior(ctx)
	}},
	{"", nil, (*closing).scoreHeldOut},
}

// complete takes the steps.
func (c *closing) complete(ctx context.Context, out *Outcome) (err error) {
	if c.out = out; c.cancelled == nil {
		var end func()
		c.late, end = grace(ctx, c.w.Job, c.w.Job.Notice)
		defer end()
	}
	for _, step := range closingSteps {
		if c.late.Err() != nil {
			out.posterior = nil // nobody knows what the workspace holds
		}
		switch {
		case step.name == "":
			err = step.run(c, c.late)
		case c.cancelled == nil:
			if err = step.run(c, ctx); problem.IsCancelled(err) {
				err = c.leave(step.name, err)
			}
		case step.asked(c):
			c.left = append(c.left, step.name)
		}
		if err != nil {
			return err
		}
	}
	if c.left != nil {
		out.Report.Warnings = append(out.Report.Warnings, fmt.Sprintf("interrupted: the report lacks %s", problem.Listed(c.left)))
	}
	if c.cancelled == nil {
		c.w.Job.Meter.End(out.Report.Objective)
	}
	return out.Report.CheckFinite()
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
	c.s.Listen(nil)
	if c.formed && c.ev.Counts() == c.settled && c.bounds.spent == (descent.Evaluations{}) {
		return nil
	}
	return c.leave("digits of the covariance", c.evaluate(ctx))
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
	r.Predictions = j.Averaging
	return c.leave("leave-one-out scores", addEvidence(ctx, r, j, c.out.posterior))
}

func (c *closing) scoreHeldOut(ctx context.Context) error {
	tests, err := scoreHeldOut(ctx, c.w.Job, c.out.posterior)
	if err == nil {
		addTests(&c.out.Report, tests)
	}
	return c.leave("scores of held-out rows", err)
}

// conclude adds the posterior, and to the report what follows from it and from the factor.
func (c *closing) conclude(ctx context.Context) error {
	j, s, result, out := c.w.Job, c.s, c.result, c.out
	loo, err := scoreLeaveOneOut(ctx, s, result.X)
	if err = c.leave("leave-one-out scores", err); err != nil {
		return err
	}
	out.Report = c.report()
	r := &out.Report
	r.Missed = missedSeason(c.w.Job.Prepared, out.Model)
	r.Scores.LeaveOneOut = loo
	residual, err := s.Residual(ctx)
	if err == nil {
		r.Residual = residual
	}
	if err = c.leave("residual", err); err != nil {
		return err
	}
	r.Interpolation, err = interpolation(ctx, s, result.AtBound, result.X, loo)
	if err = c.leave("tests of the noise", err); err != nil {
		return err
	}
	out.posterior, err = s.Posterior(ctx, out.Model)
	if err = cmp.Or(c.leave("digits of the covariance", err), addCalibration(r, out.Model)); err != nil {
		return err
	}
	if len(c.scores) > 0 && out.posterior != nil {
		c.scores[0], err = scoreOptimum(ctx, s, out.posterior, result.X)
		if err = c.leave("scores of the other optima", err); err != nil {
			return err
		}
	}
	if r.NoiseFloor = c.floor; r.NoiseFloor != nil {
		r.Warnings = append(r.Warnings, floorText(r.NoiseFloor))
	}
	addOptima(r, j, result, c.scores)
	r.Robust, err = robustReport(ctx, s, result.X)
	return c.leave("deviations of outlying rows", err)
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
		err = c.drawSecond(ctx, p.withoutNoise)
	}
	// The workspace shall hold the factor of the result again.
	if _, lost := c.s.Value(c.late, c.result.X); lost != nil {
		return lost
	}
	return err
}

// isJournal reports whether a checkpoint could not be read or written. Without it, the draws could be others.
func isJournal(err error) bool {
	_, is := errors.AsType[*journal.Error](err)
	return is
}

package fit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"gpfit/device"
	"gpfit/gp"
	"gpfit/graph"
	"gpfit/hyperopt"
)

// Outcome is a report and, after a fit, the model.
type Outcome struct {
	Report Report
	Model  *gp.Model
	// posterior is on the workspace that the outcome keeps until Close.
	posterior *gp.Posterior
	close     func()
	journal   *journal
}

// SaveModel writes the model, with its Cholesky factor if asked.
func (o *Outcome) SaveModel(path string, withFactor bool) error {
	if withFactor {
		return o.posterior.SaveWithFactor(path)
	}
	return o.Model.Save(path)
}

// Close frees the device's memory.
func (o *Outcome) Close() { o.close() }

func (t *Task) startZ() []float64 {
	z := make([]float64, len(t.params))
	for i, p := range t.params {
		z[i] = p.toZ(p.start)
	}
	return z
}

// Evaluate computes the NLML, its terms and its gradient at the start values.
// inspect, unless nil, is given the objective afterwards, also after a failure.
func (t *Task) Evaluate(ctx context.Context, b device.Backend, inspect func(*graph.Objective) error) (*Report, error) {
	began := time.Now()
	s, err := t.open(ctx, b)
	if err != nil {
		return nil, err
	}
	defer s.close()
	z := t.startZ()
	grad := make([]float64, len(z))
	_, err = s.ValueGradient(ctx, z, grad)
	err = t.explainStart(err)
	if inspect != nil {
		err = errors.Join(err, inspect(s.obj))
	}
	if err != nil {
		return nil, err
	}
	loo, err := t.scoreLeaveOneOut(ctx, s, z)
	if err != nil {
		return nil, err
	}
	r := t.report(s, z, grad)
	r.Type, r.Status, r.Scores.LeaveOneOut = "nlml", "evaluated", loo
	if r.Residual, err = s.residual(ctx); err != nil {
		return nil, err
	}
	r.Seconds = time.Since(began).Seconds()
	return &r, nil
}

// explainStart adds the likely cause and what to do to a failure at given
// parameters.
func (t *Task) explainStart(err error) error {
	switch {
	case isCondition(err):
	case device.IsNotPD(err) && t.opts.NoNoise:
		return fmt.Errorf("%w: without noise, rows that repeat one another or lie close for their lengthscale have no solution; leave out --noise none, take a rougher kernel such as matern12 or a shorter lengthscale, or allow --max-jitter", err)
	case device.IsNotPD(err):
		return fmt.Errorf("%w: rows that repeat one another with a tiny noise_variance, or a lengthscale far longer than the data; raise noise_variance, shorten the lengthscale, or allow --max-jitter", err)
	}
	return err
}

// Fit tunes the parameters and returns the model. With several backends, starts
// run side by side on them. If ctx is cancelled it returns the best model so
// far together with ctx's error, provided that one point was evaluated. The
// caller closes the outcome if it is not nil.
func (t *Task) Fit(ctx context.Context, backends ...device.Backend) (*Outcome, error) {
	began := time.Now()
	if err := t.checkTargets(); err != nil {
		return nil, err
	}
	if t.opts.Coarse != "" && !slices.Contains(Coarses(), string(t.opts.Coarse)) {
		return nil, optionErrorf("--coarse %s: must be %s", t.opts.Coarse, strings.Join(Coarses(), ", "))
	}
	var log *journal
	if t.opts.Checkpoint != "" {
		var err error
		if log, err = openJournal(t.opts.Checkpoint, t.job()); err != nil {
			return nil, err
		}
	}
	var sessions []*session
	finish := func() {
		closeAll(sessions)
		_ = log.close()
	}
	u := &tuning{task: t, log: log, backends: backends}
	out, err := t.fit(ctx, u, func() (_ []*session, err error) {
		sessions, err = t.openAll(context.WithoutCancel(ctx), backends, 1+t.opts.Settings.Restarts)
		return sessions, err
	})
	err = t.checkpointed(err)
	if out == nil {
		finish()
		return nil, err
	}
	out.close, out.journal = finish, log
	if log != nil && err == nil {
		// The log is gone once the result is written; a machine that fails before
		// loses what any log may lose, the last second.
		log.finished = true
	}
	out.Report.Seconds = time.Since(began).Seconds()
	return out, err
}

func (t *Task) fit(ctx context.Context, u *tuning, open func() ([]*session, error)) (*Outcome, error) {
	sessions, result, err := u.run(ctx, open)
	var cancelled error
	switch {
	case isCancelled(err) && t.opts.DiscardCancelled:
		return nil, &CancelledError{Msg: "interrupted"}
	case isCancelled(err) && (result == nil || result.X == nil):
		return nil, &CancelledError{Msg: "interrupted before the first evaluation was done: there is no model to write"}
	case isCancelled(err):
		cancelled = &CancelledError{Msg: "interrupted: this is the best point so far"}
	case err != nil:
		return nil, t.withBest(t.explainFit(err), result)
	}
	// The workspace may hold another point: make it hold the best. This runs
	// to its end even after a cancellation, so that a model can be written.
	if sessions == nil {
		if sessions, err = open(); err != nil {
			return nil, t.withBest(errors.Join(cancelled, err), result)
		}
	}
	s, final := sessions[0], context.WithoutCancel(ctx)
	before := u.add(sessions)
	var stdErrors *StdErrors
	if t.opts.StdErrors && cancelled == nil {
		if stdErrors, err = t.stdErrors(ctx, s, result); isCancelled(err) {
			cancelled = &CancelledError{Msg: "interrupted before the standard errors were done"}
		} else if err != nil {
			return nil, t.withBest(err, result)
		}
	}
	s.ws.OnProgress(nil)
	if _, err := s.Value(final, result.X); err != nil {
		return nil, t.withBest(errors.Join(cancelled, err), result)
	}
	loo, err := t.scoreLeaveOneOut(final, s, result.X)
	if err != nil {
		return nil, t.withBest(errors.Join(cancelled, err), result)
	}
	out := &Outcome{Report: t.report(s, result.X, result.Gradient)}
	out.Report.Type, out.Report.Scores.LeaveOneOut = "fit", loo
	if out.Report.Residual, err = s.residual(final); err != nil {
		return nil, errors.Join(cancelled, err)
	}
	out.Report.EvaluationSeconds = u.spent.Seconds()
	for _, s := range sessions {
		out.Report.EvaluationSeconds += s.spent.Seconds()
	}
	for _, other := range sessions[1:] {
		out.Report.Device += "," + other.info.Name
		out.Report.Warnings = append(out.Report.Warnings, other.warnings...)
	}
	out.Report.addResult(result)
	u.report(&out.Report, s.evaluations(), before)
	out.Report.addStdErrors(stdErrors, result.Status)
	out.Model = t.model(s.obj, result)
	if out.posterior, err = out.Model.Attach(s.ws); err == nil {
		err = t.score(final, out)
	}
	if err != nil {
		return nil, errors.Join(cancelled, err)
	}
	return out, cancelled
}

func isCancelled(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// withBest adds the best parameters found to an error that ends a fit, as
// options that start again from there.
func (t *Task) withBest(err error, r *hyperopt.Result) error {
	if r == nil || r.X == nil {
		return err
	}
	var set strings.Builder
	for i, p := range t.params {
		fmt.Fprintf(&set, " --set '%s=%.10g'", p.name, p.natural(r.X[i]))
	}
	if math.IsNaN(r.F) {
		return fmt.Errorf("%w\nto go on from the optimum on fewer rows:%s", err, set.String())
	}
	return fmt.Errorf("%w\nbest so far: %s %.6f; to go on from there:%s", err, objectiveLabel(t.objectiveName()), r.F, set.String())
}

// CancelledError reports a fit that was interrupted.
type CancelledError struct{ Msg string }

func (e *CancelledError) Error() string { return e.Msg }

// Unwrap returns [context.Canceled].
func (e *CancelledError) Unwrap() error { return context.Canceled }

func (t *Task) problem(sessions []*session) hyperopt.Problem {
	p := hyperopt.Problem{Start: t.startZ()}
	for i, s := range sessions {
		if i == 0 {
			p.Objective = s
			continue
		}
		p.Workers = append(p.Workers, s)
	}
	for _, q := range t.params {
		p.Names = append(p.Names, q.name)
		p.Lower = append(p.Lower, q.toZ(q.lo))
		p.Upper = append(p.Upper, q.toZ(q.hi))
		p.Fixed = append(p.Fixed, q.fixed)
		p.Plain = append(p.Plain, !q.isLog)
	}
	return p
}

func (t *Task) settings() hyperopt.Settings {
	s := t.opts.Settings
	s.Callback = t.opts.OnIteration
	return s
}

// model collects what predictions need from the objective's last evaluation.
func (t *Task) model(obj *graph.Objective, r *hyperopt.Result) *gp.Model {
	theta, _, alpha := obj.Theta()
	terms := obj.Terms()
	m := &gp.Model{
		Kernel: t.program.Text, Kernels: t.opts.Kernels, Columns: t.columns, FeatureNames: t.data.FeatureNames, TargetName: t.data.TargetName,
		ParameterNames: t.program.Names(), Theta: theta, Jitter: terms.Jitter,
		Scaling: t.scaling, NLML: terms.NLML(), Status: r.Status.String(),
		X: t.trainX, Y: t.trainY, Alpha: alpha,
	}
	t.modelNoise(m, obj)
	t.modelMean(m, obj, r.X)
	t.modelTargets(m, obj)
	return m
}

// score predicts the held-out rows.
func (t *Task) score(ctx context.Context, out *Outcome) error {
	if len(t.testY) == 0 {
		return nil
	}
	m := len(t.testY) / t.data.t()
	parts, err := out.posterior.PredictTargets(ctx, t.testX, m, t.testNoise)
	if err != nil {
		return err
	}
	for i, p := range parts {
		scores := newScores(p, t.testY[i*m:(i+1)*m], t.targetScale(i))
		if len(parts) == 1 {
			out.Report.Test = scores
		} else {
			out.Report.Targets[i].Test = scores
		}
	}
	return nil
}

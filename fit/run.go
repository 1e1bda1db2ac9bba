package fit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"gpfit/device"
	"gpfit/gp"
	"gpfit/graph"
	"gpfit/hyperopt"
	"gpfit/hyperopt/descent"
	"gpfit/internal/journal"
	"gpfit/mean"
)

// Outcome holds a report and, after a fit, the model.
type Outcome struct {
	Report Report
	Model  *gp.Model
	// Record is stored with the model. Its fields Report and Text follow from Report.
	Record ModelRecord
	// posterior uses the workspace that the outcome keeps until Close.
	posterior *gp.Posterior
	close     func()
	journal   *journal.Journal
}

// Posterior returns the model on the workspace of the fit, which holds the factor of
// its covariance. Predictions therefore need no further n×n matrix and no
// factorisation. The posterior is valid until Close.
func (o *Outcome) Posterior() *gp.Posterior { return o.posterior }

// SaveModel writes the model to a file, with its Cholesky factor if withFactor.
func (o *Outcome) SaveModel(path string, withFactor bool) error {
	if err := o.record(); err != nil {
		return err
	}
	if withFactor {
		return o.posterior.SaveWithFactor(path)
	}
	return o.Model.Save(path)
}

// WriteModel writes to w the bytes that SaveModel writes.
func (o *Outcome) WriteModel(w io.Writer, withFactor bool) error {
	if err := o.record(); err != nil {
		return err
	}
	if withFactor {
		return o.posterior.WriteWithFactor(w)
	}
	return o.Model.Write(w)
}

// record stores the record of the outcome, as it is now, in the model.
func (o *Outcome) record() error {
	r := o.Record
	r.SchemaVersion, r.Report, r.Text = SchemaVersion, &o.Report, o.Report.Text()
	text, err := json.MarshalIndent(r, "", "  ")
	o.Model.Record = text
	return err
}

// Close frees the device's memory.
func (o *Outcome) Close() { o.close() }

// RemoveCheckpoint deletes the checkpoint, if there is one. Call it after you have
// written the results: without the checkpoint, a crash before that would lose the
// fit.
func (o *Outcome) RemoveCheckpoint() error { return o.journal.Remove() }

// Evaluate computes the NLML, its terms and its gradient at the start values. It then
// calls inspect, unless that is nil, with the objective, even after a failure.
func (j *Job) Evaluate(ctx context.Context, b device.Backend, inspect func(*graph.Objective) error) (*Report, error) {
	began := time.Now()
	if err := j.checkUnits(); err != nil {
		return nil, err
	}
	s, err := j.open(ctx, b)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	e, err := j.evaluateStart(ctx, s)
	if inspect != nil {
		err = errors.Join(err, inspect(s.obj))
	}
	if err != nil {
		return nil, err
	}
	loo, err := s.scoreLeaveOneOut(ctx, e.z)
	if err != nil {
		return nil, err
	}
	r := newReport(s, e)
	r.Type, r.Status, r.Scores.LeaveOneOut = "nlml", "evaluated", loo
	if r.Residual, err = s.residual(ctx); err != nil {
		return nil, err
	}
	r.Seconds = time.Since(began).Seconds()
	return &r, r.checkFinite()
}

// evaluateStart evaluates value and gradient at the start values.
func (j *Job) evaluateStart(ctx context.Context, s *session) (evaluation, error) {
	e := evaluation{z: j.params.start()}
	e.grad = make([]float64, len(e.z))
	ev := descent.NewOracle(s, nil)
	f, err := ev.Value(ctx, e.z)
	if err == nil && !math.IsInf(f, 1) {
		s.warnCondition()
		_, err = ev.Gradient(ctx, e.z, e.grad)
	}
	if err == nil {
		err = ev.Reason()
	}
	if err == nil {
		s.warnGradient(e.grad)
	}
	e.all, e.fullSize = ev.Counts(), ev.Counts()
	return e, j.explainStart(err)
}

// explainStart adds the likely cause and a remedy to a failure at given parameters.
func (j *Job) explainStart(err error) error {
	switch {
	case isCondition(err):
	case device.IsNotPD(err) && j.opts.NoNoise:
		return fmt.Errorf("%w: without noise, duplicate rows, or rows that are close compared with the lengthscale, make the covariance singular; leave out option noise none, use a rougher kernel such as matern12 or a shorter lengthscale, or allow option max-jitter", err)
	case device.IsNotPD(err):
		return fmt.Errorf("%w: the likely cause is duplicate rows with a tiny noise_variance, or a lengthscale far longer than the range of the data; raise noise_variance, shorten the lengthscale, or allow option max-jitter", err)
	case isNonFinite(err):
		return fmt.Errorf("%w: the data or the parameters are at the limits of double precision; let option standardize scale inputs and targets, or set other parameters", err)
	}
	return err
}

// isNonFinite reports whether a value, a gradient or an element of a matrix was not
// finite.
func isNonFinite(err error) bool {
	var element *device.NonFiniteError
	return errors.As(err, &element) || descent.IsInfeasible(err)
}

// isCondition reports whether err is a [*mean.ConditionError].
func isCondition(err error) bool {
	var e *mean.ConditionError
	return errors.As(err, &e)
}

// fit tunes and assembles the outcome.
func (j *Job) fit(ctx context.Context, w *workplace, log *journal.Journal) (*Outcome, error) {
	result, err := hyperopt.Tune(ctx, w, j.settings(w.backends[0]), log)
	var cancelled error
	switch {
	case isCancelled(err) && j.opts.DiscardCancelled:
		return nil, &CancelledError{Msg: "interrupted"}
	case isCancelled(err) && (result == nil || result.X == nil):
		return nil, &CancelledError{Msg: "interrupted before the first evaluation: there is no model to write"}
	case isCancelled(err):
		cancelled = &CancelledError{Msg: "interrupted: this is the best point so far"}
	case err != nil:
		return nil, j.withBest(j.explainFit(err), result)
	}
	return j.assemble(ctx, w, result, cancelled, log)
}

// assemble evaluates what the report says of the result beyond tuning. cancelled is the
// error of a run that ended early, or nil; log, which may be nil, records evaluations.
func (j *Job) assemble(ctx context.Context, w *workplace, result *hyperopt.Result, cancelled error, log *journal.Journal) (*Outcome, error) {
	// The workspace may hold another point, so evaluate the best one. This runs to
	// its end even after a cancellation, so that a model can be written.
	final := context.WithoutCancel(ctx)
	s, err := w.first(final)
	if err != nil {
		return nil, j.withBest(errors.Join(cancelled, err), result)
	}
	ev := descent.NewOracle(s, nil)
	var stdErrors *StdErrors
	var scores []optimumScores
	if j.opts.StdErrors && cancelled == nil {
		if stdErrors, err = j.stdErrors(ctx, ev, result); isCancelled(err) {
			cancelled = &CancelledError{Msg: "interrupted before the standard errors were complete"}
		} else if err != nil {
			return nil, j.withBest(err, result)
		}
	}
	if cancelled == nil {
		if scores, err = s.scoreOptima(ctx, ev, result.Optima); isCancelled(err) {
			cancelled = &CancelledError{Msg: "interrupted before the scores of the other optima were complete"}
		} else if err != nil {
			return nil, j.withBest(err, result)
		}
	}
	s.ws.OnProgress(nil)
	out, err := j.conclude(final, w, s, ev, result, scores)
	if err != nil {
		return nil, j.withBest(errors.Join(cancelled, err), result)
	}
	out.Report.addStdErrors(stdErrors, result.Status)
	if j.opts.Posterior != "" && cancelled == nil {
		err := j.drawPosterior(ctx, w.backends[0], s, out, result.X, log)
		if isCancelled(err) {
			cancelled = &CancelledError{Msg: "interrupted before the posterior was drawn"}
		} else if err != nil {
			return nil, j.withBest(err, result)
		}
		// The workspace shall hold the factor of the result again.
		if _, err := s.Value(final, result.X); err != nil {
			return nil, j.withBest(errors.Join(cancelled, err), result)
		}
	}
	if err := out.Report.checkFinite(); err != nil {
		return nil, j.withBest(errors.Join(cancelled, err), result)
	}
	return out, cancelled
}

// settings returns the settings for tuning on devices such as b.
func (j *Job) settings(b device.Backend) hyperopt.Settings {
	s := j.opts.Settings
	s.Precision = b.Capabilities().Precision
	return s
}

// conclude evaluates the result once more on s and reports it, with the model and the
// scores of held-out rows. scores has an element for each optimum, which is empty for the
// result.
func (j *Job) conclude(ctx context.Context, w *workplace, s *session, ev *descent.Oracle, result *hyperopt.Result, scores []optimumScores) (*Outcome, error) {
	s.checked = false // everything below depends on this factor
	f, err := ev.Value(ctx, result.X)
	if err == nil && math.IsInf(f, 1) {
		err = ev.Reason()
	}
	if err != nil {
		return nil, err
	}
	s.warnCondition()
	s.warnGradient(result.Gradient)
	loo, err := s.scoreLeaveOneOut(ctx, result.X)
	if err != nil {
		return nil, err
	}
	e := evaluation{z: result.X, grad: result.Gradient, all: result.Total, fullSize: result.FullSize}
	e.all.Add(ev.Counts())
	e.fullSize.Add(ev.Counts())
	out := &Outcome{Report: newReport(s, e), Model: s.model(result.X, result.Status.String())}
	r := &out.Report
	r.Type, r.Scores.LeaveOneOut = "fit", loo
	if r.Residual, err = s.residual(ctx); err != nil {
		return nil, err
	}
	r.EvaluationSeconds = w.evaluationTime().Seconds()
	for i, other := range w.full[1:] {
		if i+1 < len(w.backends) { // others share a device
			r.Device += "," + other.info.Name
		}
		r.Warnings = append(r.Warnings, other.warnings...)
	}
	r.addTuning(j, result)
	r.Warnings = append(r.Warnings, w.warnings...)
	if r.Interpolation, err = s.interpolation(ctx, result.AtBound, result.X, loo); err != nil {
		return nil, err
	}
	if out.posterior, err = s.posterior(ctx, out.Model); err != nil {
		return nil, err
	}
	r.addCalibration(out.Model)
	if r.Relevance, err = j.relevance(ctx, s.info.Threads, out.posterior, j.params.values(result.X)); err != nil {
		return nil, err
	}
	if len(scores) > 0 {
		if scores[0], err = s.scoreOptimum(ctx, out.posterior, result.X); err != nil {
			return nil, err
		}
	}
	r.addOptima(j, result, scores)
	r.explainBounds(j, result.AtBound)
	tests, err := j.score(ctx, out.posterior)
	if err != nil {
		return nil, err
	}
	r.addTests(tests)
	return out, nil
}

// drawPosterior draws the parameters and stores them in the outcome.
func (j *Job) drawPosterior(ctx context.Context, b device.Backend, s *session, out *Outcome, z []float64, log *journal.Journal) error {
	p, err := newPosterior(j, z, log)
	if err != nil {
		return err
	}
	d, err := p.sample(ctx, b, s)
	if err != nil {
		return fmt.Errorf("posterior: %w", err)
	}
	out.Model.Draws = p.modelDraws(d)
	out.Report.Posterior = p.report(d)
	out.Report.Warnings = append(out.Report.Warnings, out.Report.Posterior.Warnings...)
	return nil
}

// withBest adds the best parameters found to an error that ends a fit.
func (j *Job) withBest(err error, r *hyperopt.Result) error {
	if r == nil || r.X == nil {
		return err
	}
	out := &UnfinishedError{Err: err}
	for i, p := range j.params.free {
		out.Parameters = append(out.Parameters, Assignment{Name: p.Name, Value: p.Natural(r.X[i]), Given: true})
	}
	if !math.IsNaN(r.F) {
		out.Best = fmt.Sprintf("%s %.6f", j.ObjectiveLabel(), r.F)
	}
	return out
}

// explainFit replaces an optimiser's advice on a start that cannot be evaluated if a
// larger noise variance is not the remedy.
func (j *Job) explainFit(err error) error {
	var start *descent.StartError
	var element *device.NonFiniteError
	if errors.As(err, &element) {
		return j.explainStart(err)
	}
	if errors.As(err, &start) && (j.opts.NoNoise || isCondition(err)) {
		return j.explainStart(start.Err)
	}
	return err
}

// failures encodes in checkpoints that a covariance is not positive definite.
var failures = journal.Failures{
	Numbers: func(err error) []float64 {
		var npd *device.NotPDError
		if !errors.As(err, &npd) {
			return nil
		}
		return []float64{float64(npd.Minor), float64(npd.N)}
	},
	Error: func(numbers []float64) error {
		if len(numbers) != 2 {
			return nil
		}
		return &device.NotPDError{Minor: int(numbers[0]), N: int(numbers[1])}
	},
}

// checkpointError converts a journal's error to an error of the options or the data.
// A checkpoint that the system cannot open, read or write remains a [*journal.Error].
func checkpointError(err error) error {
	var e *journal.Error
	switch {
	case !errors.As(err, &e) || e.Err != nil:
		return err
	case e.Damaged:
		return &DataError{"checkpoint " + e.Path + " " + e.Msg}
	}
	return optionErrorf("checkpoint", e.Path, "%s", e.Msg)
}

// checkpointed adds to the error of a fit that can continue how to continue it.
func (j *Job) checkpointed(err error) error {
	var option *OptionError
	if err == nil || j.opts.Checkpoint == "" || errors.As(err, &option) {
		return err
	}
	return fmt.Errorf("%w\nthe same fit continues from the checkpoint %s", err, j.opts.Checkpoint)
}

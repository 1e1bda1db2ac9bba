package fit

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"gpfit/device"
	"gpfit/fit/problem"
	"gpfit/fit/summary"
	"gpfit/gp"
	"gpfit/graph"
	"gpfit/hyperopt"
	"gpfit/hyperopt/descent"
	"gpfit/internal/auto"
	"gpfit/internal/journal"
	"gpfit/internal/transform"
	"gpfit/internal/tuning"
)

// Outcome holds a report and, after a fit, the model.
type Outcome struct {
	Report summary.Report
	Model  *gp.Model
	// Job is the job that ran: with the kernel and the transform that were chosen, if the options left
	// them open.
	Job *tuning.Job
	// Record is stored with the model. Its fields Report and Text follow from Report.
	Record summary.ModelRecord
	// posterior uses the workspace that the outcome keeps until Close. Complete makes it.
	posterior *gp.Posterior
	// complete completes the report. It returns the error of a run that was cancelled, and its own.
	complete func(ctx context.Context) (cancelled, err error)
	close    func()
	journal  *journal.Journal
	began    time.Time
}

// Posterior returns the model on the workspace of the fit, which holds the factor of its
// covariance, so that predictions need no further n×n matrix. It is nil before Complete, and valid
// until Close.
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
	r.SchemaVersion, r.Report, r.Text = summary.SchemaVersion, &o.Report, o.Report.Text()
	text, err := json.MarshalIndent(r, "", "  ")
	o.Model.Record = text
	return err
}

// Complete adds to the report what takes further evaluations, predictions or draws: standard errors,
// scores, the relevance of columns, the posterior of the parameters. The model of an outcome that
// cannot be completed remains valid.
func (o *Outcome) Complete(ctx context.Context) error {
	cancelled, err := o.finish(ctx)
	return cmp.Or(err, cancelled)
}

// finish is Complete. It returns the error of a run that was cancelled, and its own.
func (o *Outcome) finish(ctx context.Context) (cancelled, err error) {
	if cancelled, err = o.complete(ctx); err == nil && cancelled == nil {
		// The caller removes the log after writing the result. If the machine fails
		// before that, it loses what any log may lose, the last second.
		o.journal.Finish()
	}
	o.Report.Seconds = time.Since(o.began).Seconds()
	o.Report.Judge()
	return withCheckpoint(o.Job, cancelled), cmp.Or(withCheckpoint(o.Job, checkpointError(err)), o.record())
}

// Close frees the device's memory.
func (o *Outcome) Close() { o.close() }

// RemoveCheckpoint deletes the checkpoint, if there is one. Call it after you have written the
// results, because a crash before that would lose the fit.
func (o *Outcome) RemoveCheckpoint() error { return o.journal.Remove() }

// Evaluate computes the NLML, its terms and its gradient at the start values. It then calls
// inspect, unless that is nil, with the objective, even after a failure.
func Evaluate(ctx context.Context, j *tuning.Job, b device.Backend, inspect func(*graph.Objective) error) (*summary.Report, error) {
	began := time.Now()
	if err := j.CheckUnits(); err != nil {
		return nil, err
	}
	w := &tuning.Workplace{Job: j, Backends: []device.Backend{b}}
	defer w.Close()
	if j.Options.Robust { // from a robust model
		if _, err := searchRows(ctx, w, j.Params.Start(), worthSearch, nil); err != nil {
			return nil, err
		}
		j = w.Job
	}
	s, err := w.First(ctx)
	if err != nil {
		return nil, err
	}
	e, err := evaluateStart(ctx, j, s)
	if inspect != nil {
		err = errors.Join(err, inspect(s.Objective))
	}
	if err != nil {
		return nil, err
	}
	loo, err := scoreLeaveOneOut(ctx, s, e.z)
	if err != nil {
		return nil, err
	}
	r := newReport(s, e)
	r.Type, r.Status, r.Scores.LeaveOneOut = "nlml", "evaluated", loo
	if r.Robust, err = robustReport(ctx, s, e.z); err != nil {
		return nil, err
	}
	if r.Residual, err = s.Residual(ctx); err != nil {
		return nil, err
	}
	r.Seconds = time.Since(began).Seconds()
	return &r, r.CheckFinite()
}

// evaluateStart evaluates value and gradient at the start values.
func evaluateStart(ctx context.Context, j *tuning.Job, s *tuning.Placement) (evaluation, error) {
	e := evaluation{z: j.Params.Start()}
	e.grad = make([]float64, len(e.z))
	ev := descent.NewOracle(s, nil)
	f, err := ev.Value(ctx, e.z)
	if err == nil && !math.IsInf(f, 1) {
		s.WarnCondition(ctx)
		_, err = ev.Gradient(ctx, e.z, e.grad)
	}
	if err == nil {
		err = ev.Reason()
	}
	if err == nil {
		s.WarnGradient(e.grad)
	}
	e.all, e.fullSize = ev.Counts(), ev.Counts()
	return e, j.ExplainStart(err)
}

// tune tunes and returns an outcome with the model. Its errors have the best parameters found.
func tune(ctx context.Context, w *tuning.Workplace, log *journal.Journal) (*Outcome, error) {
	result, choice, chosen, err := search(ctx, w, log)
	c := &closing{w: w, log: log, choice: choice, chosen: chosen}
	if err == nil {
		c.known.floor, err = chooseFloor(ctx, w, result, log)
	}
	if err == nil && w.Job.Options.Robust && c.known.floor != nil && c.known.floor.Raised { // an interpolator hides such rows
		result, err = tuneRobust(ctx, w, log.Part("raised/"), result)
	}
	c.result = result
	switch {
	case problem.IsCancelled(err) && w.Job.Options.DiscardCancelled:
		return nil, &problem.CancelledError{Msg: "interrupted"}
	case problem.IsCancelled(err) && (result == nil || result.X == nil):
		return nil, &problem.CancelledError{Msg: "interrupted before the first evaluation: there is no model to write"}
	case problem.IsCancelled(err):
		err, c.cancelled = nil, &problem.CancelledError{Msg: "interrupted: this is the best point so far"}
	case err != nil:
		err = w.Job.ExplainFit(err)
	}
	var out *Outcome
	if err == nil {
		// This runs to its end even after a cancellation, so that a model can be written.
		out, err = c.settle(context.WithoutCancel(ctx))
	}
	if err != nil {
		return nil, c.failed(err)
	}
	return out, c.cancelled
}

// search tunes the job of w over all rows, with the transform and the model that are chosen for it if
// the options leave them open; w then has that job.
func search(ctx context.Context, w *tuning.Workplace, log *journal.Journal) (result *hyperopt.Result, choice *summary.ModelChoice, chosen *summary.TransformReport, err error) {
	var spent descent.Evaluations
	if w.Job.Options.TargetTransform == transform.Auto {
		if chosen, spent, err = auto.Transform(ctx, w, log); err != nil {
			return nil, nil, nil, err
		}
	}
	robust := w.Job.Options.Robust
	if w.Job.Options.Auto() {
		if robust { // a row that is far off must not choose the kernel
			if _, err = searchRows(ctx, w, w.Job.Params.Start(), worthChoice, log.Part("robust/").Sequence("rows")); err != nil {
				return nil, nil, nil, err
			}
			spent.Add(searchCost)
		}
		if result, choice, err = auto.Tune(ctx, w, log); err == nil && robust {
			result, err = tuneRobust(ctx, w, log, result)
		}
	} else if robust {
		result, err = tuneRobust(ctx, w, log, nil)
	} else {
		result, err = tuneFound(ctx, w, log)
	}
	if result != nil {
		result.Total.Add(spent)
	}
	return result, choice, chosen, err
}

// freshNoise is where noise begins that an earlier fit found too small, as a share of the targets' variance.
const freshNoise = 0.1

// tuneFound tunes one model. The little noise that an earlier fit found can leave the covariance of other
// rows singular: then the noise begins with more.
func tuneFound(ctx context.Context, w *tuning.Workplace, log *journal.Journal) (*hyperopt.Result, error) {
	result, err := hyperopt.Tune(ctx, w, w.Job.Settings(w.Backends[0]), log)
	if _, undefined := errors.AsType[*descent.StartError](err); !undefined {
		return result, err
	}
	any, least := false, freshNoise*w.Job.Model.TargetVariance(w.Job.Sample)
	fresh := w.Job.Params.Changed(func(_ int, q *problem.Parameter) {
		if q.Group == graph.NoiseVariance && q.Found && !q.Fixed && q.Start < least {
			q.Start, any = min(least, q.Upper), true
		}
	})
	if !any {
		return result, err
	}
	tuning.Rebind(w, w.Job.With(func(p *problem.Prepared) { p.Params = fresh }))
	return hyperopt.Tune(ctx, w, w.Job.Settings(w.Backends[0]), log.Part("noise/"))
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

// checkpointError converts a journal's error to one of the options or the data, unless the
// system cannot open, read or write the checkpoint.
func checkpointError(err error) error {
	var e *journal.Error
	switch {
	case !errors.As(err, &e) || e.Err != nil:
		return err
	case e.Damaged:
		return &problem.DataError{Msg: "checkpoint " + e.Path + " " + e.Msg}
	}
	return problem.OptionErrorf("checkpoint", e.Path, "%s", e.Msg)
}

// withCheckpoint adds to the error of a fit that can continue how to continue it.
func withCheckpoint(j *tuning.Job, err error) error {
	if _, option := errors.AsType[*problem.OptionError](err); option || err == nil || j.Options.Checkpoint == "" {
		return err
	}
	return fmt.Errorf("%w\nthe same fit continues from the checkpoint %s", err, j.Options.Checkpoint)
}

// UpdatedRecord returns the record of the outcome with the updates of another one.
func (o *Outcome) UpdatedRecord(updated json.RawMessage) (json.RawMessage, error) {
	history, err := summary.ReadRecord(updated)
	if err != nil {
		return nil, err
	}
	o.Record = *history
	if err := o.record(); err != nil {
		return nil, err
	}
	return o.Model.Record, nil
}

// Parts is a job on a device as Fit and Evaluate use it, for measurements of the single steps.
type Parts struct {
	// Objective is the objective of the graph, and Start its vector at the start values.
	Objective *graph.Objective
	Start     []float64
	// Workspace belongs to the objective.
	Workspace device.Workspace
	placement *tuning.Placement
}

// Measure opens the job on b, passes the parts to f and closes them.
func Measure(ctx context.Context, j *tuning.Job, b device.Backend, f func(*Parts) error) error {
	s, err := j.Open(ctx, b)
	if err != nil {
		return err
	}
	defer s.Close()
	return f(&Parts{Objective: s.Objective, Start: j.Params.Start(), Workspace: s.Workspace, placement: s})
}

// Evaluate evaluates value and gradient at the start and reports them, as [Evaluate] does.
func (p *Parts) Evaluate(ctx context.Context) (summary.Report, error) {
	e, err := evaluateStart(ctx, p.placement.Job, p.placement)
	if err != nil {
		return summary.Report{}, err
	}
	return newReport(p.placement, e), nil
}

// Posterior returns the posterior at z, the point that the objective evaluated last.
// It uses the objective's workspace and is valid until the next evaluation. Measure
// closes the workspace; the caller must not.
func (p *Parts) Posterior(z []float64) (*gp.Posterior, error) {
	return p.placement.Model(z, "").Attach(p.Workspace)
}

// Rows returns the first m training rows with all features, in original units.
func (p *Parts) Rows(m int) []float64 { return p.placement.Job.Sample.FirstRows(m) }

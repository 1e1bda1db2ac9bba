package fit

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"gpfit/fit/problem"
	"gpfit/fit/summary"
	"gpfit/fit/tuning"
	"gpfit/gp"
	"gpfit/hyperopt/journal"
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
// covariance, so that predictions need no further n×n matrix. It is nil before Complete, and if a
// cancellation left no time for it; it is valid until Close.
func (o *Outcome) Posterior() *gp.Posterior { return o.posterior }

// SaveModel writes the model to a file, with its Cholesky factor if withFactor.
func (o *Outcome) SaveModel(path string, withFactor bool) error {
	if err := o.record(); err != nil {
		return err
	}
	if withFactor && o.posterior != nil {
		return o.posterior.SaveWithFactor(path)
	}
	return o.Model.Save(path)
}

// WriteModel writes to w the bytes that SaveModel writes.
func (o *Outcome) WriteModel(w io.Writer, withFactor bool) error {
	if err := o.record(); err != nil {
		return err
	}
	if withFactor && o.posterior != nil {
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

// checkpointError converts a journal's error to one of the options or the data, unless the
// system cannot open, read or write the checkpoint.
func checkpointError(err error) error {
	var e *journal.Error
	switch {
	case !errors.As(err, &e) || e.Err != nil:
		return err
	case e.Damaged:
		return fmt.Errorf("%w%.0w", &problem.DataError{Msg: "checkpoint " + e.Path + " " + e.Msg}, e) // the text of the first alone
	}
	return fmt.Errorf("%w%.0w", problem.OptionErrorf("checkpoint", e.Path, "%s", e.Msg), e)
}

// withCheckpoint adds to the error of a fit that can continue how to continue it.
func withCheckpoint(j *tuning.Job, err error) error {
	if _, option := errors.AsType[*problem.OptionError](err); option || err == nil || j.Options.Checkpoint == "" {
		return err
	}
	return fmt.Errorf("%w\nthe same fit continues from the checkpoint %s", err, j.Options.Checkpoint)
}

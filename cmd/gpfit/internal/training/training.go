// Package training is what the commands share that read a training table: their
// flags, and the way from a table to a job on its devices.
package training

import (
	"cmp"
	"context"
	"errors"

	"gpfit"
	"gpfit/cmd/gpfit/internal/devices"
	"gpfit/cmd/gpfit/internal/flags"
	"gpfit/cmd/gpfit/internal/messages"
	"gpfit/device"
	"gpfit/fit"
)

// TableFlags are those of the table, the model and the devices. A command declares
// the groups that it has.
type TableFlags struct {
	flags.DataFlags
	flags.ModelFlags
	flags.ScoreFlags
	devices.Flags
}

// Options turns the flags into fit's options.
func (f *TableFlags) Options(msg *messages.Writer) (fit.Options, error) {
	o, err := f.ModelFlags.Options()
	if err == nil {
		err = cmp.Or(f.Apply(&o), f.CheckThreads())
	}
	o.OnProgress, o.Fallback = msg.Progress, f.Reopen()
	return o, err
}

// OpenJob is a prepared job on open devices.
type OpenJob struct {
	*fit.Job
	*gpfit.OpenDevices
}

// Open prepares a job, warns of what is to be known of it, and opens its devices,
// or only one. The caller closes the job.
func (f *TableFlags) Open(ctx context.Context, msg *messages.Writer, data fit.Data, opts fit.Options, one bool) (*OpenJob, error) {
	job, err := fit.Prepare(data, opts)
	if err != nil {
		return nil, err
	}
	if cv := f.CrossValidation(); cv != nil {
		if err := cv.Check(job.N()); err != nil {
			return nil, err
		}
	}
	for _, w := range job.Warnings() {
		msg.Warn(w)
	}
	msg.Objective = job.ObjectiveLabel()
	opened, err := f.OpenFor(ctx, msg, job, one)
	if err != nil {
		return nil, err
	}
	return &OpenJob{job, opened}, nil
}

// CrossValidate adds the scores of --scores cv to a report.
func (f *TableFlags) CrossValidate(ctx context.Context, msg *messages.Writer, job *fit.Job, b device.Backend, r *fit.Report) error {
	cv := f.CrossValidation()
	if cv == nil {
		return nil
	}
	cv.OnFold = func(k, folds int) { msg.Step("fold %d of %d", k+1, folds) }
	scores, err := job.CrossValidate(ctx, b, r.Parameters, *cv)
	if r.Scores.CrossValidation = scores; scores != nil {
		r.Warnings = append(r.Warnings, scores.Warnings...)
	}
	if errors.Is(err, context.Canceled) {
		return &fit.CancelledError{Msg: "interrupted before the cross-validation was done"}
	}
	return err
}

// Package training turns a training table into a job on open devices, for all commands
// that read one. It also declares their common flags.
package training

import (
	"context"
	"errors"
	"io"

	"gpfit"
	"gpfit/cmd/gpfit/internal/devices"
	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/cmd/gpfit/internal/flags"
	"gpfit/cmd/gpfit/internal/messages"
	"gpfit/device"
	"gpfit/fit"
	"gpfit/fit/problem"
	"gpfit/fit/summary"
	"gpfit/internal/tuning"
)

// Flags are the options of a command that reads a training table.
type Flags struct{ flags.Options }

// Events returns this program's progress messages and its fallback device.
func (f *Flags) Events(msg *messages.Writer) problem.Events {
	return problem.Events{OnProgress: msg.Progress, Fallback: devices.Reopen(f.Compute)}
}

// ReadTable reads a training table. If ctx is done first, it returns ctx's error. It returns a
// [*problem.OptionError] if the method does not exist or does not suit the other options.
func (f *Flags) ReadTable(ctx context.Context, path string, stdin io.Reader) (problem.Data, error) {
	method, err := problem.FindMethod(f.Compute.Method, gpfit.Methods(), f.Fit)
	if err != nil {
		return problem.Data{}, err
	}
	o := f.Options
	if method != nil {
		o.Data.Method = method
	}
	return o.ReadTable(ctx, path, stdin)
}

// CheckScores returns an error for options of a cross-validation without one, and for
// options of a split without one.
func (f *Flags) CheckScores() error {
	folds := f.Fit.Objective.LeavesFoldsOut()
	switch {
	case f.CrossValidate:
	case f.Changed("refit"):
		return exit.Usagef("--refit needs --scores cv")
	case !folds && f.Changed("folds"):
		return exit.Usagef("--folds needs --scores cv or --objective cv or cv-rmse")
	case !folds && f.Fit.HoldOut == 0 && f.Changed("group", "blocks"):
		return exit.Usagef("--group and --blocks say which rows are held out: they need --holdout, --scores cv or --objective cv or cv-rmse")
	}
	return nil
}

// OpenJob is a prepared job on open devices.
type OpenJob struct {
	*tuning.Job
	*gpfit.OpenDevices
}

// Open prepares a job, prints its warnings, and opens its devices, or only the first
// if one is true. The caller closes the job.
func (f *Flags) Open(ctx context.Context, msg *messages.Writer, data problem.Data, opts problem.Options, events problem.Events, one bool) (*OpenJob, error) {
	job, err := fit.Prepare(data, opts, events)
	if err != nil {
		return nil, err
	}
	if f.CrossValidate {
		if err := job.CheckFolds(f.CrossValidation); err != nil {
			return nil, err
		}
	}
	for _, w := range job.Warnings() {
		msg.Warn(w)
	}
	msg.Objective = job.ObjectiveLabel()
	opened, err := devices.OpenFor(ctx, msg, f.Compute, job, one)
	if err != nil {
		return nil, err
	}
	return &OpenJob{job, opened}, nil
}

// Score adds the scores that --scores cv requests to a report.
func (f *Flags) Score(ctx context.Context, msg *messages.Writer, job *tuning.Job, b device.Backend, r *summary.Report) error {
	if !f.CrossValidate {
		return nil
	}
	cv := f.CrossValidation
	cv.OnFold = func(k, folds int) { msg.Step("fold %d of %d", k+1, folds) }
	scores, err := fit.CrossValidate(ctx, job, b, r.Parameters, cv)
	if r.Scores.CrossValidation = scores; scores != nil {
		r.Warnings = append(r.Warnings, scores.Warnings...)
	}
	if errors.Is(err, context.Canceled) {
		return &problem.CancelledError{Msg: "interrupted before the cross-validation was done"}
	}
	return err
}

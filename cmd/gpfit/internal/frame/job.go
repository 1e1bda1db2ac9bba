package frame

import (
	"context"
	"errors"
	"os"

	"gpfit"
	"gpfit/cmd/gpfit/internal/messages"
	"gpfit/fit"
	"gpfit/fit/problem"
	"gpfit/fit/summary"
	"gpfit/internal/tuning"
)

// Events returns this program's messages about a fit, and its fallback device.
func (c *Command) Events() problem.Events {
	return problem.Events{OnProgress: c.Msg.Progress, OnIteration: c.Msg.Iteration, OnWarning: c.Msg.Say, Fallback: c.devices().OpenFallback()}
}

// OpenJob is a prepared job on open devices.
type OpenJob struct {
	*tuning.Job
	*gpfit.OpenDevices
}

// OpenJob reads the training table at path and prepares a job. It prints
// warnings, and opens its devices, or only the first if one is true. The caller closes the job.
func (c *Command) OpenJob(path string, opts problem.Options, events problem.Events, one bool) (*OpenJob, error) {
	data, err := c.Table(path)
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(opts.Checkpoint); err == nil && info.Size() > 0 {
		c.Msg.Note("continuing from the checkpoint %s", opts.Checkpoint)
	}
	job, err := fit.Prepare(data, opts, events)
	if err != nil {
		return nil, err
	}
	if c.CrossValidate {
		if _, err := job.Sample.Divide(c.CrossValidation, job.Options.Blocks); err != nil {
			return nil, err
		}
	}
	c.Msg.Warn(job.Warnings()...)
	c.Msg.Objective = job.ObjectiveLabel()
	opened, err := c.OpenFor(job, one)
	if err != nil {
		return nil, err
	}
	return &OpenJob{job, opened}, nil
}

// Warned prints the warnings of a report, except the first ones, which were printed. It
// returns them with the warning about the devices, in the words of the command line.
func (c *Command) Warned(warnings []string, printed int, devices string) []string {
	c.Msg.Warn(warnings[printed:]...)
	if devices != "" { // it was printed when they were opened
		warnings = append([]string{devices}, warnings...)
	}
	messages.AllFlags(warnings)
	return warnings
}

// CrossValidated adds the scores that --scores cv requests to a report.
func (c *Command) CrossValidated(job *OpenJob, r *summary.Report) error {
	if !c.CrossValidate {
		return nil
	}
	cv := c.CrossValidation
	cv.OnFold = func(k, folds int) { c.Msg.Step("fold %d of %d", k+1, folds) }
	scores, err := fit.CrossValidate(c.Ctx, job.Job, job.Backends[0], r.Parameters, cv)
	if r.Scores.CrossValidation = scores; scores != nil {
		r.Warnings = append(r.Warnings, scores.Warnings...)
	}
	if errors.Is(err, context.Canceled) {
		return &problem.CancelledError{Msg: "interrupted before the cross-validation was done"}
	}
	return err
}

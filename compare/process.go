package compare

import (
	"context"

	"gpfit/device"
	"gpfit/fit"
	"gpfit/fit/problem"
	"gpfit/gp"
	"gpfit/hyperopt"
	"gpfit/internal/tuning"
)

// process is a Gaussian process with one kernel in the comparison.
type process struct {
	// label is the kernel with the names of columns, and kernel is its text form.
	label    string
	kernel   string
	opts     problem.Options
	events   problem.Events
	backends []device.Backend
}

func (p *process) name() string { return processName + " " + p.label }

// prepare makes the job of the training rows of data.
func (p *process) prepare(data problem.Data) (*tuning.Job, error) {
	o := p.opts
	o.Kernel, o.HoldOut, o.Blocks = p.kernel, 0, false
	o.DiscardCancelled, o.Checkpoint = true, ""
	return fit.Prepare(data, o, p.events)
}

// stages describes the fit for the progress; nil if it cannot begin.
func (p *process) stages(data problem.Data) []hyperopt.Expectation {
	job, err := p.prepare(data)
	if err != nil {
		return nil // the fit says why
	}
	return job.Expected()
}

func (p *process) fit(ctx context.Context, data problem.Data, _ *problem.ScaledRows) (*fitted, error) {
	job, err := p.prepare(data)
	if err != nil {
		return nil, err
	}
	outcome, err := fit.Run(ctx, job, p.backends...)
	if err != nil {
		if outcome != nil {
			outcome.Close()
		}
		return nil, err
	}
	predict := func(ctx context.Context, rows []float64, m int, noise gp.RowNoise) (prediction, error) {
		parts, err := outcome.Posterior().PredictTargets(ctx, rows, m, noise)
		if err != nil {
			return prediction{}, err
		}
		return prediction{parts[0].Mean, parts[0].Std}, nil
	}
	return &fitted{predict, outcome.Report.Warnings, outcome.Report.Parameters, outcome.Close}, nil
}

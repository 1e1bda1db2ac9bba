package fit

import (
	"cmp"
	"context"
	"time"

	"gpfit/device"
	"gpfit/fit/internal/auto"
	"gpfit/fit/problem"
	"gpfit/fit/separate"
	"gpfit/fit/summary"
	"gpfit/fit/tuning"
	"gpfit/gp"
	"gpfit/hyperopt/journal"
)

// Run is [Tune] and [Outcome.Complete]. If ctx is cancelled after the first evaluation, Run returns
// the best model so far with ctx's error. The caller closes the outcome if it is not nil.
func Run(ctx context.Context, j *tuning.Job, backends ...device.Backend) (*Outcome, error) {
	out, err := Tune(ctx, j, backends...)
	if out == nil {
		return nil, err
	}
	cancelled, err := out.finish(ctx)
	if err != nil {
		out.Close()
		return nil, err
	}
	return out, cancelled
}

// Tune tunes the parameters and returns an outcome with the model. Its report has the parameters and
// the terms of the objective; Complete adds the rest. With Options.Robust, Tune finds rows that do not
// fit, by relevance pursuit, and gives each a noise variance of its own (package fit/internal/pursuit).
// With several backends, starts run on them in parallel. If ctx is cancelled after the first
// evaluation, Tune returns the best model so far with ctx's error. The caller closes the outcome if it
// is not nil.
func Tune(ctx context.Context, j *tuning.Job, backends ...device.Backend) (*Outcome, error) {
	began := time.Now()
	if err := cmp.Or(j.Sample.CheckTargets(), j.CheckUnits(), problem.CheckSymmetry(j.Prepared)); err != nil {
		return nil, err
	}
	var log *journal.Journal
	if j.Options.Checkpoint != "" {
		var err error
		if log, err = journal.Open(j.Options.Checkpoint, j.ID(), failures); err != nil {
			return nil, checkpointError(err)
		}
	}
	w := &tuning.Workplace{Job: j, Backends: backends, Crew: &tuning.Crew{}}
	finish := func() {
		w.Close()
		_ = log.Close()
	}
	run := tune
	if j.Separate() {
		run = tuneParts
	}
	out, err := run(ctx, w, log)
	err = withCheckpoint(j, checkpointError(err))
	if out == nil {
		finish()
		return nil, err
	}
	out.close, out.journal, out.began = finish, log, began
	if j.Separate() {
		out.close = func() {
			_ = out.posterior.Close()
			finish()
		}
	}
	return out, err
}

// Prepare checks data and options and returns the job. Errors: [*problem.DataError],
// [*problem.OptionError], [*kernel.ParseError], [*kernel.CompileError], [*mean.ParseError],
// and with RequirePSD [*kernel.KernelhoodError].
func Prepare(data problem.Data, opts problem.Options, events problem.Events) (*tuning.Job, error) {
	p, err := problem.New(data, opts)
	if err != nil {
		return nil, err
	}
	j := tuning.New(p, events)
	if j.Separate() {
		if err := separate.Check(j); err != nil {
			return nil, err
		}
	}
	return j, nil
}

// tuneParts tunes local experts with parameters of their own, and scores the model of all. The
// caller closes its posterior.
func tuneParts(ctx context.Context, w *tuning.Workplace, log *journal.Journal) (*Outcome, error) {
	var choice *summary.ModelChoice
	if w.Job.Options.Auto() {
		var err error
		if choice, err = auto.Choose(ctx, w, log); err != nil {
			return nil, err
		}
	}
	j := w.Job
	r, m, cancelled := separate.Tune(ctx, j, w, log, expertsReport(j.Prepared), func(ctx context.Context, j *tuning.Job, w *tuning.Workplace, log *journal.Journal) (summary.Report, *gp.Model, error) {
		out, err := tune(ctx, w, log)
		if out == nil {
			return summary.Report{}, nil, err
		}
		cancelled, err := out.complete(ctx)
		if err != nil {
			return summary.Report{}, nil, err
		}
		return out.Report, out.Model, cancelled
	})
	if m == nil {
		return nil, cancelled
	}
	r.Choice = choice
	out := &Outcome{Report: r, Model: m, Job: j}
	final := context.WithoutCancel(ctx)
	posterior, err := m.Condition(final, w.Backends[0])
	if err != nil {
		return nil, j.AdviseExperts(err)
	}
	if err := posterior.CalibrateExperts(final); err != nil {
		_ = posterior.Close()
		return nil, err
	}
	addCalibration(&out.Report, m.Experts)
	out.posterior = posterior
	out.complete = func(ctx context.Context) (error, error) {
		err := scoreParts(context.WithoutCancel(ctx), j, &out.Report, posterior, w.Backends[0].Info().Threads)
		return cancelled, cmp.Or(err, out.Report.CheckFinite())
	}
	return out, cancelled
}

// scoreParts adds relevance and scores to the report of all parts.
func scoreParts(ctx context.Context, j *tuning.Job, r *summary.Report, p *gp.Posterior, threads int) error {
	values := make([]float64, len(r.Names))
	for i, name := range r.Names {
		values[i] = r.Parameters[name]
	}
	var err error
	if r.Relevance, err = relevance(ctx, j, threads, p, values); err != nil {
		return err
	}
	if j.Options.LeaveOneOut || j.Options.Objective.LeavesOut() {
		if r.Scores.LeaveOneOut, err = leaveOneOut(ctx, j, p); err != nil {
			return err
		}
	}
	tests, err := scoreHeldOut(ctx, j, p)
	if err != nil {
		return err
	}
	addTests(r, tests)
	addEvidence(ctx, r, j, p)
	return nil
}

package fit

import (
	"cmp"
	"context"
	"time"

	"gpfit/device"
	"gpfit/fit/internal/auto"
	"gpfit/fit/problem"
	"gpfit/fit/tuning"
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
	if err := cmp.Or(j.Sample.CheckTargets(), j.CheckUnits(), j.CheckSymmetry()); err != nil {
		return nil, err
	}
	var log *journal.Journal
	if j.Options.Checkpoint != "" {
		var err error
		if log, err = journal.Open(j.Options.Checkpoint, j.ID(), failures); err != nil {
			return nil, checkpointError(err)
		}
	}
	j.Meter.Begin(j.N(), func() []float64 { return j.Steps(backends[0], Expect(j, backends[0])) })
	w := &tuning.Workplace{Job: j, Backends: backends, Crew: &tuning.Crew{}}
	late, end := grace(ctx, j, j.Notice)
	finish := func() {
		end()
		w.Close()
		_ = log.Close()
	}
	out, err := tune(ctx, late, w, log)
	err = withCheckpoint(j, checkpointError(err))
	if out == nil {
		finish()
		return nil, err
	}
	out.close, out.journal, out.began = finish, log, began
	return out, err
}

// Expect returns what each model of a fit of j is expected to take on b: one, or each that a choice tries and the chosen one.
// Cross-validation, draws, robust fits and a comparison of transforms that was asked for come besides.
func Expect(j *tuning.Job, b device.Backend) []tuning.Part {
	if j.Options.Auto() {
		return auto.Forecast(j, b)
	}
	return []tuning.Part{j.Alone(b)}
}

// Prepare checks data and options and returns the job. Errors: [*problem.DataError],
// [*problem.OptionError], [*kernel.ParseError], [*kernel.CompileError], [*mean.ParseError],
// and with RequirePSD [*kernel.KernelhoodError].
func Prepare(data problem.Data, opts problem.Options, events problem.Events) (*tuning.Job, error) {
	p, err := problem.New(data, opts)
	if err != nil {
		return nil, err
	}
	return tuning.New(p, events), nil
}

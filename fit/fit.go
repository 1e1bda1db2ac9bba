package fit

import (
	"cmp"
	"context"
	"time"

	"gpfit/device"
	"gpfit/fit/problem"
	"gpfit/internal/journal"
	"gpfit/internal/tuning"
)

// Run tunes the parameters and returns the model. With several backends, starts run
// on them in parallel. If ctx is cancelled after the first evaluation, Run returns
// the best model so far together with ctx's error. The caller closes the outcome if
// it is not nil.
func Run(ctx context.Context, j *tuning.Job, backends ...device.Backend) (*Outcome, error) {
	began := time.Now()
	if err := cmp.Or(j.Sample.CheckTargets(), j.CheckUnits()); err != nil {
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
	var out *Outcome
	var err error
	if j.Separate() {
		out, err = tuneParts(ctx, j, w, log)
	} else {
		out, err = tune(ctx, j, w, log)
	}
	err = withCheckpoint(j, checkpointError(err))
	if out == nil {
		finish()
		return nil, err
	}
	out.close, out.journal = finish, log
	if j.Separate() {
		out.close = func() {
			_ = out.posterior.Close()
			finish()
		}
	}
	if err == nil {
		// The caller removes the log after writing the result. If the machine fails
		// before that, it loses what any log may lose, the last second.
		log.Finish()
	}
	out.Report.Seconds = time.Since(began).Seconds()
	if failure := out.record(); err == nil {
		err = failure
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
	return tuning.New(p, events), nil
}

package fit

import (
	"cmp"
	"context"
	"time"

	"gpfit/device"
	"gpfit/internal/journal"
)

// Fit tunes the parameters and returns the model. With several backends, starts run
// on them in parallel. If ctx is cancelled after the first evaluation, Fit returns
// the best model so far together with ctx's error. The caller closes the outcome if
// it is not nil.
func (j *Job) Fit(ctx context.Context, backends ...device.Backend) (*Outcome, error) {
	began := time.Now()
	if err := cmp.Or(j.sample.checkTargets(), j.checkUnits()); err != nil {
		return nil, err
	}
	var log *journal.Journal
	if j.opts.Checkpoint != "" {
		var err error
		if log, err = journal.Open(j.opts.Checkpoint, j.id(), failures); err != nil {
			return nil, checkpointError(err)
		}
	}
	w := &workplace{job: j, backends: backends, crew: &crew{}}
	finish := func() {
		w.close()
		_ = log.Close()
	}
	var out *Outcome
	var err error
	if j.parts != nil {
		out, err = j.fitParts(ctx, w, log)
	} else {
		out, err = j.fit(ctx, w, log)
	}
	err = j.checkpointed(checkpointError(err))
	if out == nil {
		finish()
		return nil, err
	}
	out.close, out.journal = finish, log
	if j.parts != nil {
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

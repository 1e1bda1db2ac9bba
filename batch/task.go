package batch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"gpfit/batch/rundir"
	"gpfit/device"
	"gpfit/fit"
	"gpfit/hyperopt/descent"
	"gpfit/kernel"
)

// task is a job on its way through this process.
type task struct {
	demand
	// cost is the work of one evaluation, for the order and the estimate.
	cost     float64
	attempts int // of this process
	// seen is the number of events when the run began: an end after them is
	// another process's.
	seen   int
	passed int // how often others were started before it

	prepare  sync.Once
	prepared *fit.Job
	err      error

	// at is the place, began when it was taken, placed whether it is now. A task
	// that waits for its place has a gate, which is opened when it is taken.
	at     place
	placed bool
	gate   chan struct{}
	began  time.Time
	status atomic.Pointer[string]
}

// outcome is how an attempt ended.
type outcome struct {
	task *task
	// state is what the job is at now; err is why it failed, kind of which kind.
	state rundir.State
	err   error
	kind  string
	// fatal ends the run: the directory cannot be written.
	fatal      error
	elsewhere  bool
	evaluation float64
	busy       time.Duration
}

// runner does jobs. Its methods may be called from several goroutines.
type runner struct {
	run  *rundir.Run
	pool *pool
	load *loader
	// shared says that other processes work on the run too.
	shared bool
}

// attempt claims and does a job, at a place of which the memory may still be open
// if the task has a gate. computed is called as soon as the device is
// free again, before the result is written.
func (r *runner) attempt(ctx context.Context, t *task, at place, computed func()) outcome {
	out := outcome{task: t}
	claim, err := r.run.Claim(t.job)
	if errors.Is(err, rundir.ErrClaimed) {
		out.elsewhere = true
		return out
	}
	if err != nil {
		out.fatal = err
		return out
	}
	defer claim.Release()
	if state := claim.State(); state == rundir.StateDone || state == rundir.StateFailed && len(claim.Record) > t.seen && r.shared && t.attempts == 0 {
		out.state, out.elsewhere = state, true
		last := claim.Record.Last()
		out.kind, out.err = last.Kind, errors.New(last.Error)
		return out
	}
	t.attempts++
	attempt := claim.Record.Last().Attempt + 1
	if err := claim.Append(rundir.JobEvent{Type: rundir.Started, Attempt: attempt}); err != nil {
		out.fatal = err
		return out
	}
	log, closeLog := r.openLog(t, attempt, at)
	defer closeLog()
	report, err := r.compute(ctx, t, at, log, computed)
	if report != nil {
		out.evaluation = report.EvaluationSeconds
	}
	event := rundir.JobEvent{Type: rundir.Done, Attempt: attempt, Report: report}
	switch {
	case err == nil:
		out.state = rundir.StateDone
		event.Model = "models/" + t.job.ID + ".gpfit"
		log.Info("done", "nlml", report.NLML, "status", report.Status, "seconds", report.Seconds)
	case isCancelled(err) && ctx.Err() != nil:
		out.state, out.err = rundir.StateInterrupted, err
		event = rundir.JobEvent{Type: rundir.Interrupted, Attempt: attempt}
		log.Info("interrupted")
	default:
		out.state, out.err, out.kind = rundir.StateFailed, err, kindOf(err)
		event = rundir.JobEvent{Type: rundir.Failed, Attempt: attempt, Kind: out.kind, Error: err.Error()}
		if r.mayRetry(t, out.kind) {
			event.Type, out.state = rundir.Retry, rundir.StatePending
		}
		log.Error(event.Type, "kind", out.kind, "error", err)
		var p *panicError
		if errors.As(err, &p) {
			log.Error("stack", "text", string(p.stack))
		}
	}
	if err := claim.Append(event); err != nil {
		out.fatal = err
		return out
	}
	if out.state == rundir.StateDone {
		_ = os.Remove(r.run.Path("checkpoints", t.job.ID))
	}
	return out
}

// mayRetry says whether a job that failed is worth another attempt here.
func (r *runner) mayRetry(t *task, kind string) bool {
	return retryable(kind) && t.attempts <= value(t.job.Options.Retries)
}

// ready reads and checks the job, once.
func (r *runner) ready(t *task) (*fit.Job, error) {
	t.prepare.Do(func() {
		defer recoverTo(&t.err)
		t.prepared, t.err = r.load.prepare(t.job.JobSpec, func(o *fit.Options) {
			o.Checkpoint = r.run.Path("checkpoints", t.job.ID)
			o.DiscardCancelled = true
			o.Settings.Callback = func(it descent.Iteration) { r.iteration(t, it) }
			o.OnWarning = func(string) {} // it is in the report
			if name := value(t.job.Options.Fallback); name != "" {
				o.Fallback = func(ctx context.Context) (device.Backend, error) {
					return r.pool.open(ctx, name, t.threads())
				}
			}
		})
	})
	return t.prepared, t.err
}

func (r *runner) iteration(t *task, it descent.Iteration) {
	status := fmt.Sprintf("start %d, iteration %d, NLML %.4f", it.Start, it.Iteration, it.Best)
	t.status.Store(&status)
}

// compute fits and writes the model. It frees the device, and says so, before
// it writes.
func (r *runner) compute(ctx context.Context, t *task, at place, log *slog.Logger, computed func()) (report *fit.Report, err error) {
	defer recoverTo(&err)
	prepared, err := r.ready(t)
	if err != nil {
		return nil, err
	}
	b, giveBack, err := r.pool.backend(ctx, at)
	if err != nil {
		return nil, err
	}
	defer giveBack()
	if t.gate != nil {
		b = &gated{b, t.gate, ctx.Done()}
	}
	o, err := prepared.Fit(ctx, b)
	if err != nil {
		if o != nil {
			o.Close()
		}
		return nil, err
	}
	withFactor := value(t.job.Options.SaveFactor)
	if !withFactor {
		o.Close()
		computed()
	} else {
		defer o.Close()
	}
	o.Report.ModelFile = ""
	o.Report.Warnings = append(append([]string{}, t.notes...), o.Report.Warnings...)
	for _, w := range o.Report.Warnings {
		log.Warn(w)
	}
	if err := o.SaveModel(r.run.Path("models", t.job.ID), withFactor); err != nil {
		return nil, &writeError{err}
	}
	return &o.Report, nil
}

// gated is a backend whose user may not compute before the gate is open: a job
// opens its checkpoint, and what else waits for the disk, while it waits for its
// core.
type gated struct {
	device.Backend
	gate <-chan struct{}
	// stop ends the wait, also where a fit opens its device to the end.
	stop <-chan struct{}
}

// NewWorkspace implements [device.Backend].
func (g *gated) NewWorkspace(ctx context.Context, x *kernel.Points) (device.Workspace, error) {
	select {
	case <-g.gate:
		return g.Backend.NewWorkspace(ctx, x)
	case <-g.stop:
		return nil, context.Canceled
	}
}

func recoverTo(err *error) {
	if p := recover(); p != nil {
		*err = &panicError{p, debug.Stack()}
	}
}

// openLog opens a job's log; without one the job goes on, since its record
// says what counts.
func (r *runner) openLog(t *task, attempt int, at place) (*slog.Logger, func()) {
	var w io.Writer = io.Discard
	closeLog := func() {}
	if f, err := os.OpenFile(r.run.Path("logs", t.job.ID), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644); err == nil {
		w, closeLog = f, func() { f.Close() }
	}
	log := slog.New(slog.NewTextHandler(w, nil))
	host, _ := os.Hostname()
	log.Info("started", "job", t.job.ID, "attempt", attempt, "device", r.pool.deviceName(at), "threads", at.threads, "host", host, "pid", os.Getpid())
	return log, closeLog
}

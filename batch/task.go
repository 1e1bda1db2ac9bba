package batch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"gpfit/batch/rundir"
	"gpfit/device"
	"gpfit/device/pool"
	"gpfit/device/queue"
	"gpfit/fit"
	"gpfit/fit/problem"
	"gpfit/fit/summary"
	"gpfit/fit/tuning"
	"gpfit/hyperopt"
	"gpfit/internal/textform"
	"gpfit/kernel"
)

// task is a job with its state in this process.
type task struct {
	demand
	// past is how long processes before worked on the job, which continues from its checkpoint.
	past     time.Duration
	work     queue.Load // on the devices of sides
	sides    [2]string
	attempts int // number of attempts in this process
	// seen is the number of events when the run began. If a later event ends the
	// job, another process wrote it.
	// known is the device on which the job had begun then.
	seen   int
	known  string
	passed int // number of jobs that have overtaken this one

	prepare  sync.Once
	prepared *tuning.Job
	err      error
	stack    []byte // of a panic

	// at is the place, began is the time when the task took it, and placed reports
	// whether the task still holds it. A task that starts before it has a place
	// has a gate, which opens when the task takes the place.
	at     pool.Place
	placed bool
	gate   chan struct{}
	began  time.Time
	status atomic.Pointer[string]

	// fits is the state before this attempt, and fitted counts the results of a part in it. retryFailed repeats fits that failed.
	fits        fitCounts
	fitted      atomic.Int64
	retryFailed bool
}

// ran returns how long the task has had its place.
func (t *task) ran() time.Duration {
	if !t.placed {
		return 0
	}
	return time.Since(t.began)
}

// outcome describes how an attempt ended.
type outcome struct {
	task *task
	// state is the new state of the job. err and kind give the reason and the kind of a failure.
	state rundir.State
	err   error
	kind  string
	// fatal ends the run: gpfit cannot write the run directory.
	fatal      error
	elsewhere  bool
	note       string // for the user, if not ""
	evaluation float64
	busy       time.Duration
	fits       fitCounts
	here       int // fits with a result of this attempt
}

// runner runs jobs. It is safe for concurrent use.
type runner struct {
	run  *rundir.Run
	pool *pool.Pool
	load *loader
	// shared means that other processes work on the run too.
	shared bool
}

// attempt claims and runs a job at a place. If the task has a gate, its memory may not be reserved
// yet. attempt calls computed when the device is free again, before it writes the result.
func (r *runner) attempt(ctx context.Context, t *task, at pool.Place, computed func()) outcome {
	out := outcome{task: t, fits: t.fits}
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
		switch {
		case t.job.Each != nil:
			out.fits = outcomeOf(t.job, claim.Each)
		case state == rundir.StateDone:
			out.fits = fitCounts{done: 1}
		}
		if len(claim.Record) > t.seen || !out.fits.open(t.retryFailed) {
			return out
		}
		out.elsewhere = false
	}
	if t.Auto() && t.attempts == 0 && claim.Record.Device() != t.known {
		out.elsewhere = true // another process began it on a device that this one did not know of
		return out
	}
	t.attempts++
	attempt := claim.Record.Last().Attempt + 1
	if err := claim.Append(rundir.JobEvent{Type: rundir.Started, Attempt: attempt, Device: at.DeviceName()}); err != nil {
		out.fatal = err
		return out
	}
	log, closeLog := r.openLog(t, attempt, at)
	defer closeLog()
	var report *summary.Report
	work := func() error {
		if t.job.Each != nil {
			err := r.each(ctx, t, at, claim, log, &out)
			computed()
			out.fits = outcomeOf(t.job, claim.Each)
			return err
		}
		report, err = r.compute(ctx, t, at, log, computed)
		return err
	}
	err = work()
	if uselessCheckpoint(err) {
		out.note = "the fit starts over: " + textform.FirstLine(err.Error())
		t.Notes = append(t.Notes, out.note)
		if err = rundir.SetAside(r.run.Path("checkpoints", t.job.ID)); err == nil {
			err = work()
		}
	}
	if report != nil {
		out.evaluation = report.EvaluationSeconds
	}
	event := rundir.JobEvent{Type: rundir.Done, Attempt: attempt, Report: report}
	switch {
	case err == nil && t.job.Each != nil:
		out.state = rundir.StateDone
		log.Info("done", "results", out.fits.done, "failed", len(out.fits.failed))
	case err == nil:
		out.state, out.fits, out.here = rundir.StateDone, fitCounts{done: 1}, 1
		event.Model = "models/" + t.job.ID + ".gpfit"
		log.Info("done", "nlml", report.NLML, "status", report.Status, "seconds", report.Seconds)
	case problem.IsCancelled(err) && ctx.Err() != nil:
		out.state, out.err = rundir.StateInterrupted, err
		event = rundir.JobEvent{Type: rundir.Interrupted, Attempt: attempt}
		log.Info("interrupted")
	default:
		out.state, out.err, out.kind = rundir.StateFailed, err, kindOf(err)
		event = rundir.JobEvent{Type: rundir.Failed, Attempt: attempt, Kind: out.kind, Error: err.Error()}
		if retryable(out.kind) && t.attempts <= value(t.job.Options.Retries) {
			event.Type, out.state = rundir.Retry, rundir.StatePending
		}
		log.Error(event.Type, "kind", out.kind, "error", err)
		if errors.Is(err, errPanic) {
			log.Error("stack", "text", string(t.stack))
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

// ready reads and checks the job on the first call.
func (r *runner) ready(t *task) (*tuning.Job, error) {
	t.prepare.Do(func() {
		defer t.recoverTo(&t.err)
		if t.job.Each != nil {
			_, t.err = r.load.data(t.job.JobSpec)
			return
		}
		t.prepared, t.err = r.load.prepare(t.job.JobSpec, "", r.events(t), func(o *problem.Options) {
			o.Checkpoint, o.DiscardCancelled = r.run.Path("checkpoints", t.job.ID), true
		})
	})
	return t.prepared, t.err
}

// events returns what a fit of a task tells while it runs. The report has the warnings.
func (r *runner) events(t *task) problem.Events {
	events := problem.Events{}
	if t.job.Each == nil || len(t.job.Each.Labels) == 1 {
		events.OnFit = func(p hyperopt.FitProgress) {
			status := fmt.Sprintf("%.0f %%", 100*p.Share)
			if !math.IsInf(p.Best, 0) {
				status += fmt.Sprintf(", best NLML %.4f", p.Best)
			}
			t.status.Store(&status)
		}
	}
	if name := value(t.job.Options.Fallback); name != "" {
		events.Fallback = func(ctx context.Context) (device.Backend, error) {
			return r.pool.Open(ctx, t.Key(name))
		}
	}
	return events
}

// fit fits a prepared job on a backend. The caller closes the outcome.
func (r *runner) fit(ctx context.Context, t *task, b device.Backend, prepared *tuning.Job) (*fit.Outcome, error) {
	w := tuning.Workload(prepared)
	w.Factor = value(t.job.Options.SaveFactor)
	found, err := r.pool.Found.On(value(t.job.Options.Method), b.Capabilities().Devices, w)
	if err != nil {
		return nil, err
	}
	if b = found[0]; t.gate != nil {
		b = &gated{b, t.gate, ctx.Done()}
	}
	o, err := fit.Run(ctx, prepared, b)
	if err != nil {
		if o != nil {
			o.Close()
		}
		return nil, err
	}
	o.Report.ModelFile = ""
	o.Report.Warnings = append(append([]string{}, t.Notes...), o.Report.Warnings...)
	return o, nil
}

// compute fits the job and writes the model. It frees the device and calls computed
// before it writes, unless the model file includes the factor.
func (r *runner) compute(ctx context.Context, t *task, at pool.Place, log *slog.Logger, computed func()) (report *summary.Report, err error) {
	defer t.recoverTo(&err)
	prepared, err := r.ready(t)
	if err != nil {
		return nil, err
	}
	b, giveBack, err := r.pool.Backend(ctx, at)
	if err != nil {
		return nil, err
	}
	defer giveBack()
	o, err := r.fit(ctx, t, b, prepared)
	if err != nil {
		return nil, err
	}
	withFactor := value(t.job.Options.SaveFactor)
	if withFactor {
		defer o.Close()
	} else {
		o.Close()
		computed()
	}
	for _, w := range o.Report.Warnings {
		log.Warn(w)
	}
	if err := o.SaveModel(r.run.Path("models", t.job.ID), withFactor); err != nil {
		return nil, fmt.Errorf("%w%.0w", err, errWrite) // the text of err alone
	}
	return &o.Report, nil
}

// gated is a backend that does not compute until its gate opens. A job opens its
// checkpoint and does other disk work while it waits for its core.
type gated struct {
	device.Backend
	gate <-chan struct{}
	// stop ends the wait even if the context that the fit passes does not.
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

// For is the function [device.For] for the backend behind the gate.
func (g *gated) For(w device.Workload) device.Backend {
	return &gated{device.For(g.Backend, w), g.gate, g.stop}
}

// Exactly is the function [device.Exactly] for the backend behind the gate.
func (g *gated) Exactly(w device.Workload) device.Backend {
	if b := device.Exactly(g.Backend, w); b != nil {
		return &gated{b, g.gate, g.stop}
	}
	return nil
}

// recoverTo turns a panic into an error, and keeps its stack.
func (t *task) recoverTo(err *error) {
	if p := recover(); p != nil {
		*err, t.stack = fmt.Errorf("%w: %v", errPanic, p), debug.Stack()
	}
}

// openLog opens the log of a job and returns a function that closes it. A job runs
// without a log if the file cannot be opened: its record has everything that matters.
func (r *runner) openLog(t *task, attempt int, at pool.Place) (*slog.Logger, func()) {
	var w io.Writer = io.Discard
	closeLog := func() {}
	if f, err := r.run.OpenLog(t.job.ID); err == nil {
		w, closeLog = f, func() { f.Close() }
	}
	log := slog.New(slog.NewTextHandler(w, nil))
	host, _ := os.Hostname()
	log.Info("started", "job", t.job.ID, "attempt", attempt, "device", at.DeviceName(), "threads", at.On.Threads, "host", host, "pid", os.Getpid())
	return log, closeLog
}

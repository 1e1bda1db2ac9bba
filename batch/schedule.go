package batch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"gpfit/batch/rundir"
	"gpfit/batch/spec"
	"gpfit/device/pool"
	"gpfit/device/queue"
	"gpfit/internal/pace"
	"gpfit/internal/textform"
)

// The loop reports progress at every progressInterval, and checks the jobs of
// other processes at every elsewhereInterval.
const (
	progressInterval  = 200 * time.Millisecond
	elsewhereInterval = time.Second
)

// patience is the number of jobs that may overtake a job that does not fit yet.
// After that no other job starts until it fits.
const patience = 16

// scheduler decides when each job runs. All of its fields except the runner belong
// to the goroutine of loop.
type scheduler struct {
	runner
	ctx context.Context
	o   Options

	// pending holds the waiting jobs in the order in which they are tried. Other
	// processes have claimed the jobs in elsewhere.
	pending, elsewhere []*task
	running            map[*task]bool
	// ahead holds the tasks that have started without a place and wait at their gate.
	ahead    []*task
	ended    chan outcome
	freed    chan *task
	summary  Summary
	failures map[string]Failure
	began    time.Time
	fatal    error
	pace     paces
	rates    queue.Rates
}

func newScheduler(ctx context.Context, r *rundir.Run, o Options) (*scheduler, error) {
	p, err := pool.New(ctx, o.pool())
	if err != nil {
		return nil, err
	}
	s := &scheduler{
		runner: runner{run: r, pool: p, shared: o.Shared}, ctx: ctx, o: o, running: map[*task]bool{}, failures: map[string]Failure{}, began: time.Now(),
		ended: make(chan outcome), freed: make(chan *task),
	}
	var jobs []spec.JobSpec
	for i, j := range r.Jobs {
		if !o.Shard.holds(i) {
			continue
		}
		s.summary.Total += j.Fits()
		status, err := r.Status(j)
		if err != nil {
			return nil, err
		}
		last := status.Record.Last()
		fits := outcomeOf(j, status.Each)
		if status.State == rundir.StateDone && j.Each == nil {
			fits = fitCounts{done: 1}
		}
		s.summary.Done += fits.done
		switch ended := fits; status.State {
		case rundir.StateDone, rundir.StateFailed:
			if status.State == rundir.StateFailed {
				ended.fail(j, last.Kind, last.Error)
			}
			if ended.open(o.RetryFailed) {
				break
			}
			ended.addFailures(s.failures)
			if took := whole(status.Record); took > 0 {
				d := newDemand(j)
				s.pace.add(&d, took.Seconds())
			}
			if status.State == rundir.StateDone { // a process that was killed after it wrote the result may have left its checkpoint
				_ = os.Remove(r.Path("checkpoints", j.ID))
			}
			continue
		case rundir.StateDamaged:
			s.note(fmt.Sprintf("%s is done again: %s", j.ID, status.About))
		}
		t := &task{demand: newDemand(j), fits: fits, retryFailed: o.RetryFailed, seen: len(status.Record), known: status.Record.Device()}
		t.Home = status.Record.Device()
		t.past = past(status.Record, r.Path("checkpoints", j.ID))
		s.pending = append(s.pending, t)
		jobs = append(jobs, j.JobSpec)
	}
	// Big jobs start first, so that no big job runs alone at the end.
	slices.SortStableFunc(s.pending, func(a, b *task) int { return cmp.Compare(b.Cost(), a.Cost()) })
	s.load = newLoader(r.Hashes(), jobs, o.Formats, o.Methods)
	for _, t := range s.pending {
		if _, ok := p.Found.OnHost(t.Device); !ok {
			p.OpenAccelerators(ctx, s.note)
		}
	}
	s.summary.Workers = p.Cores
	return s, nil
}

func (s *scheduler) close() { s.pool.Close() }

func (s *scheduler) note(text string) {
	if s.o.OnNote != nil {
		s.o.OnNote(text)
	}
}

// loop starts jobs that fit and waits for events, until all jobs are done.
func (s *scheduler) loop() (Summary, error) {
	tick := time.NewTicker(progressInterval)
	defer tick.Stop()
	lastLook := time.Now()
	stop := s.ctx.Done()
	for {
		switch {
		case s.ctx.Err() != nil:
		case s.fatal == nil:
			s.start()
		default: // no job begins, but a job that runs ahead gets its place
			s.ahead = slices.DeleteFunc(s.ahead, s.admit)
		}
		waiting := s.o.Wait && len(s.elsewhere) > 0 && s.ctx.Err() == nil && s.fatal == nil
		if len(s.running) == 0 && !waiting && (len(s.pending) == 0 || s.ctx.Err() != nil || s.fatal != nil) {
			if s.ctx.Err() == nil && s.fatal == nil && s.lookElsewhere() {
				continue
			}
			break
		}
		select {
		case out := <-s.ended:
			s.finish(out)
		case t := <-s.freed:
			// The device is free while the result is written.
			s.leave(t)
		case <-stop:
			stop = nil
			s.note("stopping; checkpoints remain of " + textform.Counted(s.pool.Running, "running job"))
		case <-tick.C:
			s.tellProgress()
			if len(s.running) < s.pool.Cores && time.Since(lastLook) > elsewhereInterval {
				lastLook = time.Now()
				s.lookElsewhere()
			}
		}
	}
	s.tellProgress()
	return s.sum()
}

// lookElsewhere makes jobs pending again if another process has ended its claim.
// It reports whether it found any.
func (s *scheduler) lookElsewhere() bool {
	found := false
	var left []*task
	for _, t := range s.elsewhere {
		if s.run.Busy(t.job) { // without reading its record, which is long for a part
			left = append(left, t)
			continue
		}
		status, err := s.run.Status(t.job)
		if err == nil && status.State == rundir.StateRunning {
			left = append(left, t)
			continue
		}
		if err == nil {
			t.Home, t.known = status.Record.Device(), status.Record.Device()
		}
		s.pending = append(s.pending, t)
		found = true
	}
	s.elsewhere = left
	return found
}

// take reserves a place for a task; leave frees it.
func (s *scheduler) take(t *task, at pool.Place) {
	s.pool.Reserve(at)
	t.at, t.began, t.placed = at, time.Now(), true
}

func (s *scheduler) leave(t *task) {
	if t.placed {
		s.pool.Free(t.at)
		t.placed = false
	}
}

func (s *scheduler) begin(t *task) {
	s.running[t] = true
	at := t.at // a task with a gate gets its place while it runs
	go func() {
		var busy time.Duration
		out := s.attempt(s.ctx, t, at, func() {
			busy = time.Since(t.began)
			s.freed <- t
		})
		out.busy = busy
		s.ended <- out
	}()
}

// goAhead lets the next job run up to its gate, if the job runs on the host.
func (s *scheduler) goAhead() {
	if len(s.pending) == 0 || len(s.ahead) > s.pool.Cores/8 {
		return
	}
	t := s.pending[0]
	names := s.sides(t)
	if names[queue.Cores] == "" || names[queue.Cards] != "" || t.Alone || t.job.N == 0 || t.job.Each != nil {
		return
	}
	at, err := s.pool.Find(&t.Demand, queue.Cores)
	if !errors.Is(err, pool.ErrLater) {
		return
	}
	s.pending = s.pending[1:]
	t.at, t.gate = at, make(chan struct{})
	s.ahead = append(s.ahead, t)
	s.begin(t)
}

// admit opens the gate of a task if the task fits now.
func (s *scheduler) admit(t *task) bool {
	at, err := s.pool.Find(&t.Demand, queue.Cores)
	if errors.Is(err, pool.ErrLater) {
		return false
	}
	s.take(t, at) // the task itself meets any other error
	close(t.gate)
	return true
}

// refuse records the failure of a job that cannot run on this machine. In a
// shared run it leaves the job to other processes.
func (s *scheduler) refuse(t *task, cause error) {
	kind := kindOf(cause)
	if s.o.Shared && retryable(kind) {
		s.note(fmt.Sprintf("%s cannot run on this machine: %s", t.job.ID, textform.FirstLine(cause.Error())))
		t.fits.fail(t.job, kind, cause.Error())
		t.fits.addFailures(s.failures)
		return
	}
	claim, err := s.run.Claim(t.job)
	if err != nil {
		if errors.Is(err, rundir.ErrClaimed) {
			s.elsewhere = append(s.elsewhere, t)
			return
		}
		s.fatal = err
		return
	}
	defer claim.Release()
	if err := claim.Append(rundir.JobEvent{Type: rundir.Failed, Attempt: claim.Record.Last().Attempt + 1, Kind: kind, Error: cause.Error()}); err != nil {
		s.fatal = err
	}
	s.fail(t, kind, cause)
}

// fail lets the fits of a task fail that have not ended, and ends the task.
func (s *scheduler) fail(t *task, kind string, cause error) {
	t.fits.fail(t.job, kind, cause.Error())
	s.end(t)
}

// end takes over the failures of a task that has ended.
func (s *scheduler) end(t *task) {
	const most = 3
	t.fits.addFailures(s.failures)
	for _, f := range t.fits.failed[:min(most, len(t.fits.failed))] {
		s.note(fmt.Sprintf("%s failed (%s): %s", f.Job, f.Kind, textform.FirstLine(f.Error)))
	}
	if more := len(t.fits.failed) - most; more > 0 {
		s.note(fmt.Sprintf("%s: %d more failed; 'gpfit show %s' lists them", t.job.ID, more, s.run.Dir))
	}
	s.load.release(t.job.JobSpec)
}

// finish records the outcome of an attempt.
func (s *scheduler) finish(out outcome) {
	t := out.task
	s.leave(t)
	delete(s.running, t)
	s.ahead = slices.DeleteFunc(s.ahead, func(other *task) bool { return other == t })
	t.gate = nil
	s.summary.EvaluationSeconds += out.evaluation
	if out.note != "" {
		s.note(t.job.ID + ": " + out.note)
	}
	if t.at.Side() == queue.Cores {
		s.summary.CoreSeconds += out.evaluation * float64(max(1, t.at.Cores))
	}
	switch {
	case out.fatal != nil:
		if s.fatal == nil {
			s.fatal = out.fatal
		}
	case out.elsewhere && out.state == "":
		s.elsewhere = append(s.elsewhere, t)
	default:
		s.summary.Done += out.fits.done - t.fits.done
		s.summary.Here += out.here
		t.fits = out.fits
		t.fitted.Store(0)
		s.settle(t, out)
	}
}

// settle ends a task, or lets it try again.
func (s *scheduler) settle(t *task, out outcome) {
	switch out.state {
	case rundir.StateDone:
		if !out.elsewhere {
			if t.past == 0 { // otherwise a part of the job was done before
				s.pace.add(&t.demand, out.busy.Seconds())
			}
			s.rates.Add(t.at.Side(), t.work, out.busy.Seconds())
		}
		s.end(t)
	case rundir.StateFailed:
		s.fail(t, out.kind, out.err)
	case rundir.StatePending:
		s.again(t, out)
	}
}

// again puts a job at the end of the queue after a failure that may be temporary. The job then
// avoids that accelerator, if it can use another one, and runs alone if memory did not suffice.
func (s *scheduler) again(t *task, out outcome) {
	s.note(fmt.Sprintf("%s: will retry later (%s): %s", t.job.ID, out.kind, textform.FirstLine(out.err.Error())))
	t.Home = t.at.DeviceName()
	if a := t.at.Accelerator; a != nil {
		t.Avoid[a.Name] = true
		a.Lost = a.Lost || out.kind == KindDevice
	}
	t.Alone = t.Alone || out.kind == KindMemory
	s.pending = append(s.pending, t)
}

// sum returns the summary and the error of the whole run.
func (s *scheduler) sum() (Summary, error) {
	sum := s.summary
	sum.Wall = time.Since(s.began)
	for _, t := range s.elsewhere {
		sum.Elsewhere += len(t.fits.left)
	}
	for _, j := range s.run.Jobs {
		for _, label := range j.Labels() {
			if f, ok := s.failures[j.Name(label)]; ok {
				sum.Failed = append(sum.Failed, f)
			}
		}
	}
	switch {
	case s.fatal != nil:
		return sum, fmt.Errorf("run directory %s: %w", s.run.Dir, s.fatal)
	case s.ctx.Err() != nil && sum.Done+len(sum.Failed)+sum.Elsewhere < sum.Total:
		return sum, s.ctx.Err()
	case len(sum.Failed) > 0:
		return sum, &JobsFailedError{Failed: sum.Failed, Total: sum.Total}
	}
	return sum, nil
}

func (s *scheduler) tellProgress() {
	if s.o.OnProgress == nil {
		return
	}
	p := RunProgress{
		Total: s.summary.Total, Done: s.summary.Done, Failed: len(s.failures), Running: s.pool.Running,
		Left: s.left(time.Now()),
	}
	for t := range s.running {
		p.Done += int(t.fitted.Load())
	}
	var oldest *task
	for t := range s.running {
		if t.placed && (oldest == nil || t.began.Before(oldest.began)) {
			oldest = t
		}
	}
	if oldest != nil {
		p.Current = oldest.job.ID
		if status := oldest.status.Load(); status != nil {
			p.Current += ": " + *status
		}
	}
	s.o.OnProgress(p)
}

// left estimates the remaining time of the run, 0 if that is not known: what is left of each job, divided
// among the jobs that run side by side.
func (s *scheduler) left(now time.Time) time.Duration {
	var rest pace.Rest
	side := 0
	add := func(t *task, worked time.Duration) { rest.Add(s.pace.seconds(&t.demand), (t.past + worked).Seconds()) }
	for _, t := range s.pending {
		add(t, 0)
	}
	for t := range s.running {
		if t.placed {
			add(t, now.Sub(t.began))
			side++
		} else {
			add(t, 0)
		}
	}
	return rest.Left(float64(side))
}

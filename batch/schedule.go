package batch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"time"

	"gpfit/internal/rundir"
	"gpfit/internal/spec"
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
	// costDone and busyDone sum the cost and the time of the jobs that this process has done.
	costDone float64
	busyDone time.Duration
}

func newScheduler(ctx context.Context, r *rundir.Run, o Options) (*scheduler, error) {
	p, err := newPool(ctx, o)
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
		s.summary.Total++
		status, err := r.Status(j)
		if err != nil {
			return nil, err
		}
		last := status.Record.Last()
		switch {
		case status.State == rundir.StateDone:
			s.summary.Done++
			// A process that was killed after it wrote the result may have left its checkpoint.
			_ = os.Remove(r.Path("checkpoints", j.ID))
			continue
		case status.State == rundir.StateDamaged:
			s.note(fmt.Sprintf("%s is done again: %s", j.ID, status.About))
		case status.State == rundir.StateFailed && !o.RetryFailed && !retryable(last.Kind):
			s.failures[j.ID] = Failure{j.ID, last.Kind, last.Error}
			continue
		}
		n := float64(j.N)
		t := &task{demand: demand{job: j, avoid: map[string]bool{}}, seen: len(status.Record)}
		// Besides the n³ operations, small jobs spend time on n² and on their graph.
		t.cost = (n*n*n + 200*n*n + 1e7) * float64(1+value(j.Options.Restarts))
		s.pending = append(s.pending, t)
		jobs = append(jobs, j.JobSpec)
	}
	// Big jobs start first, so that no big job runs alone at the end.
	slices.SortStableFunc(s.pending, func(a, b *task) int { return cmp.Compare(b.cost, a.cost) })
	s.load = newLoader(r.Hashes(), jobs, o.Formats, o.Methods)
	for _, t := range s.pending {
		if _, ok := p.found.OnHost(t.device()); !ok {
			p.openAccelerators(ctx, s.note)
		}
	}
	s.summary.Workers = p.cores
	return s, nil
}

func (s *scheduler) close() { s.pool.close() }

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
			s.note(fmt.Sprintf("stopping: %d running jobs keep their checkpoints", len(s.running)))
		case <-tick.C:
			s.tellProgress()
			if len(s.running) < s.pool.cores && time.Since(lastLook) > elsewhereInterval {
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
		status, err := s.run.Status(t.job)
		if err == nil && status.State == rundir.StateRunning {
			left = append(left, t)
			continue
		}
		s.pending = append(s.pending, t)
		found = true
	}
	s.elsewhere = left
	return found
}

// start starts every pending job that fits, and prepares the next ones.
func (s *scheduler) start() {
	var left []*task
	s.ahead = slices.DeleteFunc(s.ahead, s.admit)
	for i, t := range s.pending {
		// Others may overtake the first job that does not fit, but not forever.
		if s.pool.full() || slices.ContainsFunc(slices.Concat(s.ahead, left[:min(len(left), 1)]), impatient) {
			left = append(left, s.pending[i:]...)
			break
		}
		at, err := s.pool.find(&t.demand)
		switch {
		case errors.Is(err, errLater):
			left = append(left, t)
		case err != nil:
			s.refuse(t, err)
		default:
			s.take(t, at)
			s.begin(t)
			for _, waiting := range slices.Concat(s.ahead, left[:min(len(left), 1)]) {
				waiting.passed++
			}
		}
	}
	s.pending = left
	s.goAhead()
	for _, t := range s.pending[:min(len(s.pending), s.pool.cores)] {
		go func() { _, _ = s.ready(t) }()
	}
}

func impatient(t *task) bool { return t.passed > patience }

// take reserves a place for a task; leave frees it.
func (s *scheduler) take(t *task, at place) {
	s.pool.take(at)
	t.at, t.began, t.placed = at, time.Now(), true
}

func (s *scheduler) leave(t *task) {
	if t.placed {
		s.pool.give(t.at)
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
	if len(s.pending) == 0 || len(s.ahead) > s.pool.cores/8 {
		return
	}
	t := s.pending[0]
	host, ok := s.pool.found.OnHost(value(t.job.Options.Device))
	if !ok || t.alone || t.job.N == 0 {
		return
	}
	at, err := s.pool.findHost(&t.demand, host)
	if !errors.Is(err, errLater) {
		return
	}
	s.pending = s.pending[1:]
	t.at, t.gate = at, make(chan struct{})
	s.ahead = append(s.ahead, t)
	s.begin(t)
}

// admit opens the gate of a task if the task fits now.
func (s *scheduler) admit(t *task) bool {
	at, err := s.pool.find(&t.demand)
	if errors.Is(err, errLater) {
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
		s.failures[t.job.ID] = Failure{t.job.ID, kind, cause.Error()}
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

func (s *scheduler) fail(t *task, kind string, cause error) {
	s.failures[t.job.ID] = Failure{t.job.ID, kind, cause.Error()}
	s.note(fmt.Sprintf("%s failed (%s): %s", t.job.ID, kind, textform.FirstLine(cause.Error())))
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
	s.summary.CoreSeconds += out.evaluation * float64(max(1, t.at.cores))
	switch {
	case out.fatal != nil:
		if s.fatal == nil {
			s.fatal = out.fatal
		}
	case out.elsewhere && out.state == "":
		s.elsewhere = append(s.elsewhere, t)
	case out.state == rundir.StateDone:
		s.summary.Done++
		if !out.elsewhere {
			s.summary.Here++
			s.costDone += t.cost
			s.busyDone += out.busy
		}
		s.load.release(t.job.JobSpec)
	case out.state == rundir.StateFailed:
		s.fail(t, out.kind, out.err)
	case out.state == rundir.StatePending:
		s.again(t, out)
	}
}

// again puts a job at the end of the queue after a failure that may be temporary. The job then
// avoids that accelerator, if it can use another one, and runs alone if memory did not suffice.
func (s *scheduler) again(t *task, out outcome) {
	s.note(fmt.Sprintf("%s: will retry later (%s): %s", t.job.ID, out.kind, textform.FirstLine(out.err.Error())))
	if a := t.at.accelerator; a != nil {
		t.avoid[a.name] = true
		a.lost = a.lost || out.kind == KindDevice
	}
	t.alone = t.alone || out.kind == KindMemory
	s.pending = append(s.pending, t)
}

// sum returns the summary and the error of the whole run.
func (s *scheduler) sum() (Summary, error) {
	sum := s.summary
	sum.Wall, sum.Elsewhere = time.Since(s.began), len(s.elsewhere)
	for _, j := range s.run.Jobs {
		if f, ok := s.failures[j.ID]; ok {
			sum.Failed = append(sum.Failed, f)
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
		Total: s.summary.Total, Done: s.summary.Done, Failed: len(s.failures), Running: s.pool.running,
		Left: s.left(),
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

// left estimates the remaining time. It multiplies the remaining cost by the time per cost of the
// finished jobs, and divides by the average number of jobs that ran side by side.
func (s *scheduler) left() time.Duration {
	wall := time.Since(s.began)
	if s.costDone == 0 || wall == 0 {
		return 0
	}
	perCost := float64(s.busyDone) / s.costDone
	rest := 0.0
	for _, t := range s.pending {
		rest += t.cost * perCost
	}
	for t := range s.running {
		if t.placed {
			rest += math.Max(0.1*t.cost*perCost, t.cost*perCost-float64(time.Since(t.began)))
		}
	}
	beside := math.Max(1, float64(s.busyDone)/float64(wall))
	return time.Duration(rest / beside)
}

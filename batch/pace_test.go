package batch

import (
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"gpfit/batch/rundir"
	"gpfit/batch/spec"
	"gpfit/hyperopt"
	"gpfit/internal/testcheck"
)

// TestLeft checks the time left: by jobs of the same kind, without what a process before did, and by the
// number of jobs side by side.
func TestLeft(t *testing.T) {
	job := func(data, kernel string, n int) PlannedJob {
		return PlannedJob{JobSpec: spec.JobSpec{Data: data, Kernel: kernel}, N: n}
	}
	at := func(j PlannedJob, past time.Duration) *task {
		return &task{demand: newDemand(j), past: past}
	}
	slow, fast := job("a", "auto", 500), job("a", "rbf", 500)
	now := time.Now()
	s := &scheduler{pending: []*task{at(slow, 0)}, running: map[*task]bool{}}
	testcheck.Within(t, s.left(now).Seconds(), 0, 0, "left before any job has finished")
	s.pace.add(&at(fast, 0).demand, 2)
	testcheck.Within(t, s.left(now).Seconds(), 2, 1e-9, "a kind that is not known, by the cost")
	s.pace.add(&at(slow, 0).demand, 100)
	s.pace.add(&at(slow, 0).demand, 140)
	testcheck.Within(t, s.left(now).Seconds(), 120, 1e-9, "the mean of its kind")
	s.pending = append(s.pending, at(slow, 90*time.Second), at(slow, time.Hour), at(fast, 0))
	testcheck.Within(t, s.left(now).Seconds(), 120+30+12+2, 1e-9, "jobs that continue, at least a tenth of them")
	a, b := at(slow, 0), at(slow, 0)
	a.placed, a.began, b.placed, b.began = true, now.Add(-20*time.Second), true, now.Add(-60*time.Second)
	s.running[a], s.running[b] = true, true
	testcheck.Within(t, s.left(now).Seconds(), (164.+100+60)/2, 1e-9, "two side by side")
	s.pending = nil
	testcheck.Within(t, s.left(now).Seconds(), 100, 1e-9, "no less than the longest job")
}

// TestPast checks what records of jobs say about the time that they took.
func TestPast(t *testing.T) {
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	event := func(kind string, seconds int) rundir.JobEvent {
		return rundir.JobEvent{Type: kind, Time: began.Add(time.Duration(seconds) * time.Second)}
	}
	testcheck.Within(t, whole(rundir.Record{event(rundir.Started, 0), event(rundir.Done, 40)}).Seconds(), 40, 0, "a whole job")
	continued := rundir.Record{event(rundir.Started, 0), event(rundir.Interrupted, 30), event(rundir.Started, 100), event(rundir.Done, 140)}
	testcheck.Within(t, whole(continued).Seconds(), 0, 0, "a job of two attempts")
	checkpoint := filepath.Join(t.TempDir(), "c")
	testcheck.Within(t, past(continued[:2], checkpoint).Seconds(), 0, 0, "without a checkpoint")
	testcheck.Do(t, os.WriteFile(checkpoint, nil, 0o600))
	testcheck.Do(t, os.Chtimes(checkpoint, began, began.Add(125*time.Second)))
	testcheck.Within(t, past(continued[:2], checkpoint).Seconds(), 30, 0, "until it was interrupted")
	testcheck.Within(t, past(continued[:3], checkpoint).Seconds(), 55, 0, "until it was killed")
}

// TestStatusOfJob checks that a job names its best NLML from its first value on.
func TestStatusOfJob(t *testing.T) {
	job := &task{}
	events := (&runner{}).events(job)
	for best, want := range map[float64]string{math.Inf(1): "10 %", -2: "10 %, best NLML -2.0000"} {
		events.OnFit(hyperopt.FitProgress{Share: 0.1, Best: best})
		if got := *job.status.Load(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

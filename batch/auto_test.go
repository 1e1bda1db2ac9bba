package batch

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"gpfit/batch/rundir"
	"gpfit/cpu"
	"gpfit/device"
	"gpfit/device/queue"
	"gpfit/fit/summary"
	"gpfit/internal/testcheck"
)

// autoRun makes a run of small jobs with the device auto on a machine with a GPU.
func autoRun(t *testing.T, d *gpuDriver, seeds string) (*rundir.Run, []device.Driver) {
	t.Helper()
	drivers := []device.Driver{d, cpu.Driver{}}
	return create(t, "defaults: {threads: 1, restarts: 0, max_evals: 9}\ndata: [a.csv]\nkernels: [rbf, matern32]\nseeds: ["+seeds+"]\n", drivers...), drivers
}

// begin writes to the record of a job that another process began it on a device and died.
func begin(t *testing.T, r *rundir.Run, j rundir.PlannedJob, on string) {
	t.Helper()
	c := testcheck.Get(r.Claim(j))(t)
	testcheck.Do(t, c.Append(rundir.JobEvent{Type: rundir.Started, Attempt: 1, Device: on}))
	c.Release()
}

// moved reports whether a report warns that its job began on another device.
func moved(r *summary.Report) bool {
	return slices.ContainsFunc(r.Warnings, func(w string) bool { return strings.Contains(w, "the job began on ") })
}

// TestOneQueue checks that a GPU and the cores share the jobs, each of which runs once and where its record says.
func TestOneQueue(t *testing.T) {
	r, drivers := autoRun(t, newGPUs(1, 1<<30), "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16")
	runAll(t, r, Options{Drivers: drivers, Cores: 2}, 32)
	on := map[string]int{}
	for _, j := range r.Jobs {
		s := status(t, r, j.ID)
		report := s.Record.Last().Report
		if got := s.Record.Device(); events(s) != "started done" || got != report.Device || moved(report) {
			t.Errorf("%s: %s, begun on %s, done on %s, warnings %v", j.ID, events(s), got, report.Device, report.Warnings)
		}
		on[report.Device]++
	}
	if on["cpu"] == 0 || on["cuda:0"] == 0 || on["cpu"]+on["cuda:0"] != 32 {
		t.Errorf("jobs on %v", on)
	}
	// A machine without a GPU does them, too.
	r, _ = autoRun(t, newGPUs(1, 1<<30), "1")
	runAll(t, r, Options{Drivers: onCPU}, 2)
}

// TestContinues checks that a job which began on a device continues there, on another one of the kind if that is not there, or
// anywhere if there is none, with a warning. Another process may begin a job while this one plans.
func TestContinues(t *testing.T) {
	r, drivers := autoRun(t, newGPUs(2, 1<<30), "1, 2, 3, 4, 5")
	homes := []string{"cpu", "cpu", "cpu", "cuda:1", "cuda:1", "cuda:1", "cuda:7", "npu:0", "cuda:1", "cpu"}
	for i, j := range r.Jobs[:8] {
		begin(t, r, j, homes[i])
	}
	s := testcheck.Get(newScheduler(t.Context(), r, Options{Drivers: drivers, Cores: 2}))(t)
	defer s.close()
	for i, j := range r.Jobs[8:] {
		begin(t, r, j, homes[8+i])
	}
	if sum, err := s.loop(); err != nil || sum.Done != 10 {
		t.Fatalf("%+v, %v", sum, err)
	}
	for i, j := range r.Jobs {
		job := status(t, r, j.ID)
		report := job.Record.Last().Report
		gone := homes[i] == "cuda:7" || homes[i] == "npu:0"
		if report.Device != homes[i] && !gone || homes[i] == "cuda:7" && device.Kind(report.Device) != "cuda" || moved(report) != gone || events(job) != "started started done" {
			t.Errorf("%s began on %s: %s, done on %s, warnings %v", j.ID, homes[i], events(job), report.Device, report.Warnings)
		}
	}
}

// TestLosesCard checks that the cores do the jobs of a GPU that is lost or has too little memory.
func TestLosesCard(t *testing.T) {
	d := newGPUs(1, 1<<30)
	r, drivers := autoRun(t, d, "1, 2, 3, 4")
	d.fail = func(name string, _ int) error {
		return &device.LostError{Device: name, Err: errors.New("fell off the bus")}
	}
	runAll(t, r, Options{Drivers: drivers, Cores: 2}, 8)
	d = newGPUs(1, 100)
	r, drivers = autoRun(t, d, "1, 2, 3, 4")
	begin(t, r, r.Jobs[0], "cuda:0")
	runAll(t, r, Options{Drivers: drivers, Cores: 2}, 8)
	for _, j := range r.Jobs {
		if report := status(t, r, j.ID).Record.Last().Report; report.Device != "cpu" || moved(report) != (j.ID == r.Jobs[0].ID) {
			t.Errorf("%s: on %s, warnings %v", j.ID, report.Device, report.Warnings)
		}
	}
	// Neither side has enough.
	r = create(t, "defaults: {threads: 1, memory: 1KiB}\ndata: [a.csv]\nkernels: [rbf]\n", drivers...)
	var failed *JobsFailedError
	if _, err := Run(t.Context(), r, Options{Drivers: drivers}); !errors.As(err, &failed) || failed.Failed[0].Kind != KindMemory {
		t.Errorf("%v", err)
	}
}

// TestShareOfMemory checks that a job occupies the part of a GPU that its memory takes, if its rows would leave room for more jobs.
func TestShareOfMemory(t *testing.T) {
	for _, c := range []struct {
		jobs  int64 // for which the memory suffices
		lanes int
		want  float64
	}{{1, 0, 1}, {2, 0, 0.5}, {1000, 0, 1. / 16}, {3, 8, 1. / 3}, {1000, 8, 1. / 8}} {
		r, _ := autoRun(t, newGPUs(1, 1<<30), "1")
		n := int64(r.Jobs[0].N)
		drivers := []device.Driver{newGPUs(1, c.jobs*8*n*n+1000), cpu.Driver{}}
		s := testcheck.Get(newScheduler(t.Context(), r, Options{Drivers: drivers, Cores: 2, JobsPerDevice: c.lanes}))(t)
		if got := s.pool.Load(&s.pending[0].Demand).Share[queue.Cards]; got != c.want {
			t.Errorf("room for %d jobs, %d lanes: a job occupies %v of the GPU, want %v", c.jobs, c.lanes, got, c.want)
		}
		s.close()
	}
}

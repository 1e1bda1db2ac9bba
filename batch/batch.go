// Package batch runs many fits: data sets × kernels × splits × seeds, side by
// side on the cores and GPUs of a machine, resumable after any crash, and shared
// by several machines if need be.
//
// [Plan] turns a spec (package spec) into jobs whose every option is decided,
// package rundir keeps them and what becomes of them in a directory, [Run] does
// what is not done yet, package results makes tables of it. The path of a job is
// in task.go: claim → read → fit, with a checkpoint → model → record. schedule.go
// decides what runs when and where: big jobs first, as many side by side as
// cores and planned memory allow.
//
// Results do not depend on the number of workers: the threads of a job, on which
// its last bits depend, are part of the job.
package batch

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"gpfit/batch/rundir"
	"gpfit/device"
)

// Options say how to run. The zero value, with drivers, uses all of the machine.
type Options struct {
	// Drivers are the kinds of devices. Required.
	Drivers []device.Driver
	// Cores is the number of CPU cores to use, 0 for all.
	Cores int
	// Memory limits the host memory that running jobs plan for, in bytes; 0
	// takes nine tenths of what is free at the start.
	Memory int64
	// GPUJobs is how many jobs may share a GPU, if its memory allows; 0 means 1.
	GPUJobs int
	// Shard is the share of the jobs to do.
	Shard Shard
	// Shared says that other processes work on the run too: jobs that they have
	// claimed are left to them. Wait stays until those are done as well, to take
	// them up if their process dies.
	Shared, Wait bool
	// RetryFailed takes up jobs that failed before, whatever their failure;
	// otherwise only those are that failed for want of a device or of memory.
	RetryFailed bool
	// OnProgress is told now and then how far the run is, OnNote what happens.
	// Both may be nil; they are called from one goroutine.
	OnProgress func(Progress)
	OnNote     func(text string)
}

// Summary is what a run came to.
type Summary struct {
	// Total counts the jobs of the run or its shard; Done those with a result,
	// also from before; Here those that this process finished.
	Total, Done, Here int
	// Elsewhere counts jobs that other processes still work on.
	Elsewhere int
	Failed    []Failure
	// Wall is the time that it took. EvaluationSeconds and CoreSeconds are time
	// within evaluations, once as it passed and once times the job's threads;
	// Workers is the number of cores.
	Wall              time.Duration
	EvaluationSeconds float64
	CoreSeconds       float64
	Workers           int
}

// Utilization is the part of the time of all workers that was spent within
// evaluations.
func (s Summary) Utilization() float64 {
	return s.CoreSeconds / (s.Wall.Seconds() * float64(s.Workers))
}

// Progress says how far a run is.
type Progress struct {
	Total, Done, Failed, Running int
	Elapsed                      time.Duration
	// Left is the estimated time, 0 if unknown.
	Left time.Duration
	// Current describes the job that runs longest.
	Current string
}

// Run does the jobs of r that are not done, with r locked by the caller. Jobs
// that fail do not stop others: the error is then a [*JobsFailedError], together
// with the summary. If ctx is cancelled, the jobs that run are left with their
// checkpoints and ctx's error is returned. Another error means that the run
// directory could not be used.
func Run(ctx context.Context, r *rundir.Run, o Options) (Summary, error) {
	s, err := newScheduler(ctx, r, o)
	if err != nil {
		return Summary{}, err
	}
	defer s.close()
	// Goroutines that read ahead and write results must not keep evaluations
	// from the cores: a job that comes back from a write would wait for its turn.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(max(runtime.GOMAXPROCS(0), s.pool.cores+spareThreads)))
	defer relaxCollector(s.pool.memory)()
	return s.loop()
}

// relaxCollector lets the garbage of small jobs, their matrices, lie five times as
// long: with 200 jobs of 500 rows on two cores collecting it took 8 % of the wall
// time. Where jobs fill the memory that they may use, the limit makes up for it.
// What the variables GOGC and GOMEMLIMIT say is left alone. It returns what undoes
// it.
func relaxCollector(memory int64) (restore func()) {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" || memory <= 0 {
		return func() {}
	}
	percent, limit := debug.SetGCPercent(400), debug.SetMemoryLimit(memory)
	return func() {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	}
}

// spareThreads is how many of Go's threads there are beside those that compute.
// With 16 programs on two cores two more raised the part of the time within
// evaluations from 92.0 to 93.1 %, and took a third less time.
const spareThreads = 2

// Changed returns a [*ChangedError] if the spec or an input is not what it was.
func Changed(r *rundir.Run) error {
	what, err := r.Changes()
	if err != nil {
		return err
	}
	if len(what) > 0 {
		return &ChangedError{Dir: r.Dir, What: what}
	}
	return nil
}

func deviceKey(threads int) string { return fmt.Sprintf("cpu/%d", threads) }

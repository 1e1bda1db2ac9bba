// Package batch runs many fits: data sets × kernels × splits × seeds, side by
// side on the cores and accelerators of a machine, resumable after any crash, and shared
// by several machines if need be.
//
// [Plan] turns a spec (package spec) into jobs whose every option is decided,
// package rundir keeps them and what becomes of them in a directory, [Run] does
// what is not done yet, package results makes tables of it. schedule.go
// decides what runs when: big jobs first. pool.go decides where: as many side by
// side as cores and planned memory allow. The path of a job is in task.go: claim →
// read → fit, with a checkpoint → model → record.
//
// Results do not depend on the number of workers: the threads of a job, on which
// its last bits depend, are part of the job.
package batch

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"

	"gpfit/batch/rundir"
)

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

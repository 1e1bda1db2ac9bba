package batch

import (
	"fmt"
	"time"

	"gpfit/device"
	"gpfit/table"
)

// Options say how to run. The zero value, with drivers, uses all of the machine.
type Options struct {
	// Drivers are the kinds of devices. Required.
	Drivers []device.Driver
	// Formats are formats of tables beside text and NumPy's, such as that of
	// table/parquet; those of [PlanOptions].
	Formats []table.Format
	// Cores is the number of CPU cores to use, 0 for all.
	Cores int
	// Memory limits the host memory that running jobs plan for, in bytes; 0
	// takes nine tenths of what is free at the start.
	Memory int64
	// JobsPerDevice is how many jobs may share an accelerator, if its memory
	// allows; 0 means 1.
	JobsPerDevice int
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
	OnProgress func(RunProgress)
	OnNote     func(text string)
}

// RunProgress says how far a run is.
type RunProgress struct {
	Total, Done, Failed, Running int
	Elapsed                      time.Duration
	// Left is the estimated time, 0 if unknown.
	Left time.Duration
	// Current describes the job that runs longest.
	Current string
}

// String says it in words.
func (p RunProgress) String() string {
	text := fmt.Sprintf("%d of %d jobs done", p.Done, p.Total)
	if p.Failed > 0 {
		text += fmt.Sprintf(", %d failed", p.Failed)
	}
	text += fmt.Sprintf(", %d running", p.Running)
	if p.Left > 0 {
		text += fmt.Sprintf(", about %s left", p.Left.Round(time.Second))
	}
	if p.Current != "" {
		text += "; " + p.Current
	}
	return text
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

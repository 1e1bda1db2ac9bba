package batch

import (
	"fmt"
	"time"

	"gpfit/device"
	"gpfit/table"
)

// Options configure a run. With Drivers set, the zero value of the other fields uses the
// whole machine.
type Options struct {
	// Drivers are the kinds of devices. Required.
	Drivers []device.Driver
	// Methods are the methods that jobs may name; none means [device.Dense] alone.
	Methods []device.Method
	// Formats are table formats besides text and NumPy's, such as internal/parquet's. They
	// must equal those in [PlanOptions].
	Formats []table.Format
	// Cores is the number of CPU cores to use, 0 for all.
	Cores int
	// Memory limits the host memory that running jobs plan for, in bytes; 0
	// takes nine tenths of the free memory at the start.
	Memory int64
	// JobsPerDevice is the number of jobs that may share an accelerator, if its
	// memory allows; 0 means 1.
	JobsPerDevice int
	// Shard is the share of the jobs to do.
	Shard Shard
	// Shared leaves jobs that other processes have claimed to them. Wait also waits
	// until these jobs are done, and continues them if their process dies.
	Shared, Wait bool
	// RetryFailed tries all failed jobs again. Without it, a run tries only those
	// again that failed because a device or memory was missing.
	RetryFailed bool
	// OnProgress is called now and then with the progress of the run, and OnNote with a
	// text for each event. Both may be nil. One goroutine calls them.
	OnProgress func(RunProgress)
	OnNote     func(text string)
}

// RunProgress is the progress of a run.
type RunProgress struct {
	Total, Done, Failed, Running int
	Elapsed                      time.Duration
	// Left is the estimated time that remains, 0 if unknown.
	Left time.Duration
	// Current describes the job that has run longest.
	Current string
}

// String describes the progress in words.
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

// Summary is the outcome of a run.
type Summary struct {
	// Total is the number of jobs of the run or its shard. Done of them have a result,
	// including results of earlier runs; this process finished Here of them.
	Total, Done, Here int
	// Elsewhere is the number of jobs that other processes still work on.
	Elsewhere int
	Failed    []Failure
	// Wall is the elapsed time. EvaluationSeconds is the time within evaluations, summed
	// over jobs, and CoreSeconds the same times each job's threads. Workers is the number
	// of cores.
	Wall              time.Duration
	EvaluationSeconds float64
	CoreSeconds       float64
	Workers           int
}

// Utilization returns the fraction of the time of all workers that evaluations took.
func (s Summary) Utilization() float64 {
	return s.CoreSeconds / (s.Wall.Seconds() * float64(s.Workers))
}

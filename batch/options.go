package batch

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"gpfit/device"
	"gpfit/device/pool"
	"gpfit/internal/suggest"
	"gpfit/table"
)

// Options configure a run. With Drivers set, the zero value of the other fields uses the
// whole machine.
type Options struct {
	// Drivers are the kinds of devices. Required.
	Drivers []device.Driver
	// Methods are the methods that jobs may name; none means only [device.Dense].
	Methods []device.Method
	// Formats are table formats besides text and NumPy's, such as Parquet from package formats.
	// They must equal the formats of [PlanOptions].
	Formats []table.Format
	// Cores is the number of CPU cores to use, 0 for all.
	Cores int
	// Memory limits the host memory that running jobs plan for, in bytes; 0
	// takes nine tenths of the free memory at the start.
	Memory int64
	// JobsPerDevice is the number of jobs that may share an accelerator, if its
	// memory allows; 0 means as many as keep it busy. The results of a job do not
	// depend on it.
	JobsPerDevice int
	// Shard is the share of the jobs to do.
	Shard Shard
	// Shared leaves jobs that other processes have claimed to them. Wait also waits
	// until these jobs are done, and continues them if their process dies.
	Shared, Wait bool
	// RetryFailed tries all failed jobs again. Without it, a run tries again only jobs that
	// failed because a device or memory was missing.
	RetryFailed bool
	// OnProgress is called now and then with the progress of the run, and OnNote with a
	// text for each event. Both may be nil. One goroutine calls them.
	OnProgress func(RunProgress)
	OnNote     func(text string)
}

// RunProgress is the progress of a run.
type RunProgress struct {
	Total, Done, Failed, Running int
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
	// Wall is the elapsed time. EvaluationSeconds is the time within evaluations, summed over jobs,
	// and CoreSeconds the same times each job's threads. Workers is the number of cores.
	Wall              time.Duration
	EvaluationSeconds float64
	CoreSeconds       float64
	Workers           int
}

// Utilization returns the fraction of the time of all workers that evaluations took.
func (s Summary) Utilization() float64 {
	return s.CoreSeconds / (s.Wall.Seconds() * float64(s.Workers))
}

// Shard selects the jobs of a run whose number, modulo Count, is Index. The zero
// value selects all jobs.
type Shard struct{ Index, Count int }

// holds reports whether the shard contains job number i.
func (s Shard) holds(i int) bool { return s.Count <= 1 || i%s.Count == s.Index }

// ParseShard parses "i/N", with i from 0 to N−1, "auto" or "auto/N". For auto it reads the index
// from SLURM_ARRAY_TASK_ID, _MIN and _STEP or from Kubernetes' JOB_COMPLETION_INDEX. The count is N
// or SLURM_ARRAY_TASK_COUNT. lookup reads a variable, as os.LookupEnv does.
func ParseShard(text string, lookup func(string) (string, bool)) (Shard, error) {
	index, count, hasCount := strings.Cut(strings.TrimSpace(text), "/")
	var s Shard
	var err error
	if hasCount {
		if s.Count, err = strconv.Atoi(count); err != nil || s.Count < 1 {
			return s, fmt.Errorf("shard %q: %q is not a number of shards", text, count)
		}
	}
	switch {
	case index == "auto":
		s.Index, err = autoIndex(&s.Count, lookup)
		if err != nil {
			return s, fmt.Errorf("shard %q: %w", text, err)
		}
	case !hasCount:
		return s, fmt.Errorf("shard %q: must be i/N, auto or auto/N%s", text, suggest.DidYouMean(text, []string{"auto"}))
	default:
		if s.Index, err = strconv.Atoi(index); err != nil {
			return s, fmt.Errorf("shard %q: %q is not the index of a shard", text, index)
		}
	}
	if s.Count == 0 {
		return s, fmt.Errorf("shard %q: the scheduler does not set the number of shards: use auto/N", text)
	}
	if s.Index < 0 || s.Index >= s.Count {
		return s, fmt.Errorf("shard %q: index %d is not in the range 0 … %d", text, s.Index, s.Count-1)
	}
	return s, nil
}

// autoIndex reads the scheduler's variables. It sets count if count is 0.
func autoIndex(count *int, lookup func(string) (string, bool)) (int, error) {
	names := []string{"JOB_COMPLETION_INDEX"}
	if id, _ := lookup("SLURM_ARRAY_TASK_ID"); id != "" {
		names = []string{"SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_STEP", "SLURM_ARRAY_TASK_COUNT"}
	}
	numbers, err := map[string]int{"SLURM_ARRAY_TASK_STEP": 1}, error(nil)
	for _, name := range names {
		if v, _ := lookup(name); v != "" {
			if numbers[name], err = strconv.Atoi(v); err != nil {
				return 0, fmt.Errorf("%s=%s is not a number", name, v)
			}
		}
	}
	if id, ok := numbers["SLURM_ARRAY_TASK_ID"]; ok {
		*count = cmp.Or(*count, numbers["SLURM_ARRAY_TASK_COUNT"])
		return (id - numbers["SLURM_ARRAY_TASK_MIN"]) / max(numbers["SLURM_ARRAY_TASK_STEP"], 1), nil
	}
	if index, ok := numbers["JOB_COMPLETION_INDEX"]; ok {
		return index, nil
	}
	return 0, fmt.Errorf("neither SLURM_ARRAY_TASK_ID nor JOB_COMPLETION_INDEX is set")
}

// pool returns the options of the machine.
func (o Options) pool() pool.Options {
	return pool.Options{Drivers: o.Drivers, Methods: o.Methods, Cores: o.Cores, Memory: o.Memory, JobsPerDevice: o.JobsPerDevice}
}

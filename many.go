package gpfit

import (
	"cmp"
	"context"
	"runtime"
	"sync"
	"time"

	"gpfit/device"
	"gpfit/device/pool"
	"gpfit/fit"
	"gpfit/fit/problem"
	"gpfit/fit/summary"
	"gpfit/fit/tuning"
	"gpfit/gp"
	"gpfit/hyperopt"
	"gpfit/hyperopt/descent"
)

// Task is one of the fits of [FitMany]: a table and the options of its fit.
type Task struct {
	Data    Data
	Options Options
}

// Fitted is the end of a task. Model and Report are nil if Err is not, except that a fit that the
// context ended during its tuning has the best model so far and a [*problem.CancelledError].
// [Condition] makes the model ready to predict.
type Fitted struct {
	// Task is the index of the task.
	Task   int
	Model  *gp.Model
	Report *summary.Report
	Err    error
}

// ManyOptions configures [FitMany]. The zero value uses the whole machine.
type ManyOptions struct {
	// Cores and Memory limit what all fits together use of the host; 0 means all cores, and most of the
	// memory that is free.
	Cores  int
	Memory int64
	// OnResult is called with each result as its fit ends. OnProgress is called now and then. Calls
	// never overlap.
	OnResult   func(Fitted)
	OnProgress func(ManyProgress)
}

// ManyProgress is how many fits of [FitMany] have ended and run, and about how much time is left, 0 if unknown.
// Done includes Failed.
type ManyProgress struct {
	Total, Done, Failed, Running int
	Left                         time.Duration
}

// FitMany fits many tables side by side, as many as the cores, the memory and the GPUs of the machine
// allow, and returns the results in the order of tasks. A task that fails has its error in its result and does
// not stop the others. Each result has the bits of a fit alone on the same device.
//
// The error is nil unless no task could begin or ctx ended: then it is the error of ctx, and the
// results of the tasks that had ended are complete. A fit without Threads in its [Devices] takes one thread,
// or more if there are fewer tasks than cores.
func FitMany(ctx context.Context, tasks []Task, o ManyOptions) ([]Fitted, error) {
	return Devices{}.FitMany(ctx, tasks, o)
}

// FitMany is the function [FitMany] on these devices. Events are called for all fits, one call at a time.
func (d Devices) FitMany(ctx context.Context, tasks []Task, o ManyOptions) ([]Fitted, error) {
	p, err := pool.New(ctx, pool.Options{Drivers: Drivers(), Methods: Methods(), Cores: o.Cores, Memory: o.Memory})
	if err != nil {
		return nil, err
	}
	defer p.Close()
	if d.Threads == 0 {
		d.Threads = max(1, cmp.Or(o.Cores, runtime.GOMAXPROCS(0))/max(1, len(tasks)))
	}
	d.Name, d.Events = cmp.Or(d.Name, device.Auto), oneAtATime(d.Events)
	many := &manyFits{Devices: d, pool: p, tasks: tasks, results: make([]Fitted, len(tasks)), index: map[*pool.Job]int{}}
	jobs := make([]*pool.Job, 0, len(tasks))
	for i := range tasks {
		many.results[i].Task = i
		j, err := many.job(i)
		if err != nil {
			many.end(i, err, o)
			continue
		}
		many.index[j] = i
		jobs = append(jobs, j)
	}
	failed := len(tasks) - len(jobs)
	p.Run(ctx, jobs, func(j *pool.Job, err error) { many.end(many.index[j], err, o) }, func(g pool.Standing) {
		if o.OnProgress != nil {
			o.OnProgress(ManyProgress{Total: len(tasks), Done: g.Done + failed, Failed: g.Failed + failed, Running: g.Running, Left: g.Left})
		}
	})
	return many.results, ctx.Err()
}

// manyFits are the fits of FitMany.
type manyFits struct {
	Devices
	pool    *pool.Pool
	tasks   []Task
	results []Fitted
	index   map[*pool.Job]int
}

// manyRows is the number of rows from which a task is prepared before it waits, because the method that is
// chosen for its rows decides about its memory.
const manyRows = 2000

// job returns the job of a task.
func (m *manyFits) job(i int) (*pool.Job, error) {
	t := &m.tasks[i]
	if _, err := problem.FindMethod(m.Method, Methods(), t.Options); err != nil {
		return nil, err
	}
	j := &pool.Job{Demand: pool.Demand{
		Rows: t.Data.N, Columns: t.Data.D, Device: m.Name, Method: m.Method, Fallback: m.Fallback, Threads: m.Threads, Avoid: map[string]bool{},
		Workload: device.Workload{N: t.Data.N, D: t.Data.D}, Evaluations: float64(1 + t.Options.Settings.Restarts),
	}}
	var prepared *tuning.Job
	if t.Data.N >= manyRows || t.Options.Experts != "" || t.Options.Objective != "" {
		var err error
		if prepared, err = m.prepare(i); err != nil {
			return nil, err
		}
		j.Workload = tuning.Workload(prepared)
		j.Rows = j.Workload.N
	}
	j.Do = func(ctx context.Context, b device.Backend) error {
		job := prepared
		if job == nil {
			var err error
			if job, err = m.prepare(i); err != nil {
				return err
			}
		}
		prepared = nil
		return m.fit(ctx, i, job, b)
	}
	return j, nil
}

func (m *manyFits) prepare(i int) (*tuning.Job, error) {
	events := m.Events
	if events.Fallback == nil {
		events.Fallback = m.OpenFallback()
	}
	return fit.Prepare(m.tasks[i].Data, m.tasks[i].Options, events)
}

// fit fits a task on a backend of the pool.
func (m *manyFits) fit(ctx context.Context, i int, job *tuning.Job, b device.Backend) error {
	found, err := m.pool.Found.On(m.Method, b.Capabilities().Devices, tuning.Workload(job))
	if err != nil {
		return err
	}
	o, err := fit.Run(ctx, job, found[0])
	if o != nil {
		m.results[i].Model, m.results[i].Report = o.Model, &o.Report
		o.Close()
	}
	return err
}

// end records the end of a task.
func (m *manyFits) end(i int, err error, o ManyOptions) {
	m.results[i].Err = err
	if o.OnResult != nil {
		o.OnResult(m.results[i])
	}
}

// oneAtATime returns events whose calls do not overlap.
func oneAtATime(e problem.Events) problem.Events {
	var mu sync.Mutex
	out := problem.Events{Fallback: e.Fallback}
	if e.OnProgress != nil {
		out.OnProgress = func(p device.Progress) { mu.Lock(); defer mu.Unlock(); e.OnProgress(p) }
	}
	if e.OnIteration != nil {
		out.OnIteration = func(it descent.Iteration) { mu.Lock(); defer mu.Unlock(); e.OnIteration(it) }
	}
	if e.OnFit != nil {
		out.OnFit = func(p hyperopt.FitProgress) { mu.Lock(); defer mu.Unlock(); e.OnFit(p) }
	}
	if e.OnDraw != nil {
		out.OnDraw = func(chain, iteration int) { mu.Lock(); defer mu.Unlock(); e.OnDraw(chain, iteration) }
	}
	if e.OnWarning != nil {
		out.OnWarning = func(text string) { mu.Lock(); defer mu.Unlock(); e.OnWarning(text) }
	}
	return out
}

package batch

import (
	"context"
	"errors"

	"gpfit/device"
	"gpfit/fit/problem"
	"gpfit/internal/rundir"
)

// Estimate holds the memory, operations and time that a job is expected to need.
type Estimate struct {
	Job rundir.PlannedJob
	device.Plan
	// Seconds is the expected time, 0 if unknown.
	Seconds float64
	// Model is the model of accelerator that the estimate assumes because this machine
	// has none of the job's kind; empty if the estimate is for a device of this machine.
	Model string
}

// TypicalEvaluations is the number of evaluations with gradient that an estimate
// assumes for one start of the optimiser.
const TypicalEvaluations = 40

// Estimates returns the plan of every job, on the first device that the job may
// take. If this machine has no such device, the plan is for a typical one.
func Estimates(ctx context.Context, jobs []rundir.PlannedJob, drivers []device.Driver, methods ...device.Method) ([]Estimate, error) {
	e := estimator{found: device.Find(ctx, drivers, methods...), open: map[deviceKey]device.Backend{}}
	defer e.close()
	var out []Estimate
	for _, j := range jobs {
		b, err := e.backend(ctx, j)
		if err != nil {
			return nil, err
		}
		if b == nil {
			typical, model := e.found.Typical(value(j.Options.Device), value(j.Options.Method))
			one := estimate(j, typical)
			if one.N > 0 {
				one.Model = model
			}
			out = append(out, one)
			continue
		}
		out = append(out, estimate(j, b))
	}
	return out, nil
}

// workload describes the evaluations of a planned job.
func workload(j rundir.PlannedJob) device.Workload {
	return problem.Criterion(value(j.Options.Objective)).Workload(j.N, j.D, problem.EvenFolds(j.N, value(j.Options.Folds)))
}

// estimate plans a job on a backend, which may be nil.
func estimate(j rundir.PlannedJob, b device.Backend) Estimate {
	e := Estimate{Job: j}
	if j.N == 0 || b == nil {
		return e
	}
	w := workload(j)
	e.Plan = b.Plan(w)
	if e.FlopRate == 0 {
		// The rate is a rough guess: small matrices do not reach it.
		w.N = max(j.N, 2000)
		e.FlopRate = b.Plan(w).FlopRate
	}
	e.Seconds = e.GradientTime().Seconds() * TypicalEvaluations * float64(1+value(j.Options.Restarts))
	return e
}

// estimator opens each device of the jobs once.
type estimator struct {
	found device.Found
	open  map[deviceKey]device.Backend
}

// deviceKey identifies equal backends. Those on the host also differ in their threads.
type deviceKey struct {
	name, method string
	threads      int
}

// backend returns a backend like the job's, or nil if this machine has none.
func (e *estimator) backend(ctx context.Context, j rundir.PlannedJob) (device.Backend, error) {
	key, threads := deviceKey{name: value(j.Options.Device), method: value(j.Options.Method)}, value(j.Options.Threads)
	if _, ok := e.found.OnHost(key.name); ok {
		key.threads = threads
	}
	if b, ok := e.open[key]; ok {
		return b, nil
	}
	b, _, err := e.found.Open(ctx, device.Request{Device: key.name, Method: key.method, Options: device.Options{Threads: threads}})
	var none *device.UnavailableError
	if errors.As(err, &none) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	e.open[key] = b[0]
	return b[0], nil
}

func (e *estimator) close() {
	for _, b := range e.open {
		_ = b.Close()
	}
}

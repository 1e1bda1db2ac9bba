package batch

import (
	"context"
	"errors"

	"gpfit/device"
	"gpfit/fit"
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
func Estimates(ctx context.Context, jobs []rundir.PlannedJob, drivers []device.Driver) ([]Estimate, error) {
	e := estimator{found: device.Find(ctx, drivers), open: map[deviceKey]device.Backend{}}
	defer e.close()
	var out []Estimate
	for _, j := range jobs {
		b, err := e.backend(ctx, j)
		if err != nil {
			return nil, err
		}
		if b == nil {
			out = append(out, e.typical(j))
			continue
		}
		out = append(out, estimate(j, b))
	}
	return out, nil
}

// estimate plans a job on a backend.
func estimate(j rundir.PlannedJob, b device.Backend) Estimate {
	e := Estimate{Job: j}
	if j.N == 0 {
		return e
	}
	e.Plan = b.Plan(j.N, j.D)
	if e.FlopRate == 0 {
		// The rate is a rough guess: small matrices do not reach it.
		e.FlopRate = b.Plan(max(j.N, 2000), j.D).FlopRate
	}
	e.complete()
	return e
}

// typical plans a job whose device this machine does not have.
func (e *estimator) typical(j rundir.PlannedJob) Estimate {
	out := Estimate{Job: j}
	if j.N == 0 {
		return out
	}
	if p, model, ok := e.found.Typical(value(j.Options.Device), j.N, j.D); ok {
		out.Plan, out.Model = p, model
		out.complete()
	}
	return out
}

// complete adds what the objective needs, and the time.
func (e *Estimate) complete() {
	objective := fit.Criterion(value(e.Job.Options.Objective))
	e.Plan = objective.Plan(e.Plan, fit.EvenFolds(e.N, value(e.Job.Options.Folds)))
	e.Seconds = e.GradientTime().Seconds() * TypicalEvaluations * float64(1+value(e.Job.Options.Restarts))
}

// estimator opens each device of the jobs once.
type estimator struct {
	found device.Found
	open  map[deviceKey]device.Backend
}

// deviceKey identifies a backend. Backends of the host also differ in their threads.
type deviceKey struct {
	name    string
	threads int
}

// backend returns a backend like the job's, or nil if this machine has none.
func (e *estimator) backend(ctx context.Context, j rundir.PlannedJob) (device.Backend, error) {
	key, threads := deviceKey{name: value(j.Options.Device)}, value(j.Options.Threads)
	if e.found.IsHost(key.name) {
		key.threads = threads
	}
	if b, ok := e.open[key]; ok {
		return b, nil
	}
	b, _, err := e.found.Open(ctx, device.Request{Device: key.name, Options: device.Options{Threads: threads}})
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

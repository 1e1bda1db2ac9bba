package batch

import (
	"context"

	"gpfit/device"
	"gpfit/fit/problem"
	"gpfit/internal/queue"
)

// Estimate holds the memory, operations and time that a job is expected to need.
type Estimate struct {
	Job PlannedJob
	device.Plan
	// Device is the device of the plan, "" if there is none.
	Device string
	// Seconds is the expected time, 0 if unknown.
	Seconds float64
	// Model is the model of accelerator that the estimate assumes because this machine
	// has none of the job's kind; empty if the estimate is for a device of this machine.
	Model string
}

// TypicalEvaluations is the number of evaluations with gradient that an estimate
// assumes for one start of the optimizer.
const TypicalEvaluations = 40

// openDevice opens the first device that a key means.
func openDevice(ctx context.Context, found device.Found, key deviceKey) (device.Backend, error) {
	b, _, err := found.Open(ctx, device.Request{Device: key.name, Method: key.method, Options: device.Options{Threads: key.threads}})
	if err != nil {
		return nil, err
	}
	return b[0], nil
}

// workload describes the evaluations of a planned job.
func workload(j PlannedJob) device.Workload {
	criterion := problem.Criterion(value(j.Options.Objective))
	if !criterion.LeavesFoldsOut() { // which inputs repeat is not known yet
		return criterion.Workload(j.N, j.D, nil)
	}
	return criterion.Workload(j.N, j.D, problem.EvenFolds(j.N, value(j.Options.Folds)))
}

// estimate plans a job on a backend, which may be nil.
func estimate(j PlannedJob, b device.Backend) Estimate {
	e := Estimate{Job: j}
	if j.N == 0 || b == nil {
		return e
	}
	e.Device = b.Info().Name
	w := workload(j)
	if e.Plan = b.Plan(w); b.Info().Host && j.Structure != nil {
		e.Plan = structured(j)
	}
	if e.FlopRate == 0 {
		// The rate is a rough guess: small matrices do not reach it.
		w.N = max(j.N, 2000)
		e.FlopRate = b.Plan(w).FlopRate
	}
	e.Seconds = e.GradientTime().Seconds() * TypicalEvaluations * float64(1+value(j.Options.Restarts))
	return e
}

// launches is the least time of an evaluation on an accelerator, in seconds: many small steps begin one after the other.
const launches = 1e-3

// expected is roughly how many seconds a job takes on a backend of a side, for the choice between the sides before a job is
// measured.
func expected(j PlannedJob, p device.Plan, s queue.Side, b device.Backend) float64 {
	one, n := p.GradientTime().Seconds(), float64(j.N)
	if s == queue.Cards {
		one = max(one, launches)
	} else if p.FlopRate == 0 {
		const fast = 2000 // rows from which plans have a rate
		w := workload(j)
		w.N = fast
		// Besides their operations, small jobs spend time on n² and on their graph.
		one = (p.FlopsGradient + 200*n*n + 1e7) / b.Plan(w).FlopRate
	}
	return one * TypicalEvaluations * float64(1+value(j.Options.Restarts))
}

// structured is the plan of a job on the host with the method that was chosen for its rows.
func structured(j PlannedJob) device.Plan {
	p := device.Plan{
		N: j.N, D: j.D, FlopsGradient: j.Structure.Operations, FlopsValue: j.Structure.Operations / 3,
		Needs: []device.Need{{Bytes: j.Structure.Bytes, What: "the method " + j.Structure.Method}},
	}
	if j.Structure.Seconds > 0 {
		p.FlopRate = p.FlopsGradient / j.Structure.Seconds
	}
	return p
}

// deviceKey identifies equal backends. Backends on the host also differ in their threads.
type deviceKey struct {
	name, method string
	threads      int
}

// costOf returns a relative measure of the work of a job. Besides the n³ operations, small jobs spend time on n² and on their graph.
func costOf(j PlannedJob) float64 {
	n := float64(j.N)
	return (n*n*n + 200*n*n + 1e7) * float64(1+value(j.Options.Restarts))
}

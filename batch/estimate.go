package batch

import (
	"cmp"
	"context"
	"slices"

	"gpfit/device"
	"gpfit/fit/problem"
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
// assumes for one start of the optimiser.
const TypicalEvaluations = 40

// Expectation is what a batch is expected to take on this machine, if its jobs run side by side and other jobs do not disturb them.
type Expectation struct {
	// OnCores and OnAccelerators are numbers of jobs.
	OnCores, OnAccelerators int
	// Cores is the number of cores.
	Cores   int
	Seconds float64
}

// Estimates returns the plan of every job, and what all jobs are expected to take on this machine. The plan of a job with the
// device auto is for the device that it is expected to take. If this machine has no device for a job, its plan is for a typical one.
func Estimates(ctx context.Context, jobs []PlannedJob, o Options) ([]Estimate, Expectation, error) {
	p, err := newPool(ctx, o)
	if err != nil {
		return nil, Expectation{}, err
	}
	defer p.close()
	demands, order := make([]demand, len(jobs)), make([]int, len(jobs))
	for i, j := range jobs {
		if demands[i], order[i] = (demand{job: j}), i; p.sides(&demands[i])[cores] == "" || demands[i].auto() {
			p.openAccelerators(ctx, func(string) {})
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, Expectation{}, err
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(costOf(jobs[b]), costOf(jobs[a])) })
	all := make([]work, len(jobs))
	for i, k := range order {
		all[i] = p.work(&demands[k])
	}
	ran, ends := simulate(all, &rates{})
	e, out := Expectation{Cores: p.cores, Seconds: ends}, make([]Estimate, len(jobs))
	for i, k := range order {
		if out[k], err = p.estimate(ctx, &demands[k], ran[i]); err != nil {
			return nil, e, err
		}
		if all[i].on(cards) && ran[i] == cards {
			e.OnAccelerators++
		} else if all[i].on(cores) {
			e.OnCores++
		}
	}
	return out, e, nil
}

// estimate plans a job on its device on a side, or on its only one.
func (p *pool) estimate(ctx context.Context, d *demand, on side) (Estimate, error) {
	names := p.sides(d)
	if names[cores] != "" && (on == cores || names[cards] == "") {
		at := d.key(names[cores])
		b, err := p.takeFree(ctx, at)
		if err != nil {
			return Estimate{Job: d.job}, unlessUnavailable(err)
		}
		defer p.giveFree(at, b)
		return estimate(d.job, b), nil
	}
	for _, a := range p.accelerators {
		if a.means(names[cards]) {
			b, err := p.found.On(value(d.job.Options.Method), a.backend.Capabilities().Devices, device.Workload{})
			if err != nil {
				return Estimate{Job: d.job}, unlessUnavailable(err)
			}
			return estimate(d.job, b[0]), nil
		}
	}
	b, model := p.found.Typical(names[cards], value(d.job.Options.Method))
	one := estimate(d.job, b)
	if one.N > 0 {
		one.Model = model
	}
	return one, nil
}

// unlessUnavailable returns an error unless it says that the machine has no such device.
func unlessUnavailable(err error) error {
	if as[*device.UnavailableError](err) {
		return nil
	}
	return err
}

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
func expected(j PlannedJob, p device.Plan, s side, b device.Backend) float64 {
	one, n := p.GradientTime().Seconds(), float64(j.N)
	if s == cards {
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

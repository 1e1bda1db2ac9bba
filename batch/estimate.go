package batch

import (
	"cmp"

	"gpfit/batch/rundir"
	"gpfit/device"
	"gpfit/device/pool"
	"gpfit/fit/problem"
	"gpfit/fit/tuning"
)

// Estimate holds the memory, operations and time that a job is expected to need.
type Estimate struct {
	Job PlannedJob
	device.Plan
	// Device is the device of the plan, "" if there is none.
	Device string
	// Operations and Seconds are the work and the time that are expected, 0 if unknown.
	Operations, Seconds float64
	// Model is the model of accelerator that the estimate assumes because this machine
	// has none of the job's kind; empty if the estimate is for a device of this machine.
	Model string
}

// typicalEvaluations is the number of evaluations with gradient of one start, for jobs of earlier versions.
const typicalEvaluations = 40

// demand is a job's demand of devices, with the job.
type demand struct {
	pool.Demand
	job rundir.PlannedJob
}

func newDemand(j PlannedJob) demand {
	d := demand{job: j, Demand: pool.Demand{
		Rows: j.N, Columns: j.D, Device: value(j.Options.Device), Method: value(j.Options.Method), Fallback: value(j.Options.Fallback), Threads: value(j.Options.Threads),
		Memory: int64(value(j.Options.Memory)), Avoid: map[string]bool{}, Evaluations: cmp.Or(j.Evaluations, typicalEvaluations*float64(1+value(j.Options.Restarts))),
	}}
	if j.N > 0 {
		d.Workload = workload(j)
	}
	if j.Structure != nil {
		plan := structured(j)
		d.Structured = &plan
	}
	return d
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
func estimate(d *demand, b device.Backend) Estimate {
	e := Estimate{Job: d.job}
	if d.Rows == 0 || b == nil {
		return e
	}
	e.Device, e.Plan = b.Info().Name, d.Plan(b)
	e.Operations = e.FlopsGradient * d.Evaluations
	e.Seconds = tuning.Beginning(d.Rows).Seconds() + d.GradientTime(b)*d.Evaluations
	return e
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

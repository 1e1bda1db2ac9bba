package tuning

import (
	"gpfit/device"
	"gpfit/fit/problem"
	"gpfit/hyperopt/descent"
)

// Plan returns the memory plan of a fit of the job on b; see [WholePlan].
func (j *Job) Plan(b device.Backend) device.Plan {
	return WholePlan(j, j.backend(b).Plan(j.workload()), b.Info())
}

// WholePlan returns the memory plan of a fit of j. It adds to the plan of one evaluation the matrices of starts that run
// side by side, the table, and what the optimizer and a report need.
func WholePlan(j *Job, one device.Plan, info device.Info) device.Plan {
	return one.With(crewNeed(j, one, info), tableNeed(j), parameterNeed(j), device.Need{Bytes: reportBytes, What: "predictions for the report"})
}

// reportBytes bounds the blocks of rows that a report predicts, and what a garbage collector leaves.
const reportBytes = 32 << 20

// crewNeed is the memory of the matrices of starts on few rows beyond the memory of one evaluation.
func crewNeed(j *Job, plan device.Plan, info device.Info) device.Need {
	need, rows := device.Need{What: "matrices of starts side by side"}, min(j.LargestMatrix(), sideBySide)
	if !info.Host {
		return need
	}
	need.Bytes = 8 * int64(rows) * int64(rows) * int64(CrewSize(rows, info.Threads))
	if j.LargestMatrix() > sideBySide { // they are gone before the matrix of all rows is made
		need.Bytes = max(0, need.Bytes-plan.HostBytes())
	}
	return need
}

// tableNeed is the memory of the table as read, of the rows in use in original and in scaled units, and
// of the model with the text of its file.
func tableNeed(j *Job) device.Need {
	all, own := j.Sample.Data.N*j.Sample.Data.D, j.N()*j.D()
	// columnBytes bounds the names of a column and what reports say of it. Some 2,100 were measured.
	const columnBytes = 4 << 10
	// targetBytes bounds what a fit keeps of a target: its values in both units, their predictions, and the text of a
	// file. Some 180 were measured for 10⁶ rows of one column.
	const targetBytes = 200
	return device.Need{Bytes: 8*(2*int64(all)+5*int64(own)) + columnBytes*int64(j.D()) + targetBytes*int64(len(j.Sample.Targets)), What: "the table and its copies"}
}

// parameterNeed is the memory of approximations of the Hessian and of draws of the parameters.
func parameterNeed(j *Job) device.Need {
	const metrics = 8 // of starts and ends, and the working space of their eigenvectors
	p, o := int64(j.Params.NumFree()), j.Options
	numbers := int64(0)
	if p <= descent.MostModelled {
		numbers = metrics * p * p
	}
	if o.Posterior == problem.HMC || o.Posterior == problem.Laplace {
		numbers += 4 * p * int64(o.Chains()) * int64(o.Draws()+o.Warmup())
	}
	return device.Need{Bytes: 8 * numbers, What: "matrices of the parameters and their draws"}
}

// CheckMemory returns a [*device.MemoryError] if the plan exceeds the free memory of
// b. A workspace checks the n×n matrix itself, but checks the additional memory for
// the gradient of an objective that scores predictions only when that gradient is requested.
func (j *Job) CheckMemory(b device.Backend) error {
	return j.AdviseExperts(device.Room(b, j.Plan(b)))
}

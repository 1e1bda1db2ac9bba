package tuning

import (
	"gpfit/device"
	"gpfit/fit/problem"
	"gpfit/hyperopt/descent"
)

// Plan returns the memory plan of a fit of the job on b: the matrix of an evaluation and its working
// space, the matrices of starts that run side by side, the table, and what the optimiser and a report
// need.
func (j *Job) Plan(b device.Backend) device.Plan {
	plan := j.backend(b).Plan(j.workload())
	return plan.With(j.crewNeed(plan, b.Info()), j.tableNeed(), j.parameterNeed(), device.Need{Bytes: reportBytes, What: "predictions for the report"})
}

// reportBytes bounds the blocks of rows that a report predicts, and what a garbage collector leaves.
const reportBytes = 32 << 20

// crewNeed is the memory of the matrices of starts on few rows beyond the memory of one evaluation.
func (j *Job) crewNeed(plan device.Plan, info device.Info) device.Need {
	need := device.Need{What: "matrices of starts side by side"}
	if rows := min(j.LargestMatrix(), sideBySide); info.Host {
		matrix := int64(8*rows) * int64(rows)
		need.Bytes = max(0, matrix*int64(CrewSize(rows, info.Threads)+1)-plan.HostBytes())
	}
	return need
}

// tableNeed is the memory of the table as read, of the rows in use in original and in scaled units, and
// of the model with the text of its file.
func (j *Job) tableNeed() device.Need {
	all, own := j.Sample.Data.N*j.Sample.Data.D, j.N()*j.D()
	return device.Need{Bytes: 8 * (2*int64(all) + 5*int64(own)), What: "the table and its copies"}
}

// parameterNeed is the memory of approximations of the Hessian and of draws of the parameters.
func (j *Job) parameterNeed() device.Need {
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

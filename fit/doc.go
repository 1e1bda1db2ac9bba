// Package fit is a job from table to model and report. Its rooms, from the top
// down:
//
//	Select       compare kernels, or grow one                  (select.go, grow.go)
//	CrossValidate, score                                       (crossval.go, stderr.go)
//	Job.Fit, Evaluate   device → tuning → model, report        (run.go)
//	workplace, session  the job on devices, and failover       (workplace.go, session.go)
//	Report       the result in both units; as text             (fill.go, report.go, text.go)
//	Prepare      a Job: complete when made                     (job.go)
//	parameters   start values, options, ties, priors           (parameters.go, startvalues.go, …)
//	model        kernel and mean                               (model.go)
//	sample       check, split, leave out constants, scale      (sample.go)
//	Options, Data                                              (options.go)
//
// What is minimised is the negative log marginal likelihood or the leave-one-out
// density, and with priors the negative log prior on top. How it is minimised is
// package hyperopt's.
//
// [Job.Evaluate] is the same without the optimisation, for `gpfit nlml`.
package fit

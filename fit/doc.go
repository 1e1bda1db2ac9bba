// Package fit turns a table and options into a fitted model and a report:
//
//	job, err := fit.Prepare(fit.Data{X: x, Y: y, N: n, D: d}, fit.Options{Kernel: "rbf(ard)"})
//	outcome, err := job.Fit(ctx, backend)
//
// [Prepare] checks everything and chooses start values, [Job.Fit] tunes on one or more
// backends of package device, and the [Outcome] has a [Report] and a model of package
// gp. Programs that need only this call the module's root package, which also opens
// the devices.
//
// The parts of the package, from the top down:
//
//	Select       compare kernels, or grow one                  (select.go, grow.go)
//	CrossValidate, score                                       (crossval.go, stderr.go)
//	Job.Fit, Evaluate   device → tuning → model, report        (run.go)
//	workplace, session  the job on devices, and failover       (workplace.go, session.go)
//	Report       the result in both units; as text             (fill.go, report.go, text.go)
//	Prepare      check and make a Job                          (job.go)
//	parameters   start values, options, ties, priors           (parameters.go, startvalues.go, …)
//	model        kernel and mean                               (model.go)
//	sample       check, split, leave out constants, scale      (sample.go)
//	Options, Data                                              (options.go, data.go)
//
// A fit minimises the negative log marginal likelihood or the negative leave-one-out log
// density, plus the negative log prior if there are priors. Package hyperopt does the
// minimisation.
//
// [Job.Evaluate] does the same without the optimisation, for `gpfit nlml`.
package fit

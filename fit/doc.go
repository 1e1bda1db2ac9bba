// Package fit turns a table and options into a model and a report:
//
//	job, err := fit.Prepare(problem.Data{X: x, Y: y, N: n, D: d}, problem.Options{Kernel: "rbf(ard)"}, problem.Events{})
//	outcome, err := fit.Run(ctx, job, backend)
//
// [Prepare] checks everything and chooses start values, [Run] tunes on one or more backends of
// package device, and the [Outcome] has a [summary.Report] and a model of package gp. Programs that
// need only this call the module's root package, which also opens the devices.
//
// The floors, from the top down:
//
//	fit               functions of a job: Run, Evaluate, CrossValidate, Profile, Select
//	fit/tuning   a job on devices, and failover
//	fit/summary       results, as JSON and as text
//	fit/problem       data and options → problem
//
// A fit minimizes the negative log marginal likelihood or the negative leave-one-out log density,
// plus the negative log prior if there are priors. Package hyperopt does the minimization.
//
// [Evaluate] does the same without the optimization, for `gpfit nlml`.
package fit

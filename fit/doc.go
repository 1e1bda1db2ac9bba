// Package fit is a job from table to model, the steps in this order:
//
//	Prepare   check, leave out constant columns, split, scale    (prepare.go)
//	          start values and bounds from the data              (start.go)
//	          ties and priors                                    (tie.go, prior.go)
//	Task.Fit  workspace → graph → hyperopt → model, test scores  (run.go)
//	          on few rows first, restarts race  (tune.go, coarse.go, halves.go, restarts.go)
//	          each evaluation kept, to go on after a crash       (checkpoint.go)
//	Report    the result in both units, as JSON and for people   (report.go)
//
// What is minimised is in objective.go: the negative log marginal likelihood or
// the leave-one-out density, and with priors the negative log prior on top.
// Beside the fit there are standard errors of its parameters (stderr.go) and
// [CrossValidate] (crossval.go).
//
// [Task.Evaluate] is the same without the optimisation, for `gpfit nlml`.
package fit

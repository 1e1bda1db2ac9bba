// Package fit is a job from table to model, the steps in this order:
//
//	Prepare   check, leave out constant columns, split, scale    (prepare.go)
//	          start values and bounds from the data              (start.go)
//	Task.Fit  workspace → graph → hyperopt → model, test scores  (run.go)
//	Report    the result in both units, as JSON and for people   (report.go)
//
// [Task.Evaluate] is the same without the optimisation, for `gpfit nlml`.
package fit

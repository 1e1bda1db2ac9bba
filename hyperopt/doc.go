// Package hyperopt tunes hyperparameters with few evaluations over all rows: an evaluation of the
// objective, such as a negative log marginal likelihood, costs O(n³).
//
// [Tune] minimizes a [Problem], which can be opened on some of its rows, in these steps:
//
//	plan           how many starts, on how many rows                  (plan.go)
//	first starts   the given start, suggestions, a filling sequence    (starts.go)
//	halves         few rows: a few steps on halves, then values         (stages.go)
//	stages         many rows: growing random subsets                   (stages.go)
//	subsets        random rows, of which groups stay together          (starts.go)
//	all rows       the remaining starts, then alternatives to the best (finals.go)
//	optima         merging of ends of a stage at the same optimum      (optima.go)
//
// A stage is a run of [descent.Minimize] from all remaining starts. Each end has a
// metric, an approximation of the Hessian, from which the next stage starts. If a
// [journal.Journal] is given, it records every evaluation. problem.go defines the
// constants of the strategy and names the problems that they were measured on.
package hyperopt

// Package hyperopt tunes hyperparameters with few evaluations over all rows. The
// objective, such as a negative log marginal likelihood, costs O(n³), and all else
// is arranged around that.
//
// [Tune] is the whole story. It takes a [Problem], which can be opened on some of
// its rows, and goes through
//
//	first starts   the parameters' own and a Latin hypercube           (starts.go)
//	halves         few rows: each start on a random half of its own    (halves.go)
//	stages         many rows: on growing random subsets                (stages.go)
//	all rows       from what is left; starts race                      (tune.go)
//	optima         ends of one stage that are one optimum are merged   (optima.go)
//
// A stage is a run of [descent.Minimize] from all starts that are left. Each end
// has a metric, an approximation of the Hessian, with which the next stage begins.
// Every evaluation goes through a [journal.Journal], if there is one. The numbers
// that steer all this stand in constants.go, with what each was measured on.
package hyperopt

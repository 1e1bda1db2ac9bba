// Package descent minimises a function of log-parameters, such as a negative log
// marginal likelihood, from given starts.
//
// [Minimize] is the whole story: it takes a [Search] (functions, parameters, starts)
// and [Options] whose zero value is the documented default, and returns a [Result].
// In order, a run goes through
//
//	Minimize   starts one after the other, or side by side   (minimize.go, run.go)
//	race       or in turns, some merged or dropped           (race.go)
//	Method     the algorithm of one start                    (lbfgs.go, adam.go, neldermead.go)
//	Descent    the state of a start, its criteria            (descent.go)
//	Oracle     the one way to the function                   (oracle.go)
//	space      parameters and their bounds                   (space.go)
//
// An evaluation costs O(n³), an iteration's own arithmetic O(p·memory), so
// everything here is arranged around few and cheap evaluations: trial steps ask
// for the value only (n³/3), and the gradient (2n³/3 more) is asked for at the
// same point only when the value alone does not rule the step out.
//
// A start that comes with a [Metric], an approximation of the Hessian (see
// [Hessian]), descends by damped BFGS from it; every start leaves such a metric
// behind.
//
// Formulas are cited from J. Nocedal and S. Wright, Numerical Optimization, 2nd
// edition, Springer 2006 ("N&W").
package descent

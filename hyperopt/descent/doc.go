// Package descent minimizes a function of log-parameters from given starts.
//
// [Minimize] takes a [Search] (functions, parameters, starts) and [Options], whose zero value is
// the documented default, and returns a [Result]. A run consists of these layers:
//
//	Minimize   runs starts in sequence or in parallel        (minimize.go)
//	race       runs them in turns, merges and drops some     (minimize.go)
//	descent    the state of a start, its criteria            (descent.go)
//	rounds     L-BFGS from a start, and its end              (lbfgs.go, trust.go)
//	Oracle     all calls of the function                     (oracle.go)
//	space      parameters and their bounds                   (space.go)
//
// An evaluation costs O(n³), the other arithmetic of an iteration O(p·memory). The
// package therefore minimizes the number and cost of evaluations: a trial step
// computes only the value (n³/3), and the gradient at the same point (2n³/3 more)
// only if the value does not rule out the step.
//
// A start with a [Metric], an approximation of the Hessian (see [Hessian]), descends by damped BFGS
// from that metric. The result of every start contains such a metric.
//
// Formulas are cited from J. Nocedal and S. Wright, Numerical Optimization, 2nd
// edition, Springer 2006 ("N&W").
package descent

// Package hyperopt tunes hyperparameters: it minimises the negative log
// marginal likelihood (or posterior) of a model over its log-parameters.
//
// [Minimize] is the whole story: it takes a [Problem] (an [Objective], a start,
// bounds, what is fixed), [Settings] whose zero value is the documented
// default, and returns a [Result]. In order, a run goes through
//
//	Minimize → drawStart → runStart (one start, serial, own state)
//	         → descend (L-BFGS and line search on the free parameters)
//	         → finish (parameters at a bound: pin, or release)
//	         → the best of all starts.
//
// A start that comes with a metric, an approximation of the Hessian (see
// [Problem] and [Hessian]), descends by damped BFGS from it in place of L-BFGS;
// every start leaves such a metric behind. Starts may race (see [Settings]): they
// take turns, and those that lead nowhere are left behind (race.go). [Adam] and [NelderMead] are other
// ways through runStart.
//
// Bounds are met twice. A clamp, the identity away from them, keeps every trial
// within them and lets L-BFGS run unconstrained (see clamp). Close to a bound,
// where the clamp bends, an active set takes over: parameters are put on their
// bound and left out, or go on without their clamp, until the conditions of first
// order truly hold (see finish; N&W 12.3).
//
// An evaluation costs O(n³), an iteration's own arithmetic O(p·memory), so
// everything here is arranged around few and cheap evaluations: trial steps ask
// for the value only (n³/3), and the gradient (2n³/3 more) is asked for at the
// same point only when the value alone does not rule the step out.
//
// The search directions are gonum's [optimize.LBFGS] and the iteration is
// gonum's [optimize.LinesearchMethod]. Both are driven from here step by step
// (their reverse-communication interface) instead of by optimize.Minimize: no
// goroutine is involved, so that a panic, a cancellation or the evaluation
// limit acts at once, counts are exact, and the same input gives the same bits.
//
// Formulas are cited from J. Nocedal and S. Wright, Numerical Optimization, 2nd
// edition, Springer 2006 ("N&W").
package hyperopt

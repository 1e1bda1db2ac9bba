// Package graph builds the objective as a Gorgonia expression graph and takes
// its gradient by Gorgonia's symbolic differentiation.
//
//	log-parameters ──exp, derivations──▶ θ ──┐
//	X ───────────────────────────────────────┴─▶ Kernel ──▶ K
//	K, σ² ──▶ AddNoise ──▶ Σ
//	y (− Hβ) ──▶ r;  Σ, r ──▶ NLML ──(+ priors)──▶ cost
//
// Parameters, transforms, derivations (ties), priors and means with free
// coefficients are built-in nodes. The n×n work is in three ops: Kernel and NLML
// (ops.go), and AddNoise (noise.go). Within NLML the coefficients of the mean
// are found by generalised least squares, unless they are free. The ops' values
// for matrices are handles (values.go): a few numbers that say which matrix is
// meant. The matrix itself stays in a workspace of package device, which a
// solver (solver.go) drives. The ops' derivatives in gradops.go are again ops
// on handles, so that one n×n buffer serves for all.
//
// [Objective.WriteDOT] draws the graph (draw.go), with the covariance function of a
// pair (drawpair.go).
//
// LOO (loo.go) can stand in place of NLML. [NegLogPrior] makes the nodes of priors
// (prior.go, priornodes.go), [Tied] those of ties (derive.go).
//
// Start with [Build], which returns an [Objective]. It evaluates the graph by a
// machine of its own (machine.go) on the caller's goroutine.
package graph

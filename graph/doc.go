// Package graph builds the objective as a Gorgonia graph, which Gorgonia differentiates.
//
//	log-parameters ──exp, derivations──▶ θ ──┐
//	X ───────────────────────────────────────┴─▶ Kernel ──▶ K
//	K, σ² ──▶ AddNoise ──▶ Σ
//	y (− Hβ) ──▶ r;  Σ, r ──▶ NLML ──(+ priors)──▶ cost
//
// Parameters, transforms, derivations (ties), priors and means with free
// coefficients are built-in nodes. Three ops (ops.go) do the n×n work: Kernel, AddNoise
// and NLML. NLML finds the coefficients of the mean by generalized least squares, unless
// they are free. Matrix values are handles (state.go), a few numbers that identify a
// matrix. The matrix itself stays in a workspace of package device, which a solver
// (solver.go) drives. The derivatives of the ops are again ops on handles, so that all of
// them share one n×n buffer. LOO, of rows or of folds (predictive.go), can replace NLML.
//
// [NegLogPrior] builds the nodes of priors (prior.go), and [Tied] the nodes of ties (build.go).
// [Objective.WriteDOT] draws the graph and the covariance function of a pair (draw.go).
//
// Start with [Build], which returns an [Objective]. The objective evaluates the
// graph with this package's own machine (machine.go) on the caller's goroutine.
package graph

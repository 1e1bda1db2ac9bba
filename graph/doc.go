// Package graph builds the objective as a Gorgonia expression graph and takes
// its gradient by Gorgonia's symbolic differentiation.
//
//	log-parameters ──exp, derivations──▶ θ ──┐
//	X ───────────────────────────────────────┴─▶ Kernel ──▶ K
//	K, σ² ──▶ AddNoise ──▶ Σ
//	y − m(X) ──▶ r;  Σ, r ──▶ NLML ──(+ priors)──▶ cost
//
// Parameters, transforms, derivations (ties), priors and means are built-in
// nodes. The n×n work is in the three ops of ops.go: Kernel, AddNoise and NLML.
// Their values for matrices are handles (values.go): a few numbers that say
// which matrix is meant. The matrix itself stays in a workspace of package
// device, which a session (session.go) drives. The ops' derivatives in
// gradops.go are again ops on handles, so that one n×n buffer serves for all.
//
// Start with [Build], which returns an [Objective]. It evaluates the graph by a
// machine of its own (machine.go) on the caller's goroutine.
package graph

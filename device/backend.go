package device

import (
	"context"

	"gpfit/kernel"
)

// Backend is one device that can evaluate Gaussian processes. It is safe for
// concurrent use.
type Backend interface {
	// Info describes the device.
	Info() Info
	// Plan returns the memory and work of a job on n points of d columns.
	Plan(n, d int) Plan
	// NewWorkspace checks the plan against what is free, then allocates. x is
	// kept, not copied, and must not change. Errors: [*MemoryError],
	// [*NonFiniteError], [*UnavailableError].
	NewWorkspace(ctx context.Context, x *kernel.Points) (Workspace, error)
	// Close releases the device.
	Close() error
}

// Info describes a device.
type Info struct {
	// Name is what --device takes: "cpu" or "cuda:0".
	Name string
	// Description is for people: processor or card, cores or memory.
	Description string
	// Threads is the number of CPU threads that it uses.
	Threads int
	// MemoryFree is the memory it can allocate, in bytes; 0 if unknown.
	MemoryFree int64
}

// Workspace holds one n×n matrix and takes it through these stages:
//
//	Fill → Factor → Solve, Contract, Predict, ReadFactor in any order → Fill …
//
// The calls of one workspace must not overlap. A call out of order returns
// [ErrStage]. Calls that do n² work or more poll ctx between tiles and return
// its error when it is done; the workspace is then back before Fill. After any
// error but a context's, [*NotPDError] and [*NonFiniteError] the workspace
// cannot be used again.
//
// Matrices of several columns are column-major with leading dimension n.
type Workspace interface {
	// N is the number of points.
	N() int
	// Fill forms Σ = K + diag(noise): K_ij = k(x_i, x_j) for the program at
	// theta (natural units), and noise of length 1 (one variance for all) or n.
	Fill(ctx context.Context, prog *kernel.Program, theta, noise []float64) error
	// Factor overwrites Σ by its Cholesky factor L, Σ = LLᵀ. Cost n³/3 flops.
	// Errors: [*NotPDError], or [*NonFiniteError] if Σ holds a NaN.
	Factor(ctx context.Context) error
	// LogDet returns log|Σ| of the factored matrix.
	LogDet() (float64, error)
	// Solve overwrites b (n×m) by Σ⁻¹b. Cost 2n²m flops.
	Solve(ctx context.Context, b []float64, m int) error
	// Contract forms G = adj.Inv·Σ⁻¹ − adj.Outer·ααᵀ tile by tile and adds
	// ⟨G, ∂K/∂log θ_p⟩ to grad[p]; diag (length n) receives G_ii. L survives.
	// Cost 2n³/3 flops after Factor, n³/3 if the inverse is there already.
	Contract(ctx context.Context, adj Adjoint, prog *kernel.Program, theta, grad, diag []float64) error
	// Predict writes, for every point x*_j of xs, mean[j] = Σ_i k(x*_j, x_i) α_i
	// and, if reduction is not nil, reduction[j] = k*ᵀΣ⁻¹k*, the fall of the
	// prior variance. Points go through in blocks: memory does not grow with
	// their number. Cost n²·xs.N flops with reduction.
	Predict(ctx context.Context, prog *kernel.Program, theta, alpha []float64, xs *kernel.Points, mean, reduction []float64) error
	// ReadFactor copies rows r0 … r1−1 of L to dst, row-major with leading
	// dimension n, zeros above the diagonal.
	ReadFactor(r0, r1 int, dst []float64) error
	// WriteFactor is its inverse: it sets rows of L, and the workspace counts
	// as factored once the last row is written.
	WriteFactor(r0, r1 int, src []float64) error
	// OnProgress sets a function to call now and then during Factor, Contract
	// and Predict, from the goroutine of the call; nil for none.
	OnProgress(func(Progress))
	// Work returns the floating-point operations and the n×n buffers used so
	// far, for tests and benchmarks.
	Work() Work
	// Close frees the memory. It may be called twice.
	Close() error
}

// Adjoint is the matrix Inv·Σ⁻¹ − Outer·ααᵀ, never formed as a whole: the
// derivative of a scalar by Σ.
type Adjoint struct {
	Inv, Outer float64
	Alpha      []float64
}

// Progress says how far a call is.
type Progress struct {
	// Stage names the call: "factor", "gradient" or "predict".
	Stage string
	// Done and Total are in floating-point operations.
	Done, Total float64
}

// Work counts what a workspace has done.
type Work struct {
	// Flops is the number of floating-point operations of matrix algebra.
	Flops float64
	// Bytes is the memory held now; MatrixBytes the part in the n×n buffer.
	Bytes, MatrixBytes int64
}

// ResidualChecker is a [Workspace] that can check its own factor.
type ResidualChecker interface {
	// Residual returns max ‖ΣΣ⁻¹e_j − e_j‖∞ over a few sampled columns j, with
	// Σ formed anew, at the parameters of the last Fill. It may be called after
	// Factor.
	Residual(ctx context.Context) (float64, error)
}

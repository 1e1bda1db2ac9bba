package device

import (
	"context"
	"fmt"

	"gpfit/kernel"
)

// Workspace computes with the covariance matrix Σ of n points; the form in which it
// stores Σ depends on the method. Its stages are:
//
//	Form → Solve → LogDet, Solve, Contract, Predict in any order → Form …
//
// The calls of one workspace must not overlap. A call before Form returns [ErrStage], and LogDet
// may do so before Solve, because a method may find log|Σ| while it solves. After Contract the
// results of Form are there no longer if the workspace is [Consuming]. Calls that do n² work or
// more poll ctx between pieces of the work and return its error once it is done; the workspace is
// then in its state before Form. A workspace cannot be used after any error other than the
// context's, [*NotPDError] and [*NonFiniteError].
//
// Matrices of several columns are column-major with leading dimension n. The stated
// costs are [Dense]'s.
type Workspace interface {
	// Method returns the name of the method, as in [Capabilities].
	Method() string
	// N returns the number of points.
	N() int
	// Form forms Σ = K + diag(noise) and factors it, or otherwise prepares it for
	// Solve. K_ij = k(x_i, x_j) for the program at theta (natural units), and noise
	// has length 1 (one variance for all) or n. It costs n³/3 flops. Errors are
	// [*NotPDError], and [*NonFiniteError] if Σ contains a NaN.
	Form(ctx context.Context, prog *kernel.Program, theta, noise []float64) error
	// LogDet returns log|Σ| and its standard error, which is 0 if the method is
	// exact. Call it after Solve.
	LogDet() (value, stdErr float64, err error)
	// Solve overwrites b (n×m) by Σ⁻¹b. It costs 2n²m flops.
	Solve(ctx context.Context, b []float64, m int) error
	// Contract forms the matrix G of adj piece by piece and adds ⟨G, ∂K/∂log θ_p⟩
	// to grad[p]; diag (length n) receives G_ii. It costs 2n³/3 flops after Form, and at
	// most n³/3 if the inverse is already computed. A middle term costs n³ flops more, and
	// memory that the first call allocates; a [*MemoryError] says that it does not fit, and an
	// [*UnsupportedError] that the method has no middle terms of this kind. With a middle term a method
	// that takes one noise variance for all points only owes the sum of diag, which is all that
	// the derivative by that variance needs.
	Contract(ctx context.Context, adj Adjoint, prog *kernel.Program, theta, grad, diag []float64) error
	// Predict writes the means of k functions that share Σ, such as several targets' functions: for
	// the weights alpha (n×k) and every point x*_j of xs, mean[j + q·xs.N] = Σ_i k(x*_j, x_i) α_iq,
	// an xs.N×k matrix; k is len(alpha)/n. If reduction is not nil, reduction[j] = k*ᵀΣ⁻¹k*, the
	// reduction of the prior variance, which is the same for all functions. Predict processes
	// points in blocks, so memory does not grow with their number. It costs n²·xs.N flops with
	// reduction.
	Predict(ctx context.Context, prog *kernel.Program, theta, alpha []float64, xs *kernel.Points, mean, reduction []float64) error
	// OnProgress sets a function that calls with a context, except Solve, call from
	// time to time on their goroutine; nil means none.
	OnProgress(func(Progress))
	// Work returns the floating-point operations and the memory used so far, for
	// tests and benchmarks.
	Work() Work
	// Close frees the memory. It may be called twice.
	Close() error
}

// ThreadLimiter is the capability of a [Workspace] on the host to leave threads to
// others that compute at the same time.
type ThreadLimiter interface {
	// LimitThreads makes later calls use at most n threads; the device's number and more
	// remove the limit. Results do not depend on n. It must not overlap with a call.
	LimitThreads(n int)
}

// Consuming is the property of a [Workspace] whose contractions may use up the results of Form: the
// workspace is then in its state before Form. Callers that need Σ afterwards form it again.
type Consuming interface {
	// Consumes reports whether they do.
	Consumes() bool
}

// Consumes reports whether contractions of w use up the results of Form.
func Consumes(w Workspace) bool {
	c, ok := w.(Consuming)
	return ok && c.Consumes()
}

// InverseDiagonal is the capability of a [Workspace] to compute the diagonal of Σ⁻¹, which scores by leave-one-out need.
type InverseDiagonal interface {
	// InverseDiagonal writes the diagonal of Σ⁻¹ to dst (length n). It costs as much as the
	// inverse, at most 2n³/3 flops; for the dense method a Contract that follows saves at least n³/3 of them.
	InverseDiagonal(ctx context.Context, dst []float64) error
}

// JointCovariance is the capability of a [Workspace] to compute the covariance of predictions.
type JointCovariance interface {
	// PredictCovariance writes the symmetric matrix K*ᵀΣ⁻¹K* to reduction, m×m for the m points of
	// xs, both halves. This is the prior minus the posterior covariance (Rasmussen & Williams 2006,
	// eq. 2.24). It needs working space for n×m numbers and returns a [*MemoryError], before any
	// allocation, if they do not fit. It costs n²m + nm² flops.
	PredictCovariance(ctx context.Context, prog *kernel.Program, theta []float64, xs *kernel.Points, reduction []float64) error
}

// MeanPredictor is the capability of a [Backend] or a [Device] to predict means without a workspace,
// and so without memory or work of the order n².
type MeanPredictor interface {
	// PredictMeans writes the means that [Workspace.Predict] writes, for a workspace on the points
	// x, with the same bits. It polls ctx. It is safe for concurrent use.
	PredictMeans(ctx context.Context, x *kernel.Points, prog *kernel.Program, theta, alpha []float64, xs *kernel.Points, mean []float64) error
}

// FactorStore is the capability of a [Workspace] to read and write its Cholesky factor L.
type FactorStore interface {
	// ReadFactor copies rows r0 … r1−1 of L to dst, row-major with leading
	// dimension n, zeros above the diagonal.
	ReadFactor(r0, r1 int, dst []float64) error
	// WriteFactor sets rows of L. The workspace counts as formed once the last row is written.
	WriteFactor(r0, r1 int, src []float64) error
}

// FactorExtender is the capability of a [Workspace] to complete a factor of which it has
// the first rows.
type FactorExtender interface {
	FactorStore
	// ExtendFactor adds the rows of L from row known on to the rows before, which WriteFactor has
	// set in order, and which must belong to the first known points at the same parameters. It
	// has Form's other arguments and errors. With m = n − known it costs n²m flops, not n³/3:
	//
	//	L₂₁ = K₂₁L₁₁⁻ᵀ,  L₂₂L₂₂ᵀ = K₂₂ + diag(noise₂) − L₂₁L₂₁ᵀ
	ExtendFactor(ctx context.Context, prog *kernel.Program, theta, noise []float64, known int) error
}

// ResidualChecker is the capability of a [Workspace] to check the result of Form.
type ResidualChecker interface {
	// Residual returns max ‖ΣΣ⁻¹e − e‖∞ over a few vectors e (columns of the identity and
	// random signs), with a recomputed Σ, at the parameters of the last Form.
	Residual(ctx context.Context) (float64, error)
}

// BlockDiagonal is the property of a [Workspace] whose Σ is 0 between blocks of points.
type BlockDiagonal interface {
	// Blocks returns the points of each block, in ascending order.
	Blocks() [][]int
}

// Capability returns the capability T of a workspace, such as [FactorStore], or an
// [*UnsupportedError]. what names the wanted result in the error, as the object of
// "cannot provide".
func Capability[T any](w Workspace, what string) (T, error) {
	c, ok := w.(T)
	if !ok {
		return c, &UnsupportedError{Method: w.Method(), What: what}
	}
	return c, nil
}

// Adjoint is the derivative of a scalar by Σ, for n points the symmetric n×n matrix
//
//	G = Inv·Σ⁻¹ + Σ_k Outer[k]·v_k v_kᵀ + Σ⁻¹·C·Σ⁻¹,
//
// which is never formed as a whole. The marginal likelihood has Inv = ½, Outer =
// {−½} and v = α (Rasmussen & Williams 2006, eq. 5.9), with one v for each target.
// The leave-one-out likelihood (eq. 5.13) has a middle term with C_ii =
// ½(1 + α_i²/κ_i)/κ_i for κ from [InverseDiagonal].
type Adjoint struct {
	Inv float64
	// Outer has one element for each column of Vectors, which is n×len(Outer).
	Outer   []float64
	Vectors []float64
	// Diagonal, n numbers of any sign, or Blocks are the matrix C of the middle term; nil means none.
	Diagonal []float64
	Blocks   *Blocks
}

// HasMiddle reports whether there is a middle term.
func (a Adjoint) HasMiddle() bool { return a.Diagonal != nil || a.Blocks != nil }

// CheckSizes returns an error if a, or the diagonal, gradient or parameters of a
// contraction, do not fit n points and the program.
func (a Adjoint) CheckSizes(n int, diag, grad []float64, prog *kernel.Program) error {
	switch {
	case len(a.Vectors) != n*len(a.Outer):
		return fmt.Errorf("contraction with %d elements of %d vectors for n = %d", len(a.Vectors), len(a.Outer), n)
	case len(diag) != n || len(grad) != prog.NumParams:
		return fmt.Errorf("contraction to %d diagonal elements and %d derivatives for n = %d, %d parameters", len(diag), len(grad), n, prog.NumParams)
	case a.Diagonal != nil && len(a.Diagonal) != n:
		return fmt.Errorf("contraction with %d elements of the middle term for n = %d", len(a.Diagonal), n)
	case a.Blocks != nil:
		return a.Blocks.Check(n)
	}
	return nil
}

// Progress is the progress of a call.
type Progress struct {
	// Stage names the call: "factor", "gradient" (and the inverse) or "predict".
	Stage string
	// Done and Total are in floating-point operations.
	Done, Total float64
}

// Work counts the work and the memory of a workspace.
type Work struct {
	// Flops is the number of floating-point operations of matrix algebra.
	Flops float64
	// Bytes is the memory held now, MatrixBytes the part of it in n×n matrices.
	Bytes, MatrixBytes int64
}

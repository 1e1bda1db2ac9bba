package device

import (
	"context"
	"fmt"

	"gpfit/kernel"
)

// Workspace computes with the covariance matrix Σ of n points, in whatever form
// its method keeps it. It takes these stages:
//
//	Form → LogDet, Solve, Contract, Predict in any order → Form …
//
// The calls of one workspace must not overlap. A call before Form returns
// [ErrStage]. Calls that do n² work or more poll ctx between pieces of it and
// return its error when it is done; the workspace is then back before Form. After
// any error but a context's, [*NotPDError] and [*NonFiniteError] the workspace
// cannot be used again.
//
// Matrices of several columns are column-major with leading dimension n. Costs
// are those of [Exact].
type Workspace interface {
	// Method is the name of the method, as in [Capabilities].
	Method() string
	// N is the number of points.
	N() int
	// Form forms Σ = K + diag(noise) and makes it ready to solve with:
	// K_ij = k(x_i, x_j) for the program at theta (natural units), and noise of
	// length 1 (one variance for all) or n. Cost n³/3 flops. Errors:
	// [*NotPDError], or [*NonFiniteError] if Σ holds a NaN.
	Form(ctx context.Context, prog *kernel.Program, theta, noise []float64) error
	// LogDet returns log|Σ| and the standard error of it, which is 0 where the
	// method is exact.
	LogDet() (value, stdErr float64, err error)
	// Solve overwrites b (n×m) by Σ⁻¹b. Cost 2n²m flops.
	Solve(ctx context.Context, b []float64, m int) error
	// Contract forms the matrix G of adj piece by piece and adds
	// ⟨G, ∂K/∂log θ_p⟩ to grad[p]; diag (length n) receives G_ii. What Form made
	// survives. Cost 2n³/3 flops after Form, at most n³/3 if the inverse is there
	// already, and n³ more with adj.Middle, whose working space is allocated
	// the first time; a [*MemoryError] says that there is no room for it.
	Contract(ctx context.Context, adj Adjoint, prog *kernel.Program, theta, grad, diag []float64) error
	// Predict writes the means of k functions that share Σ, such as those of
	// several targets: for the weights alpha (n×k) and every point x*_j of xs,
	// mean[j + q·xs.N] = Σ_i k(x*_j, x_i) α_iq, an xs.N×k matrix; k is
	// len(alpha)/n. If reduction is not nil, reduction[j] = k*ᵀΣ⁻¹k*, the fall of
	// the prior variance, the same for all. Points go through in blocks: memory
	// does not grow with their number. Cost n²·xs.N flops with reduction.
	Predict(ctx context.Context, prog *kernel.Program, theta, alpha []float64, xs *kernel.Points, mean, reduction []float64) error
	// OnProgress sets a function to call now and then during all calls that take
	// a context but Solve, from the goroutine of the call; nil for none.
	OnProgress(func(Progress))
	// Work returns the floating-point operations and the memory used so far, for
	// tests and benchmarks.
	Work() Work
	// Close frees the memory. It may be called twice.
	Close() error
}

// InverseDiagonal is the capability of a [Workspace] to give the diagonal of Σ⁻¹.
type InverseDiagonal interface {
	// InverseDiagonal writes the diagonal of Σ⁻¹ to dst (length n). Its cost is
	// that of the inverse, 2n³/3 flops at most, of which a Contract that follows
	// saves at least n³/3.
	InverseDiagonal(ctx context.Context, dst []float64) error
}

// JointCovariance is the capability of a [Workspace] to give the covariance of
// predictions.
type JointCovariance interface {
	// PredictCovariance writes the symmetric matrix K*ᵀΣ⁻¹K* to reduction, m×m
	// for the m points of xs, both halves: what the posterior covariance falls
	// short of the prior one by (Rasmussen & Williams 2006, eq. 2.24). It holds
	// n×m numbers meanwhile; a [*MemoryError] says, before anything is
	// allocated, that there is no room for them. Cost n²m + nm² flops.
	PredictCovariance(ctx context.Context, prog *kernel.Program, theta []float64, xs *kernel.Points, reduction []float64) error
}

// FactorStore is the capability of a [Workspace] to give its Cholesky factor L
// away and to take it back.
type FactorStore interface {
	// ReadFactor copies rows r0 … r1−1 of L to dst, row-major with leading
	// dimension n, zeros above the diagonal.
	ReadFactor(r0, r1 int, dst []float64) error
	// WriteFactor is its inverse: it sets rows of L, and the workspace counts
	// as formed once the last row is written.
	WriteFactor(r0, r1 int, src []float64) error
}

// ResidualChecker is the capability of a [Workspace] to check what Form made.
type ResidualChecker interface {
	// Residual returns max ‖ΣΣ⁻¹e − e‖∞ over a few vectors e of columns of the identity
	// and of random signs, with Σ generated again, at the parameters of the last Form.
	Residual(ctx context.Context) (float64, error)
}

// Capability returns the capability T of a workspace, such as [FactorStore], or
// an [*UnsupportedError]. what names what it is needed for, as the object of
// "cannot give".
func Capability[T any](w Workspace, what string) (T, error) {
	c, ok := w.(T)
	if !ok {
		return c, &UnsupportedError{Method: w.Method(), What: what}
	}
	return c, nil
}

// Adjoint is the derivative of a scalar by Σ, for n points the symmetric n×n
// matrix
//
//	G = Inv·Σ⁻¹ + Σ⁻¹·diag(Middle)·Σ⁻¹ + Σ_k Outer[k]·v_k v_kᵀ,
//
// never formed as a whole. The marginal likelihood has Inv = ½, Outer = {−½} and
// v = α (Rasmussen & Williams 2006, eq. 5.9); several targets have a v each. The
// middle term is that of the leave-one-out likelihood (eq. 5.13), with
// Middle_i = ½(1 + α_i²/κ_i)/κ_i for κ from InverseDiagonal.
type Adjoint struct {
	Inv float64
	// Middle has n elements of any sign, or none.
	Middle []float64
	// Outer has an element for each column of Vectors, n×len(Outer).
	Outer   []float64
	Vectors []float64
}

// CheckSizes returns an error if a does not fit n points, or the diagonal,
// gradient and parameters of a contraction do not.
func (a Adjoint) CheckSizes(n int, diag, grad []float64, prog *kernel.Program) error {
	switch {
	case len(a.Vectors) != n*len(a.Outer):
		return fmt.Errorf("contraction with %d elements of %d vectors for n = %d", len(a.Vectors), len(a.Outer), n)
	case a.Middle != nil && len(a.Middle) != n:
		return fmt.Errorf("contraction with %d elements of the middle term for n = %d", len(a.Middle), n)
	case len(diag) != n || len(grad) != prog.NumParams:
		return fmt.Errorf("contraction to %d diagonal elements and %d derivatives for n = %d, %d parameters", len(diag), len(grad), n, prog.NumParams)
	}
	return nil
}

// CheckPrediction returns an error if the arguments of a Predict for points x do
// not fit.
func CheckPrediction(x, xs *kernel.Points, alpha, mean, reduction []float64) error {
	if xs.D != x.D || len(alpha)%x.N != 0 || len(mean) != len(alpha)/x.N*xs.N || reduction != nil && len(reduction) != xs.N {
		return fmt.Errorf("prediction at %d points of %d columns with %d weights, %d means and %d variances, n = %d, d = %d",
			xs.N, xs.D, len(alpha), len(mean), len(reduction), x.N, x.D)
	}
	return nil
}

// Progress says how far a call is.
type Progress struct {
	// Stage names the call: "factor", "gradient" (and the inverse) or "predict".
	Stage string
	// Done and Total are in floating-point operations.
	Done, Total float64
}

// Work counts what a workspace has done.
type Work struct {
	// Flops is the number of floating-point operations of matrix algebra.
	Flops float64
	// Bytes is the memory held now; MatrixBytes the part in n×n matrices.
	Bytes, MatrixBytes int64
}

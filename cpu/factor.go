package cpu

import (
	"context"

	"gonum.org/v1/gonum/blas"

	"gpfit/device"
)

// gemmFlops bounds one matrix product, so that a cancelled context is seen
// within a fraction of a second.
const gemmFlops = 4e9

// at returns the part of the buffer that starts at element (i, j).
func (w *Workspace) at(i, j int) []float64 { return w.a[i*w.ld+j:] }

// split halves n at a multiple of 64.
func split(n int) int { return (n/2 + 63) &^ 63 }

// gemm computes C = alpha·op(A)·op(B) + beta·C, C m×n, in bands of rows.
func (w *Workspace) gemm(ctx context.Context, ta, tb blas.Transpose, m, n, k int, alpha float64, a []float64, lda int, b []float64, ldb int, beta float64, c []float64, ldc int) error {
	if m == 0 || n == 0 {
		return ctx.Err()
	}
	perRow := 2 * float64(n) * float64(max(k, 1))
	band := min(m, max(64, int(gemmFlops/perRow)))
	for i := 0; i < m; i += band {
		rows := min(band, m-i)
		ai := a[i*lda:]
		if ta == blas.Trans {
			ai = a[i:]
		}
		w.backend.blas.Dgemm(ta, tb, rows, n, k, alpha, ai, lda, b, ldb, beta, c[i*ldc:], ldc)
		if err := w.worked(ctx, perRow*float64(rows)); err != nil {
			return err
		}
	}
	return nil
}

// cholesky factors the n×n diagonal block at o in place:
//
//	[A₁₁    ]   [L₁₁    ] [L₁₁ᵀ L₂₁ᵀ]
//	[A₂₁ A₂₂] = [L₂₁ L₂₂] [     L₂₂ᵀ]
//
// (Golub & Van Loan, Matrix Computations, 4th ed., §4.2.9, recursive form).
func (w *Workspace) cholesky(ctx context.Context, o, n int) error {
	if n <= w.backend.leaf {
		if minor := w.backend.blas.Cholesky(blas.Lower, n, w.at(o, o), w.ld); minor > 0 {
			return w.notPD(o + minor)
		}
		return w.worked(ctx, cube(n)/3)
	}
	n1 := split(n)
	n2 := n - n1
	if err := w.cholesky(ctx, o, n1); err != nil {
		return err
	}
	a21 := w.at(o+n1, o)
	if err := w.solveRight(ctx, o, n1, a21, w.ld, n2); err != nil {
		return err
	}
	if err := w.subtractSquare(ctx, o+n1, n2, a21, n1); err != nil {
		return err
	}
	return w.cholesky(ctx, o+n1, n2)
}

// notPD explains a leading minor that is not positive: a NaN or an infinity
// in its last row, or a matrix that is not positive definite. The row is
// formed once more, since the factorisation has overwritten it.
func (w *Workspace) notPD(minor int) error {
	row := make([]float64, minor)
	w.fillRow(w.evaluators[0], minor-1, row)
	for j, v := range row {
		if v-v != 0 {
			return &device.NonFiniteError{What: "covariance matrix", Row: minor - 1, Col: j}
		}
	}
	return &device.NotPDError{Minor: minor, N: w.n}
}

func dot(a, b []float64) float64 {
	var s0, s1, s2, s3 float64
	b = b[:len(a)]
	i := 0
	for ; i+4 <= len(a); i += 4 {
		s0 += a[i] * b[i]
		s1 += a[i+1] * b[i+1]
		s2 += a[i+2] * b[i+2]
		s3 += a[i+3] * b[i+3]
	}
	for ; i < len(a); i++ {
		s0 += a[i] * b[i]
	}
	return (s0 + s1) + (s2 + s3)
}

// solveRight overwrites the m×k matrix b by b·L⁻ᵀ, for the k×k diagonal block
// of L at o.
func (w *Workspace) solveRight(ctx context.Context, o, k int, b []float64, ldb, m int) error {
	if k <= w.backend.leaf {
		w.backend.blas.Dtrsm(blas.Right, blas.Lower, blas.Trans, blas.NonUnit, m, k, 1, w.at(o, o), w.ld, b, ldb)
		return w.worked(ctx, float64(m)*float64(k)*float64(k))
	}
	k1 := split(k)
	if err := w.solveRight(ctx, o, k1, b, ldb, m); err != nil {
		return err
	}
	err := w.gemm(ctx, blas.NoTrans, blas.Trans, m, k-k1, k1, -1, b, ldb, w.at(o+k1, o), w.ld, 1, b[k1:], ldb)
	if err != nil {
		return err
	}
	return w.solveRight(ctx, o+k1, k-k1, b[k1:], ldb, m)
}

// subtractSquare subtracts b·bᵀ from the lower triangle of the n×n diagonal
// block at o; b is n×k, a part of the buffer.
func (w *Workspace) subtractSquare(ctx context.Context, o, n int, b []float64, k int) error {
	if n <= w.backend.leaf {
		w.backend.blas.Dsyrk(blas.Lower, blas.NoTrans, n, k, -1, b, w.ld, 1, w.at(o, o), w.ld)
		return w.worked(ctx, float64(n)*float64(n)*float64(k))
	}
	n1 := split(n)
	b2 := b[n1*w.ld:]
	if err := w.gemm(ctx, blas.NoTrans, blas.Trans, n-n1, n1, k, -1, b2, w.ld, b, w.ld, 1, w.at(o+n1, o), w.ld); err != nil {
		return err
	}
	if err := w.subtractSquare(ctx, o, n1, b, k); err != nil {
		return err
	}
	return w.subtractSquare(ctx, o+n1, n-n1, b2, k)
}

package cpu

import (
	"context"

	"gonum.org/v1/gonum/blas"

	"gpfit/device"
)

// gemmFlops bounds the size of one matrix product, so that cancellation takes
// effect within a fraction of a second.
const gemmFlops = 4e9

// at returns the part of the buffer starting at element (i, j).
func (w *Workspace) at(i, j int) []float64 { return w.a[i*w.ld+j:] }

// split halves n at a multiple of 64.
func split(n int) int { return (n/2 + 63) &^ 63 }

// gemm computes C = alpha·A·op(B) + beta·C, with C m×n, in bands along the longer
// side of C, so that only the shorter operand is packed repeatedly.
func (w *Workspace) gemm(ctx context.Context, tb blas.Transpose, m, n, k int, alpha float64, a []float64, lda int, b []float64, ldb int, beta float64, c []float64, ldc int) error {
	const least = 64
	if m >= n {
		perRow := 2 * float64(n) * float64(k)
		for i := 0; i < m; {
			rows := min(m-i, max(least, int(gemmFlops/perRow)))
			w.blas.Dgemm(blas.NoTrans, tb, rows, n, k, alpha, a[i*lda:], lda, b, ldb, beta, c[i*ldc:], ldc)
			if err := w.worked(ctx, perRow*float64(rows)); err != nil {
				return err
			}
			i += rows
		}
		return nil
	}
	perCol := 2 * float64(m) * float64(k)
	for j := 0; j < n; {
		cols := min(n-j, max(least, int(gemmFlops/perCol)))
		bj := b[j:]
		if tb == blas.Trans {
			bj = b[j*ldb:]
		}
		w.blas.Dgemm(blas.NoTrans, tb, m, cols, k, alpha, a, lda, bj, ldb, beta, c[j:], ldc)
		if err := w.worked(ctx, perCol*float64(cols)); err != nil {
			return err
		}
		j += cols
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
	if n <= w.dev.leaf {
		if minor := w.blas.Cholesky(blas.Lower, n, w.at(o, o), w.ld); minor > 0 {
			return device.ExplainMinor(o+minor, w.x, w.filled, w.theta, w.noise)
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

// solveRight overwrites the m×k matrix b by b·L⁻ᵀ, for the k×k diagonal block
// of L at o.
func (w *Workspace) solveRight(ctx context.Context, o, k int, b []float64, ldb, m int) error {
	if k <= w.dev.leaf {
		w.blas.Dtrsm(blas.Right, blas.Lower, blas.Trans, blas.NonUnit, m, k, 1, w.at(o, o), w.ld, b, ldb)
		return w.worked(ctx, float64(m)*float64(k)*float64(k))
	}
	k1 := split(k)
	if err := w.solveRight(ctx, o, k1, b, ldb, m); err != nil {
		return err
	}
	err := w.gemm(ctx, blas.Trans, m, k-k1, k1, -1, b, ldb, w.at(o+k1, o), w.ld, 1, b[k1:], ldb)
	if err != nil {
		return err
	}
	return w.solveRight(ctx, o+k1, k-k1, b[k1:], ldb, m)
}

// subtractSquare subtracts b·bᵀ from the lower triangle of the n×n diagonal
// block at o; b is n×k, a part of the buffer.
func (w *Workspace) subtractSquare(ctx context.Context, o, n int, b []float64, k int) error {
	if n <= w.dev.leaf {
		w.blas.Dsyrk(blas.Lower, blas.NoTrans, n, k, -1, b, w.ld, 1, w.at(o, o), w.ld)
		return w.worked(ctx, float64(n)*float64(n)*float64(k))
	}
	n1 := split(n)
	b2 := b[n1*w.ld:]
	if err := w.gemm(ctx, blas.Trans, n-n1, n1, k, -1, b2, w.ld, b, w.ld, 1, w.at(o+n1, o), w.ld); err != nil {
		return err
	}
	if err := w.subtractSquare(ctx, o, n1, b, k); err != nil {
		return err
	}
	return w.subtractSquare(ctx, o+n1, n-n1, b2, k)
}

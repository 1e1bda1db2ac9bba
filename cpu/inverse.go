package cpu

import (
	"context"

	"gonum.org/v1/gonum/blas"
)

// invert computes Σ⁻¹ = U·Uᵀ, U = L⁻ᵀ: its strict upper triangle in place and its
// diagonal in inverseDiag. Meanwhile the diagonal of the buffer is U's and then
// Σ⁻¹'s; at the end it is L's again. more is the number of operations that follow
// in the same call.
func (w *Workspace) invert(ctx context.Context, more float64) error {
	if w.stage == stageInverted {
		w.begin("gradient", more)
		return ctx.Err()
	}
	w.begin("gradient", 2*cube(w.n)/3+more)
	diagL := w.diagonal(nil)
	w.stage = stageEmpty
	if err := w.invertBlock(ctx, diagL, 0, w.n); err != nil {
		return err
	}
	if err := w.squareBlock(ctx, 0, w.n); err != nil {
		return err
	}
	w.inverseDiag = w.diagonal(w.inverseDiag)
	w.setDiagonal(diagL)
	w.stage = stageInverted
	return nil
}

func (w *Workspace) setDiagonal(d []float64) {
	for i, v := range d {
		w.a[i*w.ld+i] = v
	}
}

// diagonal copies the diagonal to d, or to a new slice.
func (w *Workspace) diagonal(d []float64) []float64 {
	if d == nil {
		d = make([]float64, w.n)
	}
	for i := range d {
		d[i] = w.a[i*w.ld+i]
	}
	return d
}

// invertBlock inverts the n×n diagonal block at o. With L₂₁ below and U₁₂
// above,
//
//	U₁₂ = −U₁₁ L₂₁ᵀ U₂₂
//
// (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., §14.2).
func (w *Workspace) invertBlock(ctx context.Context, diagL []float64, o, n int) error {
	if n <= w.dev.leaf {
		for i := range n {
			w.a[(o+i)*w.ld+o+i] = diagL[o+i]
		}
		if err := w.transpose(ctx, o, n); err != nil {
			return err
		}
		w.blas.Dtrtri(blas.Upper, blas.NonUnit, n, w.at(o, o), w.ld)
		return w.worked(ctx, cube(n)/3)
	}
	n1 := split(n)
	n2 := n - n1
	if err := w.invertBlock(ctx, diagL, o, n1); err != nil {
		return err
	}
	if err := w.invertBlock(ctx, diagL, o+n1, n2); err != nil {
		return err
	}
	if err := w.negateTranspose(ctx, o, n1, n2); err != nil {
		return err
	}
	u12 := w.at(o, o+n1)
	if err := w.multiplyLeft(ctx, o, n1, u12, n2); err != nil {
		return err
	}
	return w.multiplyRight(ctx, o+n1, n2, u12, n1)
}

// negateTranspose writes −L₂₁ᵀ to U₁₂, tile by tile.
func (w *Workspace) negateTranspose(ctx context.Context, o, n1, n2 int) error {
	return w.tiles(ctx, n1, func(i0, i1 int) {
		for j0 := 0; j0 < n2; j0 += transposeTile {
			for i := i0; i < i1; i++ {
				row := w.at(o+i, o+n1)
				for j := j0; j < min(j0+transposeTile, n2); j++ {
					row[j] = -w.a[(o+n1+j)*w.ld+o+i]
				}
			}
		}
	})
}

// transpose copies the strict lower triangle of the diagonal block at o to its
// strict upper triangle.
func (w *Workspace) transpose(ctx context.Context, o, n int) error {
	return w.tiles(ctx, n, func(i0, i1 int) {
		for j0 := i0; j0 < n; j0 += transposeTile {
			for i := i0; i < i1; i++ {
				row := w.at(o+i, o)
				for j := max(j0, i+1); j < min(j0+transposeTile, n); j++ {
					row[j] = w.a[(o+j)*w.ld+o+i]
				}
			}
		}
	})
}

// transposeTile is the side of the blocks in a transposition; two of them fit into
// the first-level cache.
const transposeTile = 32

// tiles calls f for 0 … n−1 in bands of transposeTile rows, in parallel.
func (w *Workspace) tiles(ctx context.Context, n int, f func(i0, i1 int)) error {
	return parallelFor(ctx, w.threadsFor(n), (n+transposeTile-1)/transposeTile, func(_, task int) {
		f(task*transposeTile, min((task+1)*transposeTile, n))
	})
}

// multiplyLeft overwrites the k×m matrix b by U·b, for the k×k diagonal block
// of U at o.
func (w *Workspace) multiplyLeft(ctx context.Context, o, k int, b []float64, m int) error {
	if k <= w.dev.leaf {
		w.blas.Dtrmm(blas.Left, blas.Upper, blas.NoTrans, blas.NonUnit, k, m, 1, w.at(o, o), w.ld, b, w.ld)
		return w.worked(ctx, float64(m)*float64(k)*float64(k))
	}
	k1 := split(k)
	b2 := b[k1*w.ld:]
	if err := w.multiplyLeft(ctx, o, k1, b, m); err != nil {
		return err
	}
	if err := w.gemm(ctx, blas.NoTrans, k1, m, k-k1, 1, w.at(o, o+k1), w.ld, b2, w.ld, 1, b, w.ld); err != nil {
		return err
	}
	return w.multiplyLeft(ctx, o+k1, k-k1, b2, m)
}

// multiplyRight overwrites the m×k matrix b by b·U.
func (w *Workspace) multiplyRight(ctx context.Context, o, k int, b []float64, m int) error {
	if k <= w.dev.leaf {
		w.blas.Dtrmm(blas.Right, blas.Upper, blas.NoTrans, blas.NonUnit, m, k, 1, w.at(o, o), w.ld, b, w.ld)
		return w.worked(ctx, float64(m)*float64(k)*float64(k))
	}
	k1 := split(k)
	if err := w.multiplyRight(ctx, o+k1, k-k1, b[k1:], m); err != nil {
		return err
	}
	if err := w.gemm(ctx, blas.NoTrans, m, k-k1, k1, 1, b, w.ld, w.at(o, o+k1), w.ld, 1, b[k1:], w.ld); err != nil {
		return err
	}
	return w.multiplyRight(ctx, o, k1, b, m)
}

// squareBlock overwrites the upper triangle U of the n×n diagonal block at o by the
// upper triangle of U·Uᵀ:
//
//	[U₁₁U₁₁ᵀ + U₁₂U₁₂ᵀ   U₁₂U₂₂ᵀ]
//	[                     U₂₂U₂₂ᵀ]
func (w *Workspace) squareBlock(ctx context.Context, o, n int) error {
	if n <= w.dev.leaf {
		w.blas.Dlauum(blas.Upper, n, w.at(o, o), w.ld)
		return w.worked(ctx, cube(n)/3)
	}
	n1 := split(n)
	n2 := n - n1
	u12 := w.at(o, o+n1)
	if err := w.squareBlock(ctx, o, n1); err != nil {
		return err
	}
	if err := w.addSquare(ctx, o, n1, u12, n2); err != nil {
		return err
	}
	if err := w.multiplyTransposed(ctx, o+n1, n2, u12, n1); err != nil {
		return err
	}
	return w.squareBlock(ctx, o+n1, n2)
}

// addSquare adds b·bᵀ to the upper triangle of the n×n diagonal block at o; b is
// n×k, a part of the buffer.
func (w *Workspace) addSquare(ctx context.Context, o, n int, b []float64, k int) error {
	if n <= w.dev.leaf {
		w.blas.Dsyrk(blas.Upper, blas.NoTrans, n, k, 1, b, w.ld, 1, w.at(o, o), w.ld)
		return w.worked(ctx, float64(n)*float64(n)*float64(k))
	}
	n1 := split(n)
	b2 := b[n1*w.ld:]
	if err := w.gemm(ctx, blas.Trans, n1, n-n1, k, 1, b, w.ld, b2, w.ld, 1, w.at(o, o+n1), w.ld); err != nil {
		return err
	}
	if err := w.addSquare(ctx, o, n1, b, k); err != nil {
		return err
	}
	return w.addSquare(ctx, o+n1, n-n1, b2, k)
}

// multiplyTransposed overwrites the m×k matrix b by b·Uᵀ, for the k×k diagonal
// block of U at o.
func (w *Workspace) multiplyTransposed(ctx context.Context, o, k int, b []float64, m int) error {
	if k <= w.dev.leaf {
		w.blas.Dtrmm(blas.Right, blas.Upper, blas.Trans, blas.NonUnit, m, k, 1, w.at(o, o), w.ld, b, w.ld)
		return w.worked(ctx, float64(m)*float64(k)*float64(k))
	}
	k1 := split(k)
	if err := w.multiplyTransposed(ctx, o, k1, b, m); err != nil {
		return err
	}
	if err := w.gemm(ctx, blas.Trans, m, k1, k-k1, 1, b[k1:], w.ld, w.at(o, o+k1), w.ld, 1, b, w.ld); err != nil {
		return err
	}
	return w.multiplyTransposed(ctx, o+k1, k-k1, b[k1:], m)
}

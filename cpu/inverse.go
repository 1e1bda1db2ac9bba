package cpu

import (
	"context"

	"gonum.org/v1/gonum/blas"
)

// invert writes U = L⁻ᵀ to the strict upper triangle. While it works, and in
// contract after it, the diagonal of the buffer is that of U; L's is in the
// returned slice, and the caller puts it back with setDiagonal.
func (w *Workspace) invert(ctx context.Context, diagL []float64) error {
	return w.invertBlock(ctx, diagL, 0, w.n)
}

func (w *Workspace) diagonal() []float64 {
	d := make([]float64, w.n)
	for i := range d {
		d[i] = w.a[i*w.ld+i]
	}
	return d
}

func (w *Workspace) setDiagonal(d []float64) {
	for i, v := range d {
		w.a[i*w.ld+i] = v
	}
}

// invertBlock inverts the n×n diagonal block at o. With L₂₁ below and U₁₂
// above,
//
//	U₁₂ = −U₁₁ L₂₁ᵀ U₂₂
//
// (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., §14.2).
func (w *Workspace) invertBlock(ctx context.Context, diagL []float64, o, n int) error {
	if n <= w.backend.leaf {
		for i := range n {
			w.a[(o+i)*w.ld+o+i] = diagL[o+i]
		}
		w.transpose(o, n)
		w.backend.blas.Dtrtri(blas.Upper, blas.NonUnit, n, w.at(o, o), w.ld)
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
	w.negateTranspose(o, n1, n2)
	u12 := w.at(o, o+n1)
	if err := w.multiplyLeft(ctx, o, n1, u12, n2); err != nil {
		return err
	}
	return w.multiplyRight(ctx, o+n1, n2, u12, n1)
}

// transposeTile is the side of the blocks that transpositions go by: two of
// them fit into the first-level cache.
const transposeTile = 32

// negateTranspose writes −L₂₁ᵀ to U₁₂, tile by tile.
func (w *Workspace) negateTranspose(o, n1, n2 int) {
	for ib := 0; ib < n1; ib += transposeTile {
		for jb := 0; jb < n2; jb += transposeTile {
			for i := ib; i < min(ib+transposeTile, n1); i++ {
				row := w.at(o+i, o+n1)
				for j := jb; j < min(jb+transposeTile, n2); j++ {
					row[j] = -w.a[(o+n1+j)*w.ld+o+i]
				}
			}
		}
	}
}

// transpose copies the strict lower triangle of the diagonal block at o to its
// strict upper triangle.
func (w *Workspace) transpose(o, n int) {
	for ib := 0; ib < n; ib += transposeTile {
		for jb := ib; jb < n; jb += transposeTile {
			for i := ib; i < min(ib+transposeTile, n); i++ {
				row := w.at(o+i, o)
				for j := max(jb, i+1); j < min(jb+transposeTile, n); j++ {
					row[j] = w.a[(o+j)*w.ld+o+i]
				}
			}
		}
	}
}

// multiplyLeft overwrites the k×m matrix b by U·b, for the k×k diagonal block
// of U at o.
func (w *Workspace) multiplyLeft(ctx context.Context, o, k int, b []float64, m int) error {
	if k <= w.backend.leaf {
		w.backend.blas.Dtrmm(blas.Left, blas.Upper, blas.NoTrans, blas.NonUnit, k, m, 1, w.at(o, o), w.ld, b, w.ld)
		return w.worked(ctx, float64(m)*float64(k)*float64(k))
	}
	k1 := split(k)
	b2 := b[k1*w.ld:]
	if err := w.multiplyLeft(ctx, o, k1, b, m); err != nil {
		return err
	}
	if err := w.gemm(ctx, blas.NoTrans, blas.NoTrans, k1, m, k-k1, 1, w.at(o, o+k1), w.ld, b2, w.ld, 1, b, w.ld); err != nil {
		return err
	}
	return w.multiplyLeft(ctx, o+k1, k-k1, b2, m)
}

// multiplyRight overwrites the m×k matrix b by b·U.
func (w *Workspace) multiplyRight(ctx context.Context, o, k int, b []float64, m int) error {
	if k <= w.backend.leaf {
		w.backend.blas.Dtrmm(blas.Right, blas.Upper, blas.NoTrans, blas.NonUnit, m, k, 1, w.at(o, o), w.ld, b, w.ld)
		return w.worked(ctx, float64(m)*float64(k)*float64(k))
	}
	k1 := split(k)
	if err := w.multiplyRight(ctx, o+k1, k-k1, b[k1:], m); err != nil {
		return err
	}
	if err := w.gemm(ctx, blas.NoTrans, blas.NoTrans, m, k-k1, k1, 1, b, w.ld, w.at(o, o+k1), w.ld, 1, b[k1:], w.ld); err != nil {
		return err
	}
	return w.multiplyRight(ctx, o, k1, b, m)
}

package cuda

import (
	"context"

	"gpfit/device/cuda/kernels"
)

// InverseDiagonal copies the diagonal of Σ⁻¹ to dst, after forming it if necessary.
func (w *Workspace) InverseDiagonal(ctx context.Context, dst []float64) error {
	return w.do(stageFactored, func() error {
		if int64(len(dst)) != w.n {
			return argumentf("diagonal of %d elements for n = %d", len(dst), w.n)
		}
		if err := w.invert(ctx, 0); err != nil {
			return err
		}
		return w.gpu.download(dst, w.kappa.at)
	})
}

// invert writes the strict upper triangle of Σ⁻¹ = U·Uᵀ, U = L⁻ᵀ, to the matrix and the
// diagonal to kappa, unless they are there already. Meanwhile the diagonal of the
// matrix holds the diagonal of U and then of Σ⁻¹; in the end it holds the diagonal of L
// again. more is the number of operations that follow in the same call.
func (w *Workspace) invert(ctx context.Context, more float64) error {
	if w.stage == stageInverted {
		w.begin("gradient", more)
		return ctx.Err()
	}
	width := w.sizes.panelWidth(w.n)
	if err := w.memory.need(&w.square, width*leadingDim(width)); err != nil {
		return err
	}
	w.begin("gradient", cube(w.n)/3+panelFlops(w.n, width)+more)
	if err := w.gpu.run(kernels.GetDiagonal(w.matrix, w.diagonalL(), false), kernels.Mirror(w.matrix, w.n)); err != nil {
		return err
	}
	if err := w.invertUpper(ctx, 0, w.n); err != nil {
		return err
	}
	if err := w.squareUpper(ctx); err != nil {
		return err
	}
	if err := w.gpu.run(kernels.GetDiagonal(w.matrix, w.diagonalInverse(), false), w.restoreDiagonal()); err != nil {
		return err
	}
	w.stage = stageInverted
	return nil
}

// restoreDiagonal writes the diagonal of L to the matrix again.
func (w *Workspace) restoreDiagonal() kernels.Launch {
	return kernels.SetDiagonal(w.matrix, w.diagonalL(), false)
}

// invertUpper inverts the upper triangle Lᵀ of the n×n diagonal block at o in
// place. With the blocks of Lᵀ and of its inverse U,
//
//	U₁₂ = −U₁₁ (Lᵀ)₁₂ U₂₂
//
// (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., §14.2).
func (w *Workspace) invertUpper(ctx context.Context, o, n int64) error {
	if n <= w.sizes.invert {
		if err := w.gpu.Trtri(n, w.at(o, o)); err != nil {
			return err
		}
		return w.worked(ctx, cube(n)/3)
	}
	n1 := half(n)
	n2 := n - n1
	if err := w.invertUpper(ctx, o, n1); err != nil {
		return err
	}
	if err := w.invertUpper(ctx, o+n1, n2); err != nil {
		return err
	}
	if err := w.multiplyLeft(ctx, o, n1, w.at(o, o+n1), n2); err != nil {
		return err
	}
	return w.multiplyRight(ctx, o+n1, n2, w.at(o, o+n1), n1)
}

// multiplyLeft overwrites the k×m block b with −U·b, for the k×k diagonal block of U at
// o.
func (w *Workspace) multiplyLeft(ctx context.Context, o, k int64, b kernels.Matrix, m int64) error {
	if k <= w.sizes.invert {
		if err := w.gpu.Trmm(left, plain, k, m, -1, w.at(o, o), b); err != nil {
			return err
		}
		return w.worked(ctx, float64(m)*float64(k)*float64(k))
	}
	k1 := half(k)
	b2 := b.At(k1, 0)
	if err := w.multiplyLeft(ctx, o, k1, b, m); err != nil {
		return err
	}
	if err := w.gemm(ctx, plain, plain, k1, m, k-k1, -1, w.at(o, o+k1), b2, 1, b); err != nil {
		return err
	}
	return w.multiplyLeft(ctx, o+k1, k-k1, b2, m)
}

// multiplyRight overwrites the m×k block b with b·U.
func (w *Workspace) multiplyRight(ctx context.Context, o, k int64, b kernels.Matrix, m int64) error {
	if k <= w.sizes.invert {
		if err := w.gpu.Trmm(right, plain, m, k, 1, w.at(o, o), b); err != nil {
			return err
		}
		return w.worked(ctx, float64(m)*float64(k)*float64(k))
	}
	k1 := half(k)
	b2 := b.At(0, k1)
	if err := w.multiplyRight(ctx, o+k1, k-k1, b2, m); err != nil {
		return err
	}
	if err := w.gemm(ctx, plain, plain, m, k-k1, k1, 1, b, w.at(o, o+k1), 1, b2); err != nil {
		return err
	}
	return w.multiplyRight(ctx, o, k1, b, m)
}

// squareUpper overwrites U with the upper triangle of U·Uᵀ, in panels of columns J = j0
// … j1−1 from left to right. Row i of U begins at its diagonal, so that
//
//	Σ⁻¹[0:j1, J] = U[0:j1, J]·U[J, J]ᵀ + U[0:j1, j1:]·U[J, j1:]ᵀ
//
// needs no column that an earlier panel has overwritten. Rows J, with L below their
// diagonal, are formed in a separate block.
func (w *Workspace) squareUpper(ctx context.Context) error {
	width := w.sizes.panelWidth(w.n)
	square := kernels.Matrix{A: w.square.at, LD: leadingDim(width)}
	for j0 := int64(0); j0 < w.n; j0 += width {
		cols := min(width, w.n-j0)
		j1, diagonal := j0+cols, w.at(j0, j0)
		if j0 > 0 {
			if err := w.multiplyTransposed(ctx, j0, cols, j1, w.at(0, j0), w.at(0, j1)); err != nil {
				return err
			}
		}
		if err := w.gpu.run(kernels.Copy(diagonal, square, cols, cols, kernels.Upper)); err != nil {
			return err
		}
		if err := w.multiplyTransposed(ctx, cols, cols, j1, square, w.at(j0, j1)); err != nil {
			return err
		}
		if err := w.gpu.run(kernels.Copy(square, diagonal, cols, cols, kernels.UpperOnly)); err != nil {
			return err
		}
	}
	return nil
}

// multiplyTransposed overwrites b, some rows of columns J = j1−cols … j1−1 of U, with
// b·U[J, J]ᵀ + rest·U[J, j1:]ᵀ.
func (w *Workspace) multiplyTransposed(ctx context.Context, rows, cols, j1 int64, b, rest kernels.Matrix) error {
	j0 := j1 - cols
	if err := w.gpu.Trmm(right, transposed, rows, cols, 1, w.at(j0, j0), b); err != nil {
		return err
	}
	if err := w.worked(ctx, float64(rows)*float64(cols)*float64(cols)); err != nil {
		return err
	}
	if j1 == w.n {
		return nil
	}
	return w.gemm(ctx, plain, transposed, rows, cols, w.n-j1, 1, rest, w.at(j0, j1), 1, b)
}

// panelFlops counts the operations of all panels: n³/3, plus O(width·n²) because a
// panel reaches over the diagonal.
func panelFlops(n, width int64) float64 {
	sum := 0.0
	for j0 := int64(0); j0 < n; j0 += width {
		j1 := min(j0+width, n)
		cols := float64(j1 - j0)
		sum += float64(j1)*cols*cols + 2*float64(j1)*cols*float64(n-j1)
	}
	return sum
}

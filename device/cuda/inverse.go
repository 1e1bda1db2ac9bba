package cuda

import (
	"context"

	"gpfit/internal/cuda/kernels"
	"gpfit/internal/cuda/mathlib"
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
// diagonal to kappa, unless they are there already. It leaves L and its diagonal in
// place. more is the number of operations that follow in the same call.
func (w *Workspace) invert(ctx context.Context, more float64) error {
	if w.stage == stageInverted {
		w.Begin("gradient", more)
		return ctx.Err()
	}
	width := w.sizes.panelWidth(w.n)
	if err := w.memory.need(&w.blocks, blockElements(w.n, width)); err != nil {
		return err
	}
	if err := w.memory.need(&w.panel, width*leadingDim(w.n)); err != nil {
		return err
	}
	w.Begin("gradient", upperFlops(w.n, w.sizes.leaf, width)+panelFlops(w.n, width)+more)
	for _, step := range []func(context.Context) error{w.invertBlocks, w.invertUpper, w.squareUpper} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	w.stage = stageInverted
	return nil
}

// restoreDiagonal writes the diagonal of L to the matrix again.
func (w *Workspace) restoreDiagonal() kernels.Launch {
	return kernels.SetDiagonal(w.matrix, w.diagonalL(), false)
}

// inverseBlocks returns the diagonal blocks of U, of panelWidth columns each, with zeros
// below the diagonal. They are the diagonal blocks of a matrix whose leading dimension
// is their order, which no other element of that matrix overlaps.
func (w *Workspace) inverseBlocks() kernels.Matrix {
	return kernels.Matrix{A: w.blocks.at, LD: w.sizes.panelWidth(w.n)}
}

// blockElements returns the memory for inverseBlocks, in numbers.
func blockElements(n, width int64) int64 { return n * (width + 1) }

// A pairs is a row of count pairs of diagonal blocks. The first block of the first pair
// begins at element (at, at) and has the given order; the second block has second rows
// and columns. Each pair begins 2·order below the one before.
type pairs struct{ at, order, second, count int64 }

// pairsOf divides n rows into pairs of blocks of the given order. At most one pair is
// smaller; a block that remains without a second one is left out.
func pairsOf(n, order int64) []pairs {
	var found []pairs
	count := n / (2 * order)
	if count > 0 {
		found = append(found, pairs{0, order, order, count})
	}
	if at := 2 * order * count; n-at > order {
		found = append(found, pairs{at, order, n - at - order, 1})
	}
	return found
}

// of returns the blocks of a that begin at element (i, j) of each pair.
func (p pairs) of(a kernels.Matrix, i, j int64) mathlib.Strided {
	return mathlib.Strided{Matrix: a.At(p.at+i, p.at+j), Stride: 2 * p.order * (a.LD + 1)}
}

// rows returns blocks of a panel with the rows of the first block of each pair.
func (p pairs) rows(panel kernels.Matrix) mathlib.Strided {
	return mathlib.Strided{Matrix: panel.At(p.at, 0), Stride: 2 * p.order}
}

// invertBlocks computes the diagonal blocks of U: first those of order leaf, then from
// pairs of blocks U₁₁ and U₂₂ the block beside them,
//
//	U₁₂ = −U₁₁ (Lᵀ)₁₂ U₂₂
//
// (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., §14.2).
func (w *Workspace) invertBlocks(ctx context.Context) error {
	u, leaf := w.inverseBlocks(), w.sizes.leaf
	if err := w.gpu.clear(u.A, blockElements(w.n, u.LD)); err != nil {
		return err
	}
	if err := w.gpu.run(kernels.GetDiagonal(w.matrix, w.diagonalL(), false), kernels.Invert(w.matrix, w.n, leaf, u)); err != nil {
		return err
	}
	if err := w.worked(ctx, float64(w.n)*float64(leaf)*float64(leaf)/3); err != nil {
		return err
	}
	for order := leaf; order < u.LD; order *= 2 {
		for _, p := range pairsOf(w.n, order) {
			product := p.rows(w.columns(w.panel))
			if err := w.gemmEach(ctx, plain, transposed, order, p.second, order, 1, p.of(u, 0, 0), p.of(w.matrix, order, 0), 0, product, p.count); err != nil {
				return err
			}
			if err := w.gemmEach(ctx, plain, plain, order, p.second, p.second, -1, product, p.of(u, order, order), 0, p.of(u, 0, order), p.count); err != nil {
				return err
			}
		}
	}
	return nil
}

// invertUpper writes the blocks of U above its diagonal blocks to the upper triangle of
// the matrix, from pairs of growing blocks as [Workspace.invertBlocks] does.
func (w *Workspace) invertUpper(ctx context.Context) error {
	for order := w.sizes.panelWidth(w.n); order < w.n; order *= 2 {
		for _, p := range pairsOf(w.n, order) {
			if err := w.multiplyLeft(ctx, p, 0, order); err != nil {
				return err
			}
			if err := w.multiplyRight(ctx, p, 0, p.second); err != nil {
				return err
			}
		}
	}
	return nil
}

// multiplyLeft writes rows i … i+k−1 of −U₁₁·(L₂₁)ᵀ to the block above U₂₂, for the
// k×k diagonal block of U₁₁ at i.
func (w *Workspace) multiplyLeft(ctx context.Context, p pairs, i, k int64) error {
	u, a := w.inverseBlocks(), w.matrix
	out := p.of(a, i, p.order)
	if k <= u.LD {
		return w.gemmEach(ctx, plain, transposed, k, p.second, k, -1, p.of(u, i, i), p.of(a, p.order, i), 0, out, p.count)
	}
	k1 := firstHalf(k, u.LD)
	if err := w.multiplyLeft(ctx, p, i, k1); err != nil {
		return err
	}
	if err := w.gemmEach(ctx, plain, transposed, k1, p.second, k-k1, -1, p.of(a, i, i+k1), p.of(a, p.order, i+k1), 1, out, p.count); err != nil {
		return err
	}
	return w.multiplyLeft(ctx, p, i+k1, k-k1)
}

// multiplyRight multiplies columns j … j+k−1 of the block above U₂₂ by the k×k diagonal
// block of U₂₂ at j, in place.
func (w *Workspace) multiplyRight(ctx context.Context, p pairs, j, k int64) error {
	u, a := w.inverseBlocks(), w.matrix
	b := p.of(a, 0, p.order+j)
	if k <= u.LD {
		copied := p.rows(w.columns(w.panel))
		if err := w.gpu.run(kernels.CopyEach(b.Matrix, b.Stride, copied.Matrix, copied.Stride, p.order, k, p.count)); err != nil {
			return err
		}
		return w.gemmEach(ctx, plain, plain, p.order, k, k, 1, copied, p.of(u, p.order+j, p.order+j), 0, b, p.count)
	}
	k1 := firstHalf(k, u.LD)
	if err := w.multiplyRight(ctx, p, j+k1, k-k1); err != nil {
		return err
	}
	if err := w.gemmEach(ctx, plain, plain, p.order, k-k1, k1, 1, b, p.of(a, p.order+j, p.order+j+k1), 1, p.of(a, 0, p.order+j+k1), p.count); err != nil {
		return err
	}
	return w.multiplyRight(ctx, p, j, k1)
}

// firstHalf returns the largest width·2ⁱ below k.
func firstHalf(k, width int64) int64 {
	for 2*width < k {
		width *= 2
	}
	return width
}

// squareUpper overwrites U with the upper triangle of U·Uᵀ, in panels of columns J = j0
// … j1−1 from left to right. Row i of U begins at its diagonal, so that
//
//	Σ⁻¹[0:j1, J] = U[0:j1, J]·U[J, J]ᵀ + U[0:j1, j1:]·U[J, j1:]ᵀ
//
// needs no column that an earlier panel has overwritten. It forms a panel beside the
// matrix, because rows J of the matrix hold L below their diagonal.
func (w *Workspace) squareUpper(ctx context.Context) error {
	width, panel := w.sizes.panelWidth(w.n), w.columns(w.panel)
	for j0 := int64(0); j0 < w.n; j0 += width {
		cols := min(width, w.n-j0)
		j1, block := j0+cols, w.inverseBlocks().At(j0, j0)
		if err := w.gemm(ctx, plain, transposed, j0, cols, cols, 1, w.at(0, j0), block, 0, panel); err != nil {
			return err
		}
		if err := w.gemm(ctx, plain, transposed, cols, cols, cols, 1, block, block, 0, panel.At(j0, 0)); err != nil {
			return err
		}
		if j1 < w.n {
			if err := w.gemm(ctx, plain, transposed, j1, cols, w.n-j1, 1, w.at(0, j1), w.at(j0, j1), 1, panel); err != nil {
				return err
			}
		}
		if err := w.gpu.run(kernels.Copy(panel, w.at(0, j0), j0, cols, false), kernels.Copy(panel.At(j0, 0), w.at(j0, j0), cols, cols, true)); err != nil {
			return err
		}
	}
	return w.gpu.run(kernels.GetDiagonal(w.matrix, w.diagonalInverse(), false), w.restoreDiagonal())
}

// gemmEach computes C = alpha·op(A)·op(B) + beta·C for count m×n matrices C: in one call
// if that is a short step, else one after the other.
func (w *Workspace) gemmEach(ctx context.Context, opA, opB mathlib.Transpose, m, n, k int64, alpha float64, a, b mathlib.Strided, beta float64, c mathlib.Strided, count int64) error {
	flops := 2 * float64(m) * float64(n) * float64(k) * float64(count)
	if count > 1 && flops <= w.sizes.gemm {
		if err := w.gpu.GemmBatched(opA, opB, m, n, k, alpha, a, b, beta, c, count); err != nil {
			return err
		}
		return w.worked(ctx, flops)
	}
	for i := range count {
		at := func(b mathlib.Strided) kernels.Matrix { return b.At(i*b.Stride, 0) }
		if err := w.gemm(ctx, opA, opB, m, n, k, alpha, at(a), at(b), beta, at(c)); err != nil {
			return err
		}
	}
	return nil
}

// upperFlops counts the operations of invertBlocks and invertUpper: n³/3, plus O(width·n²)
// because products with diagonal blocks include their zeros.
func upperFlops(n, leaf, width int64) float64 {
	sum := float64(n) * float64(leaf) * float64(leaf) / 3
	for order := leaf; order < n; order *= 2 {
		for _, p := range pairsOf(n, order) {
			sum += 2 * float64(p.count) * (float64(p.second)*triangleFlops(order, width) + float64(order)*triangleFlops(p.second, width))
		}
	}
	return sum
}

// triangleFlops counts the multiplications of a k×k triangle with a vector, in blocks.
func triangleFlops(k, width int64) float64 {
	if k <= width {
		return float64(k) * float64(k)
	}
	k1 := firstHalf(k, width)
	return triangleFlops(k1, width) + float64(k1)*float64(k-k1) + triangleFlops(k-k1, width)
}

// panelFlops counts the operations of all panels: n³/3, plus O(width·n²) because a
// panel reaches over the diagonal.
func panelFlops(n, width int64) float64 {
	sum := 0.0
	for j0 := int64(0); j0 < n; j0 += width {
		j1 := min(j0+width, n)
		cols := float64(j1 - j0)
		sum += 2 * float64(j1) * cols * float64(n-j0)
	}
	return sum
}

package cuda

import (
	"context"
	"slices"

	"gpfit/device"
	"gpfit/device/cuda/kernels"
	"gpfit/device/cuda/mathlib"
)

// InverseDiagonal copies the diagonal of Σ⁻¹ to dst, after forming it if necessary.
func (w *Workspace) InverseDiagonal(ctx context.Context, dst []float64) error {
	return w.do(ctx, stageFactored, func() {
		if w.check(device.CheckColumns(dst, int(w.n), 1)); w.err != nil {
			return
		}
		invert(w, 0)
		w.download(dst, w.kappa.at)
	})
}

// invert writes the strict upper triangle of Σ⁻¹ = U·Uᵀ, U = L⁻ᵀ, to the matrix and the
// diagonal to kappa, unless they are there already. It leaves L and its diagonal in
// place. more is the number of operations that follow in the same call.
func invert(w *Workspace, more float64) {
	if w.stage == stageInverted {
		w.Begin("gradient", more)
		w.poll()
		return
	}
	if w.lockstep != nil {
		w.then(func() error {
			m := inversion(w.ctx, w).partner()
			if w.lockstep.serve(m); m.panicked != nil {
				panic(m.panicked)
			}
			return m.err
		})
		return
	}
	width := w.sizes.panelWidth(w.n)
	if w.sizes.spreads(w.n) {
		invertSpread(w, more)
		return
	}
	w.need(&w.memory, &w.blocks, blockElements(w.n, width))
	w.need(&w.memory, &w.panel, width*leadingDim(w.n))
	w.Begin("gradient", upperFlops(w.n, w.sizes.leaf, width)+panelFlops(w.n, width)+more)
	panel := w.columns(w.panel)
	i := inPlace{inverter{w, width, kernels.Matrix{A: w.blocks.at, LD: width}, func(p pairs) mathlib.Strided { return p.rows(panel) }}, panel}
	i.clear(i.u.A, blockElements(w.n, width))
	i.invertBlocks()
	i.invertUpper()
	i.square()
	if w.err == nil {
		w.stage = stageInverted
	}
}

// invertSpread is [invert] for a workspace that holds U, too.
func invertSpread(w *Workspace, more float64) {
	leaf := w.sizes.panelWidth(w.n)
	w.need(&w.memory, &w.upper, w.n*leadingDim(w.n))
	if !w.zeros {
		w.clear(w.upper.at, w.n*leadingDim(w.n))
		w.zeros = w.err == nil
	}
	w.need(&w.memory, &w.blocks, leaf*leadingDim(w.n))
	if w.err != nil {
		return
	}
	s := inversionSpread{n: w.n, leaf: leaf, a: w.matrix, u: w.columns(w.upper), blocks: w.columns(w.blocks)}
	if w.phases == nil {
		w.phases = s.phases()
	}
	order := s.width()
	w.Begin("gradient", blocksFlops(w.n, w.sizes.leaf, leaf)+slices.Concat(w.phases...).flops()+more)
	inverter{w, leaf, s.u, func(p pairs) mathlib.Strided { return p.of(w.matrix, 0, p.order) }}.invertBlocks()
	for _, p := range w.phases {
		w.phase(p)
	}
	count := w.n / order
	w.run(kernels.CopyEach(s.blocks, order, w.matrix, order*(w.matrix.LD+1), order, order, count, true))
	if at := count * order; at < w.n {
		w.run(kernels.Copy(s.blocks.At(at, 0), w.at(at, at), w.n-at, w.n-at, true))
	}
	w.run(kernels.GetDiagonal(w.matrix, w.diagonalInverse(), false), w.restoreDiagonal())
	if w.err == nil {
		w.stage = stageInverted
	}
}

// inversion is the inversion in lock step.
func inversion(ctx context.Context, w *Workspace) together {
	_, flops := kernels.Systems{N: w.n}.Flops()
	return together{Workspace: w, ctx: ctx, needs: stageFactored, step: stepInvert, after: func([]float64) {
		if w.did("gradient", flops); w.err == nil {
			w.stage = stageInverted
		}
	}}
}

// inverter inverts a factor. u holds the diagonal blocks of U, of an order, with zeros below the diagonal.
// products returns memory for a product of the blocks of pairs.
type inverter struct {
	*Workspace
	order    int64
	u        kernels.Matrix
	products func(pairs) mathlib.Strided
}

// inPlace inverts a factor in its matrix and a panel of columns. u is a matrix whose leading dimension is the order
// of its diagonal blocks; no other element of it overlaps them.
type inPlace struct {
	inverter
	panel kernels.Matrix
}

// blockElements returns the memory for the diagonal blocks of U, in numbers.
func blockElements(n, width int64) int64 { return n * (width + 1) }

// A pairs is a row of count pairs of diagonal blocks. The first block of the first pair
// begins at element (at, at) and has the given order; the second block has second rows
// and columns. Each pair begins 2·order below the previous pair.
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

// invertBlocks computes the diagonal blocks of U: first the blocks of order leaf, then
// from pairs of blocks U₁₁ and U₂₂ the block beside them,
//
//	U₁₂ = −U₁₁ (Lᵀ)₁₂ U₂₂
//
// (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., §14.2).
func (v inverter) invertBlocks() {
	u, leaf := v.u, v.sizes.leaf
	v.run(kernels.GetDiagonal(v.matrix, v.diagonalL(), false), kernels.Invert(v.matrix, v.n, leaf, u))
	v.worked(float64(v.n) * float64(leaf) * float64(leaf) / 3)
	for order := leaf; order < v.order; order *= 2 {
		for _, p := range pairsOf(v.n, order) {
			product := v.products(p)
			v.gemmEach(plain, transposed, order, p.second, order, 1, p.of(u, 0, 0), p.of(v.matrix, order, 0), 0, product, p.count)
			v.gemmEach(plain, plain, order, p.second, p.second, -1, product, p.of(u, order, order), 0, p.of(u, 0, order), p.count)
		}
	}
}

// invertUpper writes the blocks of U above its diagonal blocks to the upper triangle of
// the matrix, from pairs of growing blocks as invertBlocks does.
func (v inPlace) invertUpper() {
	for order := v.u.LD; order < v.n; order *= 2 {
		for _, p := range pairsOf(v.n, order) {
			v.multiplyLeft(p, 0, order)
			v.multiplyRight(p, 0, p.second)
		}
	}
}

// multiplyLeft writes rows i … i+k−1 of −U₁₁·(L₂₁)ᵀ to the block above U₂₂, for the
// k×k diagonal block of U₁₁ at i.
func (v inPlace) multiplyLeft(p pairs, i, k int64) {
	u, a := v.u, v.matrix
	out := p.of(a, i, p.order)
	if k <= u.LD {
		v.gemmEach(plain, transposed, k, p.second, k, -1, p.of(u, i, i), p.of(a, p.order, i), 0, out, p.count)
		return
	}
	k1 := firstHalf(k, u.LD)
	v.multiplyLeft(p, i, k1)
	v.gemmEach(plain, transposed, k1, p.second, k-k1, -1, p.of(a, i, i+k1), p.of(a, p.order, i+k1), 1, out, p.count)
	v.multiplyLeft(p, i+k1, k-k1)
}

// multiplyRight multiplies columns j … j+k−1 of the block above U₂₂ by the k×k diagonal
// block of U₂₂ at j, in place.
func (v inPlace) multiplyRight(p pairs, j, k int64) {
	u, a := v.u, v.matrix
	b := p.of(a, 0, p.order+j)
	if k <= u.LD {
		copied := p.rows(v.panel)
		v.run(kernels.CopyEach(b.Matrix, b.Stride, copied.Matrix, copied.Stride, p.order, k, p.count, false))
		v.gemmEach(plain, plain, p.order, k, k, 1, copied, p.of(u, p.order+j, p.order+j), 0, b, p.count)
		return
	}
	k1 := firstHalf(k, u.LD)
	v.multiplyRight(p, j+k1, k-k1)
	v.gemmEach(plain, plain, p.order, k-k1, k1, 1, b, p.of(a, p.order+j, p.order+j+k1), 1, p.of(a, 0, p.order+j+k1), p.count)
	v.multiplyRight(p, j, k1)
}

// firstHalf returns the largest width·2ⁱ below k.
func firstHalf(k, width int64) int64 {
	for 2*width < k {
		width *= 2
	}
	return width
}

// square overwrites U with the upper triangle of U·Uᵀ, in panels of columns J = j0
// … j1−1 from left to right. Row i of U begins at its diagonal, so that
//
//	Σ⁻¹[0:j1, J] = U[0:j1, J]·U[J, J]ᵀ + U[0:j1, j1:]·U[J, j1:]ᵀ
//
// needs no column that an earlier panel has overwritten. It forms a panel beside the
// matrix, because rows J of the matrix hold L below their diagonal.
func (v inPlace) square() {
	width, panel := v.u.LD, v.panel
	for j0 := int64(0); j0 < v.n; j0 += width {
		cols := min(width, v.n-j0)
		j1, block := j0+cols, v.u.At(j0, j0)
		v.gemm(plain, transposed, j0, cols, cols, 1, v.at(0, j0), block, 0, panel)
		v.gemm(plain, transposed, cols, cols, cols, 1, block, block, 0, panel.At(j0, 0))
		if j1 < v.n {
			v.gemm(plain, transposed, j1, cols, v.n-j1, 1, v.at(0, j1), v.at(j0, j1), 1, panel)
		}
		v.run(kernels.Copy(panel, v.at(0, j0), j0, cols, false), kernels.Copy(panel.At(j0, 0), v.at(j0, j0), cols, cols, true))
	}
	v.run(kernels.GetDiagonal(v.matrix, v.diagonalInverse(), false), v.restoreDiagonal())
}

// upperFlops counts the operations of invertBlocks and invertUpper: n³/3, plus O(width·n²)
// because products with diagonal blocks include their zeros.
func upperFlops(n, leaf, width int64) float64 {
	return float64(n)*float64(leaf)*float64(leaf)/3 + pairsFlops(n, leaf, n, width)
}

// blocksFlops counts the operations of invertBlocks, for blocks of an order.
func blocksFlops(n, leaf, order int64) float64 {
	return float64(n)*float64(leaf)*float64(leaf)/3 + pairsFlops(n, leaf, order, order)
}

// pairsFlops counts the operations for pairs of blocks of the orders from, 2·from … below end.
func pairsFlops(n, from, end, width int64) (sum float64) {
	for order := from; order < end; order *= 2 {
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

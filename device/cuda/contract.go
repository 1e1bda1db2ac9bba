package cuda

import (
	"context"
	"slices"

	"gpfit/device"
	"gpfit/device/cuda/kernels"
	"gpfit/kernel"
)

var _ device.BlockInverse = (*Workspace)(nil)

// Contract computes the upper triangle of Σ⁻¹, if the matrix does not hold it yet, and
// contracts it with ∂K.
func (w *Workspace) Contract(ctx context.Context, adj device.Adjoint, prog *kernel.Program, theta, grad, diag []float64) error {
	c := contraction{Workspace: w, adj: adj}
	prepare := func() {
		w.check(adj.CheckSizes(int(w.n), diag, grad, prog))
		if !w.bind(prog, theta) || !w.program.bindGradient(&w.queue, &w.memory, theta) {
			return
		}
		c.prepare()
		c.prepareMiddle()
	}
	if w.lockstep != nil && !adj.HasMiddle() && w.stage == stageFactored {
		call := inversion(ctx, w)
		inverted := call.after
		call.prepare, call.queued = prepare, func() { c.contract(diag) }
		call.after = func(results []float64) {
			inverted(results)
			c.assemble(grad, theta)
		}
		return call.call()
	}
	return w.do(ctx, stageFactored, func() {
		if prepare(); w.err != nil {
			return
		}
		invert(w, c.more)
		c.contract(diag)
		w.wait()
		c.assemble(grad, theta)
	})
}

// contract queues the contraction, and the copies of its results.
func (c *contraction) contract(diag []float64) {
	c.run(kernels.SetDiagonal(c.matrix, c.diagonalInverse(), false))
	if c.more > 0 {
		c.panels()
	} else {
		for j0 := int64(0); j0 < c.n; j0 += c.sizes.fill {
			c.contractColumns(j0, min(j0+c.sizes.fill, c.n))
		}
	}
	c.run(c.restoreDiagonal())
	c.sums = make([]float64, c.program.gradient.Rows())
	c.receive(c.sums, c.program.sums.at)
	c.receive(diag, c.diag.at)
}

// assemble computes the gradient from the sums that have arrived.
func (c *contraction) assemble(grad, theta []float64) {
	if f := &c.program.gradient; c.err == nil {
		f.Assemble(grad, theta, f.values, c.sums)
	}
}

// contraction is a contraction of Σ⁻¹ in the upper triangle of the matrix, whose diagonal
// holds the diagonal of Σ⁻¹ meanwhile.
type contraction struct {
	*Workspace
	adj device.Adjoint
	// more is the number of operations that the middle term takes, 0 without one.
	more float64
	on   kernels.Adjoint
	sums []float64
	// product is a panel of the middle term. It is where [invert] had its panel.
	product kernels.Matrix
}

// prepare copies the vectors of the adjoint to the device.
func (c *contraction) prepare() {
	adj, count := c.adj, int64(len(c.adj.Outer))
	c.need(&c.memory, &c.vectors, (c.n+1)*count)
	outer := c.vectors.at.Offset(8 * c.n * count)
	c.on = kernels.Adjoint{Inv: adj.Inv, Vectors: c.vectors.at, Outer: outer, Count: count}
	if c.solution != nil && slices.Equal(c.solution, adj.Vectors) { // α, which is there
		c.on.Vectors = c.alpha.at
	} else {
		c.upload(c.vectors.at, adj.Vectors)
	}
	c.upload(outer, adj.Outer)
}

// nameOfMiddle names the use of the panel of a middle term in errors.
const nameOfMiddle = "an adjoint with a middle term"

// prepareMiddle copies the middle term to the device, each block with its leading
// dimension, and sets the operations that it takes. The first call allocates the panel
// that [invert] does not have.
func (c *contraction) prepareMiddle() {
	weights, flops := c.adj.Diagonal, 0.0
	switch {
	case c.adj.Blocks != nil:
		weights, flops = slices.Repeat([]float64{1}, int(c.n)), c.adj.Blocks.Flops(int(c.n))
	case weights == nil:
		return
	}
	if c.middle.bytes == 0 {
		count := c.sizes.middleElements(c.n)
		c.require(8*count, nameOfMiddle)
		c.need(&c.memory, &c.middle, count)
	}
	c.upload(c.middle.at, weights)
	if c.adj.Blocks != nil {
		count := foldElements(c.adj.Blocks)
		if need := 8 * count; need > c.folds.bytes {
			c.require(need, nameOfMiddle)
		}
		c.need(&c.memory, &c.folds, count)
		c.eachBlock(func(_, m int64, block kernels.Matrix, elements []float64) { c.uploadBlock(block, elements, m, m, m) })
	}
	c.more = flops + middleFlops(c.n, c.sizes.panelWidth(c.n))
}

// contractColumns contracts columns j0 … j1−1.
func (c *contraction) contractColumns(j0, j1 int64) {
	c.on.Inverse = c.at(0, j0)
	c.run(kernels.Contract(c.program.gradient.Function, c.points, c.on, j0, j1, c.diag.at, c.program.sums.at, c.program.work)...)
	c.poll()
}

// panels contracts an adjoint with a middle term, in panels of columns J = j0 … j1−1.
func (c *contraction) panels() {
	width := c.sizes.panelWidth(c.n)
	c.need(&c.memory, &c.panel, width*leadingDim(c.n))
	c.product = c.columns(c.panel)
	weighted := kernels.Matrix{A: c.middle.at, LD: leadingDim(c.n)}.At(0, 1)
	for j0 := int64(0); j0 < c.n; j0 += width {
		j1 := min(j0+width, c.n)
		c.weigh(j0, j1, weighted)
		for i0 := int64(0); i0 < j1; i0 += c.sizes.symm {
			c.multiplyInverse(i0, min(i0+c.sizes.symm, j1), j1-j0, weighted)
		}
		c.on.Middle = c.product
		c.contractColumns(j0, j1)
	}
}

// weigh writes C·Σ⁻¹[:, J].
func (c *contraction) weigh(j0, j1 int64, weighted kernels.Matrix) {
	if c.adj.Blocks == nil {
		c.run(kernels.SymmetricColumns(c.matrix, c.n, j0, j1, c.middle.at, weighted))
		return
	}
	c.run(kernels.SymmetricColumns(c.matrix, c.n, j0, j1, c.middle.at, c.product))
	c.eachBlock(func(first, m int64, block kernels.Matrix, _ []float64) {
		c.gemm(plain, plain, m, j1-j0, m, 1, block, c.product.At(first, 0), 0, weighted.At(first, 0))
	})
}

// multiplyInverse writes rows I = i0 … i1−1 of Σ⁻¹·b to the same rows of the product, for n
// rows of b. With the upper triangle of A = Σ⁻¹,
//
//	(A·b)_I = A_II·b_I + (A_:i0,I)ᵀ·b_:i0 + A_I,i1:·b_i1:.
func (c *contraction) multiplyInverse(i0, i1, cols int64, b kernels.Matrix) {
	rows, out := i1-i0, c.product.At(i0, 0)
	c.then(func() error { return c.gpu.Symm(rows, cols, c.at(i0, i0), b.At(i0, 0), out) })
	c.worked(2 * float64(rows) * float64(rows) * float64(cols))
	if i0 > 0 {
		c.gemm(transposed, plain, rows, cols, i0, 1, c.at(0, i0), b, 1, out)
	}
	if i1 < c.n {
		c.gemm(plain, plain, rows, cols, c.n-i1, 1, c.at(i0, i1), b.At(i1, 0), 1, out)
	}
}

// eachBlock calls f with the first row of each block, its order, its place on the device
// and its elements.
func (c *contraction) eachBlock(f func(first, m int64, block kernels.Matrix, elements []float64)) {
	at := c.folds.at
	_ = c.adj.Blocks.Each(func(first, rows int, elements []float64) error {
		m := int64(rows)
		block := kernels.Matrix{A: at, LD: leadingDim(m)}
		at = at.Offset(8 * m * block.LD)
		f(int64(first), m, block, elements)
		return nil
	})
}

// foldElements returns the memory of blocks on the device, in numbers.
func foldElements(b *device.Blocks) (count int64) {
	first := 0
	for _, end := range b.Ends {
		count += int64(end-first) * leadingDim(int64(end-first))
		first = end
	}
	return count
}

// middleFlops counts the operations of all panels: n³, plus O(width·n²) because a panel
// reaches below the diagonal.
func middleFlops(n, width int64) float64 {
	sum := 0.0
	for j0 := int64(0); j0 < n; j0 += width {
		j1 := min(j0+width, n)
		sum += 2 * float64(j1) * float64(j1-j0) * float64(n)
	}
	return sum
}

// InverseBlocks copies diagonal blocks of Σ⁻¹ to b, after forming Σ⁻¹ if necessary.
func (w *Workspace) InverseBlocks(ctx context.Context, b *device.Blocks) error {
	return w.do(ctx, stageFactored, func() {
		if w.check(b.Check(int(w.n))); w.err != nil {
			return
		}
		invert(w, 0)
		diagonal := make([]float64, w.n)
		w.download(diagonal, w.kappa.at)
		_ = b.Each(func(first, rows int, elements []float64) error {
			i, m := int64(first), int64(rows)
			w.downloadBlock(elements, m, w.at(i, i), m, m)
			// Column j of the upper triangle is row j of the lower one on the host; what
			// lies above that belongs to L.
			for j := range rows {
				elements[j*rows+j] = diagonal[first+j]
				for k := j + 1; k < rows; k++ {
					elements[j*rows+k] = elements[k*rows+j]
				}
			}
			w.poll()
			return nil
		})
	})
}

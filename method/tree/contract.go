package tree

import (
	"context"

	"gonum.org/v1/gonum/blas/blas64"

	"gpfit/device"
	"gpfit/kernel"
)

// descent goes from the root to the leaves with Z.
type descent struct {
	*evaluation
	device.Adjoint
	// left and right are the vectors of the adjoint in the order, and right times their factors.
	left, right blas64.General
	// grads has the gradient of each node, nil for the diagonal alone, and diagonal the diagonal of the inverse or the adjoint.
	grads    [][]float64
	diagonal []float64
	params   int
	done     chan float64
}

// Contract implements [hostmethod.Engine].
func (w *engine) Contract(ctx context.Context, adj device.Adjoint, _ *kernel.Program, _, grad, diag []float64) error {
	d := &descent{evaluation: w.evaluation, Adjoint: adj, params: len(grad), diagonal: make([]float64, w.N), grads: make([][]float64, len(w.nodes))}
	m := len(adj.Outer)
	d.left = w.ordered(adj.Vectors, m)
	d.right = clone(d.left)
	for i := range d.right.Rows {
		for q, f := range adj.Outer {
			d.right.Data[i*m+q] *= f
		}
	}
	if err := w.descend(ctx, d); err != nil {
		return err
	}
	for _, part := range d.grads {
		for p, v := range part {
			grad[p] += v
		}
	}
	for i, k := range w.at {
		diag[k] = d.diagonal[i]
	}
	return nil
}

// InverseDiagonal implements [device.InverseDiagonal].
func (w *engine) InverseDiagonal(ctx context.Context, dst []float64) error {
	d := &descent{evaluation: w.evaluation, Adjoint: device.Adjoint{Inv: 1}, diagonal: make([]float64, w.N)}
	d.left = newMatrix(w.N, 0)
	d.right = d.left
	if err := w.descend(ctx, d); err != nil {
		return err
	}
	for i, k := range w.at {
		dst[k] = d.diagonal[i]
	}
	return nil
}

// cost is about the work of a node with Z of some columns.
func (d *descent) cost(t *node, columns int) float64 {
	m := float64(t.size())
	if t.leaf() {
		return m * (2*m + float64(columns))
	}
	return m * float64(t.m.Rows+1) * (8*float64(columns+t.m.Rows) + 1)
}

// total is the cost of all nodes below.
func (d *descent) total(t *node, columns int) float64 {
	if t.leaf() {
		return d.cost(t, columns)
	}
	more := columns + t.m.Rows
	return d.cost(t, columns) + d.total(t.left, more) + d.total(t.right, more)
}

// descend visits all nodes.
func (w *engine) descend(ctx context.Context, d *descent) error {
	d.ctx = ctx
	w.Begin("gradient", d.total(d.root, 0))
	d.done = make(chan float64, 64)
	go func() {
		d.visit(d.root, newMatrix(w.N, 0), w.Threads)
		close(d.done)
	}()
	for flops := range d.done {
		w.Worked(flops)
	}
	return ctx.Err()
}

// visit adds what a node with Z contributes.
func (d *descent) visit(t *node, z blas64.General, threads int) {
	if d.ctx.Err() != nil {
		return
	}
	cost := d.cost(t, z.Cols)
	if d.grads != nil {
		d.grads[t.number] = make([]float64, d.params)
	}
	if t.leaf() {
		d.leafPart(t, z)
		d.done <- cost
		return
	}
	z1, z2 := rowsOf(z, 0, t.mid-t.first), rowsOf(z, t.mid-t.first, t.size())
	own1, own2 := z1, z2
	if t.m.Rows > 0 {
		g1, g2 := clone(t.q1), clone(t.q2)
		both(threads, func(threads int) { d.back(t.left, g1, threads) }, func(threads int) { d.back(t.right, g2, threads) })
		// For P = M·C⁻ᵀ it is (I − MMᵀ)⁻¹ = I + PPᵀ = LLᵀ. That I + PPᵀ is of this C matters: where the noise is far below the
		// kernel, another inverse of I − MMᵀ differs by much more than rounding, and what all blocks contribute does not cancel.
		p := d.productT(1, t.m, t.inverse)
		l := besideOne(d.productT(1, p, p), 1)
		cholesky(l)
		q := d.inner(1, t.m, l)             // qqᵀ = (CCᵀ)⁻¹ − I
		cross := d.product(1, p, t.inverse) // M(CCᵀ)⁻¹
		if d.grads != nil && len(t.rows) > 0 {
			d.blockPart(t, z1, z2, g1, d.productT(threads, g2, cross), threads)
		}
		own1, own2 = beside(z1, d.product(threads, g1, p)), beside(z2, d.product(threads, g2, q))
	}
	d.done <- cost
	both(threads, func(threads int) { d.visit(t.left, own1, threads) }, func(threads int) { d.visit(t.right, own2, threads) })
}

// blockPart adds the contraction of the block of a node and its transpose, for H = F₁F₂ᵀ with F₁ = [Z₁, G₁, V₁].
func (d *descent) blockPart(t *node, z1, z2, g1, g2 blas64.General, threads int) {
	a, b := d.newSide(t.first, t.mid), d.newSide(t.mid, t.end)
	rows, columns := d.pivotPoints(t)
	y, x := d.interpolate(threads, a, b, rows, columns)
	f1 := a.gather(beside(z1, g1, rowsOf(d.left, t.first, t.mid)))
	f2 := beside(z2, g2, rowsOf(d.right, t.mid, t.end))
	for i := range f2.Rows {
		values := row(f2, i)
		for k := range z2.Cols {
			values[k] *= d.Inv
		}
		for k := z2.Cols; k < z2.Cols+g2.Cols; k++ {
			values[k] *= -d.Inv
		}
	}
	f2 = b.gather(f2)
	yf, xf := d.inner(threads, f1, y), d.inner(threads, f2, x) // F₁ᵀY and F₂ᵀX
	sums := d.grads[t.number]
	d.contractRows(threads, sums, 2, a.Points, columns, d.product(threads, f1, xf))
	d.contractRows(threads, sums, 2, b.Points, rows, d.product(threads, f2, yf))
	d.contractRows(1, sums, -2, rows, columns, d.inner(1, yf, xf))
}

// contractRows adds factor·⟨weights, ∂K⟩ of points x and y to sums.
func (d *descent) contractRows(threads int, sums []float64, factor float64, x, y *kernel.Points, weights blas64.General) {
	parts := make([][]float64, (x.N+strip-1)/strip)
	strips(threads, x.N, func(first, end int) {
		part := make([]float64, d.params)
		d.borrow(func(e *kernel.Evaluator) {
			for i := first; i < end; i++ {
				e.RowGradient(part, row(weights, i), x, i, y, 0, y.N)
			}
		})
		parts[first/strip] = part
	})
	for _, part := range parts {
		for p, v := range part {
			sums[p] += factor * v
		}
	}
}

// leafPart writes the diagonal of a leaf and adds its contraction.
func (d *descent) leafPart(t *node, z blas64.General) {
	m := t.size()
	g := d.inner(1, t.inverse, t.inverse)
	if z.Cols > 0 {
		d.add(1, g, 1, z, z, true)
	}
	for i := range g.Data {
		g.Data[i] *= d.Inv
	}
	if len(d.Outer) > 0 {
		d.add(1, g, 1, rowsOf(d.left, t.first, t.end), rowsOf(d.right, t.first, t.end), true)
	}
	for i := range m {
		d.diagonal[t.first+i] = g.Data[i*m+i]
	}
	if d.grads == nil {
		return
	}
	d.borrow(func(e *kernel.Evaluator) {
		for i := range m {
			weights := row(g, i)[:i+1]
			for j := range i {
				weights[j] *= 2
			}
			e.RowGradient(d.grads[t.number], weights, d.points, t.first+i, d.points, t.first, t.first+i+1)
		}
	})
}

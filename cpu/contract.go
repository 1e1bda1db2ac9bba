package cpu

import (
	"context"
	"fmt"

	"gpfit/device"
	"gpfit/internal/vec"
	"gpfit/kernel"
)

// Contract computes Σ⁻¹ in the upper triangle, unless it is already there, and
// contracts it with ∂K. L stays below it, and the diagonal is L's again at the end.
func (w *Workspace) Contract(ctx context.Context, adj device.Adjoint, prog *kernel.Program, theta, grad, diag []float64) error {
	if w.stage < stageFactored {
		return device.ErrStage
	}
	if err := adj.CheckSizes(w.n, diag, grad, prog); err != nil {
		return fmt.Errorf("cpu: %w", err)
	}
	return w.contractAdjoint(ctx, adj, nil, prog, theta, grad, diag)
}

// contractAdjoint contracts an adjoint that has at most one middle term, diagonal or of
// blocks.
func (w *Workspace) contractAdjoint(ctx context.Context, adj device.Adjoint, blocks *device.Blocks, prog *kernel.Program, theta, grad, diag []float64) (err error) {
	defer w.emptyIfStopped(&err)
	evaluators, err := w.bind(prog, theta)
	if err != nil {
		return err
	}
	if w.tile == nil {
		w.tile = make([]float64, w.dev.threads*tileCols)
	}
	c := contraction{adj: adj, blocks: blocks, evaluators: evaluators, diag: diag, tasks: make([]float64, bands(w.n)*len(grad)), grad: grad}
	if adj.Middle == nil && blocks == nil {
		if err := w.invert(ctx, 0); err != nil {
			return err
		}
		return w.contract(ctx, &c)
	}
	if err := w.makeMiddle(); err != nil {
		return err
	}
	flops := middleFlops(w.n)
	if blocks != nil {
		flops += blocks.Flops(w.n)
	}
	if err := w.invert(ctx, flops); err != nil {
		return err
	}
	return w.contractMiddle(ctx, &c)
}

// InverseDiagonal copies the diagonal of Σ⁻¹ to dst. It computes Σ⁻¹ if necessary.
func (w *Workspace) InverseDiagonal(ctx context.Context, dst []float64) (err error) {
	defer w.emptyIfStopped(&err)
	if w.stage < stageFactored {
		return device.ErrStage
	}
	if len(dst) != w.n {
		return fmt.Errorf("cpu: diagonal of %d elements for n = %d", len(dst), w.n)
	}
	if err := w.invert(ctx, 0); err != nil {
		return err
	}
	copy(dst, w.inverseDiag)
	return nil
}

// contraction is one call of Contract.
type contraction struct {
	adj device.Adjoint
	// blocks is the middle term if it is block-diagonal.
	blocks     *device.Blocks
	evaluators []*kernel.Evaluator
	grad, diag []float64
	// tasks holds a gradient for each band of tileRows rows. They are added in
	// order at the end, so that the result does not depend on scheduling.
	tasks []float64
}

// bands returns the number of bands of tileRows rows in n rows.
func bands(n int) int { return (n + tileRows - 1) / tileRows }

// contract contracts an adjoint without a middle term.
func (w *Workspace) contract(ctx context.Context, c *contraction) error {
	if err := w.contractRows(ctx, c, 0, w.n, nil); err != nil {
		return err
	}
	c.collect()
	return nil
}

// contractRows forms rows i0 … i1−1 of G from the diagonal on, with off-diagonal
// elements doubled, and contracts them; i0 is a multiple of tileRows. Element (i,
// j) of the middle term, if any, is middle[(i−i0)·ld + j].
func (w *Workspace) contractRows(ctx context.Context, c *contraction, i0, i1 int, middle []float64) error {
	p := len(c.grad)
	return parallelFor(ctx, w.threadsFor(w.n), bands(i1-i0), func(worker, band int) {
		first := i0 + band*tileRows
		part := c.tasks[first/tileRows*p:][:p]
		g := w.tile[worker*tileCols:][:tileCols]
		for i := first; i < min(first+tileRows, i1); i++ {
			row := w.a[i*w.ld:]
			var extra []float64
			if middle != nil {
				extra = middle[(i-i0)*w.ld:]
			}
			for j := i; j < w.n; j += tileCols {
				m := min(tileCols, w.n-j)
				c.adjoint(g[:m], row, extra, i, j)
				if j == i {
					g[0] = c.diagonal(w.inverseDiag[i], extra, i)
					c.diag[i] = g[0]
				}
				c.evaluators[worker].RowGradient(part, g[:m], w.x, i, w.x, j, j+m)
			}
		}
	})
}

// adjoint writes 2·G_ij, … to g, for i < j; row and extra are the rows of Σ⁻¹
// and of the middle term.
func (c *contraction) adjoint(g, row, extra []float64, i, j int) {
	m, n, first := len(g), len(c.diag), 0
	switch {
	case extra != nil:
		vec.Combine(g, row[j:j+m], extra[j:j+m], 2*c.adj.Inv, 2)
	case len(c.adj.Outer) > 0:
		vec.Combine(g, row[j:j+m], c.adj.Vectors[j:j+m], 2*c.adj.Inv, 2*c.adj.Outer[0]*c.adj.Vectors[i])
		first = 1
	default:
		vec.Scale(g, row[j:j+m], 2*c.adj.Inv)
	}
	for k, f := range c.adj.Outer[first:] {
		v := c.adj.Vectors[(first+k)*n:]
		vec.Combine(g, g, v[j:j+m], 1, 2*f*v[i])
	}
}

// diagonal returns G_ii.
func (c *contraction) diagonal(inverse float64, extra []float64, i int) float64 {
	g := c.adj.Inv * inverse
	if extra != nil {
		g += extra[i]
	}
	for k, f := range c.adj.Outer {
		v := c.adj.Vectors[k*len(c.diag)+i]
		g += f * v * v
	}
	return g
}

// collect adds the gradients of all bands.
func (c *contraction) collect() {
	for t, v := range c.tasks {
		c.grad[t%len(c.grad)] += v
	}
}

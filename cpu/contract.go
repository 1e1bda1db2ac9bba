package cpu

import (
	"context"
	"fmt"

	"gpfit/device"
	"gpfit/internal/spd"
	"gpfit/internal/vec"
	"gpfit/kernel"
)

// invert computes Σ⁻¹, unless it is there. more is the number of operations that follow in
// the same call.
func (w *Workspace) invert(ctx context.Context, more float64) error {
	if w.stage == stageInverted {
		w.begin("gradient", more)
		return ctx.Err()
	}
	w.begin("gradient", 2*cube(w.n)/3+more)
	w.stage = stageFactored
	if err := w.matrix.Invert(ctx, w.worked); err != nil {
		return err
	}
	w.stage = stageInverted
	return nil
}

// Contract computes Σ⁻¹, unless it is already there, and contracts it with ∂K.
func (w *Workspace) Contract(ctx context.Context, adj device.Adjoint, prog *kernel.Program, theta, grad, diag []float64) error {
	if w.stage < stageFactored {
		return device.ErrStage
	}
	if err := adj.CheckSizes(w.n, diag, grad, prog); err != nil {
		return fmt.Errorf("cpu: %w", err)
	}
	return w.contractAdjoint(ctx, contraction{adj: adj, grad: grad, diag: diag}, prog, theta)
}

// ContractDiagonal implements [device.InverseDiagonal].
func (w *Workspace) ContractDiagonal(ctx context.Context, adj device.Adjoint, middle []float64, prog *kernel.Program, theta, grad, diag []float64) error {
	if w.stage < stageFactored {
		return device.ErrStage
	}
	if err := device.CheckDiagonal(adj, middle, w.n, diag, grad, prog); err != nil {
		return fmt.Errorf("cpu: %w", err)
	}
	return w.contractAdjoint(ctx, contraction{adj: adj, weights: middle, grad: grad, diag: diag}, prog, theta)
}

// contractAdjoint contracts an adjoint that has at most one middle term, diagonal or of
// blocks.
func (w *Workspace) contractAdjoint(ctx context.Context, c contraction, prog *kernel.Program, theta []float64) (err error) {
	defer w.emptyIfStopped(&err)
	if c.evaluators, err = w.bind(prog, theta); err != nil {
		return err
	}
	c.tasks = make([]float64, bands(w.n)*len(c.grad))
	blocks := c.blocks
	if c.weights == nil && blocks == nil {
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
	for i := range dst {
		dst[i] = w.matrix.InverseElement(i, i)
	}
	return nil
}

// contraction is one call of Contract.
type contraction struct {
	adj device.Adjoint
	// weights are the middle term if it is diagonal, blocks if it is block-diagonal.
	weights    []float64
	blocks     *device.Blocks
	evaluators []*kernel.Evaluator
	grad, diag []float64
	// middle holds parts of the rows of the middle term for each thread.
	middle []float64
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
// elements doubled, and contracts them; i0 is a multiple of tileRows. middle holds these
// rows of the middle term, if there is one.
func (w *Workspace) contractRows(ctx context.Context, c *contraction, i0, i1 int, middle *spd.RowBlock) error {
	p, lanes := len(c.grad), w.matrix.Lanes()
	return w.parallelFor(ctx, bands(i1-i0), func(worker, band int) {
		first := i0 + band*tileRows
		part := c.tasks[first/tileRows*p:][:p]
		for i := first; i < min(first+tileRows, i1); i += lanes {
			w.contractPanel(c, worker, i, min(i+lanes, i1), middle, part)
		}
	})
}

// contractPanel adds the contraction of rows i0 … i1−1, which share a panel, to part.
func (w *Workspace) contractPanel(c *contraction, worker, i0, i1 int, middle *spd.RowBlock, part []float64) {
	g, inverse := w.adjoint[worker*tileCols:][:tileCols], w.tile(worker)
	var extra []float64
	if middle != nil {
		extra = c.middle[worker*len(inverse):][:len(inverse)]
	}
	for j0 := i0; j0 < w.n; j0 += tileCols {
		j1 := min(j0+tileCols, w.n)
		w.matrix.InverseRows(i0, j0, j1, inverse, tileStride)
		if middle != nil {
			middle.Copy(i0, j0, j1, extra, tileStride)
		}
		for i := i0; i < i1; i++ {
			j := max(i, j0)
			m := j1 - j
			at := (i-i0)*tileStride + j - j0
			row, rest := inverse[at:at+m], extra
			if middle != nil {
				rest = extra[at : at+m]
			}
			c.adjoint(g[:m], row, rest, i, j)
			if j == i {
				g[0] = c.diagonal(row[0], rest, i)
				c.diag[i] = g[0]
			}
			c.evaluators[worker].RowGradient(part, g[:m], w.x, i, w.x, j, j1)
		}
	}
}

// adjoint writes 2·G_ij, … to g, for i < j; row and extra are the rows of Σ⁻¹
// and of the middle term, from column j on.
func (c *contraction) adjoint(g, row, extra []float64, i, j int) {
	m, n, first := len(g), len(c.diag), 0
	switch {
	case extra != nil:
		vec.Combine(g, row, extra, 2*c.adj.Inv, 2)
	case len(c.adj.Outer) > 0:
		vec.Combine(g, row, c.adj.Vectors[j:j+m], 2*c.adj.Inv, 2*c.adj.Outer[0]*c.adj.Vectors[i])
		first = 1
	default:
		vec.Scale(g, row, 2*c.adj.Inv)
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
		g += extra[0]
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

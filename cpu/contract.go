package cpu

import (
	"context"

	"gpfit/device"
	"gpfit/kernel"
)

// invert computes Σ⁻¹, unless it is there. more is the number of operations that follow in
// the same call.
func invert(ctx context.Context, w *workspace, more float64) error {
	if w.stage == stageInverted {
		w.Begin("gradient", more)
		return ctx.Err()
	}
	w.Begin("gradient", 2*cube(w.n)/3+more)
	w.stage = stageFactored
	if err := w.matrix.Invert(ctx, w.Worked); err != nil {
		return err
	}
	w.stage = stageInverted
	return nil
}

// Contract computes Σ⁻¹, unless it is already there, and contracts it with ∂K.
func (w *workspace) Contract(ctx context.Context, adj device.Adjoint, prog *kernel.Program, theta, grad, diag []float64) (err error) {
	defer emptyIfStopped(&w.stage, &err)
	if err := w.ready(stageFactored, adj.CheckSizes(w.n, diag, grad, prog)); err != nil {
		return err
	}
	c := contraction{w: w, adj: adj, grad: grad, diag: diag}
	if c.evaluators, err = w.bind(prog, theta); err != nil {
		return err
	}
	c.tasks = make([]float64, bands(w.n)*len(c.grad))
	flops, contract := 0.0, func(ctx context.Context) error { return c.rows(ctx, 0, w.n, nil) }
	if adj.HasMiddle() {
		if err := c.makeMiddle(); err != nil {
			return err
		}
		flops, contract = middleFlops(w.n), c.withMiddle
		if adj.Blocks != nil {
			flops += adj.Blocks.Flops(w.n)
		}
	}
	if err := invert(ctx, w, flops); err != nil {
		return err
	}
	if err := contract(ctx); err != nil {
		return err
	}
	c.collect()
	return nil
}

var _ device.BlockInverse = (*workspace)(nil)

// InverseDiagonal copies the diagonal of Σ⁻¹ to dst. It computes Σ⁻¹ if necessary.
func (w *workspace) InverseDiagonal(ctx context.Context, dst []float64) (err error) {
	defer emptyIfStopped(&w.stage, &err)
	if err := w.ready(stageFactored, device.CheckColumns(dst, w.n, 1)); err != nil {
		return err
	}
	if err := invert(ctx, w, 0); err != nil {
		return err
	}
	for i := range dst {
		dst[i] = w.matrix.InverseElement(i, i)
	}
	return nil
}

// InverseBlocks copies diagonal blocks of Σ⁻¹ to b. It computes Σ⁻¹ if necessary.
func (w *workspace) InverseBlocks(ctx context.Context, b *device.Blocks) (err error) {
	defer emptyIfStopped(&w.stage, &err)
	if err := w.ready(stageFactored, b.Check(w.n)); err != nil {
		return err
	}
	if err := invert(ctx, w, 0); err != nil {
		return err
	}
	return b.Each(func(first, m int, elements []float64) error {
		return w.parallelFor(ctx, bands(m), func(_, task int) {
			for i := task * tileRows; i < min((task+1)*tileRows, m); i++ {
				row := elements[i*m+i : (i+1)*m]
				w.matrix.InverseRow(first+i, first+i, row)
				for j, v := range row {
					elements[(i+j)*m+i] = v
				}
			}
		})
	})
}

package cpu

import (
	"context"
	"fmt"

	"gpfit/device"
	"gpfit/kernel"
)

var _ device.BlockInverse = (*Workspace)(nil)

// InverseBlocks copies diagonal blocks of Σ⁻¹ to b. It computes Σ⁻¹ if necessary.
func (w *Workspace) InverseBlocks(ctx context.Context, b *device.Blocks) (err error) {
	defer w.emptyIfStopped(&err)
	if w.stage < stageFactored {
		return device.ErrStage
	}
	if err := b.Check(w.n); err != nil {
		return fmt.Errorf("cpu: %w", err)
	}
	if err := w.invert(ctx, 0); err != nil {
		return err
	}
	return b.Each(func(first, m int, elements []float64) error {
		return w.parallelFor(ctx, bands(m), func(_, task int) {
			for i := task * tileRows; i < min((task+1)*tileRows, m); i++ {
				for j := i; j < m; j++ {
					v := w.matrix.InverseElement(first+i, first+j)
					elements[i*m+j], elements[j*m+i] = v, v
				}
			}
		})
	})
}

// ContractBlocks implements [device.BlockInverse].
func (w *Workspace) ContractBlocks(ctx context.Context, adj device.Adjoint, middle *device.Blocks, prog *kernel.Program, theta, grad, diag []float64) error {
	if w.stage < stageFactored {
		return device.ErrStage
	}
	if err := device.CheckBlocks(adj, middle, w.n, diag, grad, prog); err != nil {
		return fmt.Errorf("cpu: %w", err)
	}
	return w.contractAdjoint(ctx, contraction{adj: adj, blocks: middle, grad: grad, diag: diag}, prog, theta)
}

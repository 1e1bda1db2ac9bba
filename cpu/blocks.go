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
		return w.tiles(ctx, m, func(r0, r1 int) {
			for i := r0; i < r1; i++ {
				elements[i*m+i] = w.inverseDiag[first+i]
				row := w.a[(first+i)*w.ld+first:]
				for j := i + 1; j < m; j++ {
					elements[i*m+j], elements[j*m+i] = row[j], row[j]
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
	return w.contractAdjoint(ctx, adj, middle, prog, theta, grad, diag)
}

package cuda

import (
	"context"
	"slices"

	"gpfit/device"
	"gpfit/internal/cuda/kernels"
	"gpfit/kernel"
)

var _ device.BlockInverse = (*Workspace)(nil)

// InverseBlocks copies diagonal blocks of Σ⁻¹ to b, after forming Σ⁻¹ if necessary.
func (w *Workspace) InverseBlocks(ctx context.Context, b *device.Blocks) error {
	return w.do(stageFactored, func() error {
		if err := b.Check(int(w.n)); err != nil {
			return argumentf("%v", err)
		}
		if err := w.invert(ctx, 0); err != nil {
			return err
		}
		diagonal := make([]float64, w.n)
		if err := w.gpu.download(diagonal, w.kappa.at); err != nil {
			return err
		}
		return b.Each(func(first, rows int, elements []float64) error {
			i, m := int64(first), int64(rows)
			if err := w.gpu.downloadBlock(elements, m, w.at(i, i), m, m); err != nil {
				return err
			}
			// Column j of the upper triangle is row j of the lower one on the host; what
			// lies above that belongs to L.
			for j := range rows {
				elements[j*rows+j] = diagonal[first+j]
				for k := j + 1; k < rows; k++ {
					elements[j*rows+k] = elements[k*rows+j]
				}
			}
			return ctx.Err()
		})
	})
}

// ContractBlocks implements [device.BlockInverse].
func (w *Workspace) ContractBlocks(ctx context.Context, adj device.Adjoint, middle *device.Blocks, prog *kernel.Program, theta, grad, diag []float64) error {
	return w.do(stageFactored, func() error {
		if err := device.CheckBlocks(adj, middle, int(w.n), diag, grad, prog); err != nil {
			return argumentf("%v", err)
		}
		return w.contractAdjoint(ctx, adj, nil, middle, prog, theta, grad, diag)
	})
}

// prepareBlocks copies the blocks to the device, each with its leading dimension, and
// makes the panel of a middle term.
func (w *Workspace) prepareBlocks(middle *device.Blocks) error {
	if err := w.prepareMiddle(slices.Repeat([]float64{1}, int(w.n))); err != nil {
		return err
	}
	count := foldElements(middle)
	if need := 8 * count; need > w.folds.bytes {
		if err := w.require(need, middleTerm); err != nil {
			return err
		}
	}
	if err := w.memory.need(&w.folds, count); err != nil {
		return err
	}
	return w.eachBlock(middle, func(_, m int64, block kernels.Matrix, elements []float64) error {
		return w.gpu.uploadBlock(block, elements, m, m, m)
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

// eachBlock calls f with the first row of each block, its order, its place on the device
// and its elements.
func (w *Workspace) eachBlock(b *device.Blocks, f func(first, m int64, block kernels.Matrix, elements []float64) error) error {
	at := w.folds.at
	return b.Each(func(first, rows int, elements []float64) error {
		m := int64(rows)
		block := kernels.Matrix{A: at, LD: leadingDim(m)}
		at = at.Offset(8 * m * block.LD)
		return f(int64(first), m, block, elements)
	})
}

// contractBlocks contracts an adjoint with a block-diagonal middle term.
func (w *Workspace) contractBlocks(ctx context.Context, on kernels.Adjoint, middle *device.Blocks) error {
	panel := w.columns(w.panel)
	return w.contractPanels(ctx, on, func(j0, j1 int64, weighted kernels.Matrix) error {
		if err := w.gpu.run(kernels.SymmetricColumns(w.matrix, w.n, j0, j1, w.middle.at, panel)); err != nil {
			return err
		}
		return w.eachBlock(middle, func(first, m int64, block kernels.Matrix, _ []float64) error {
			return w.gemm(ctx, plain, plain, m, j1-j0, m, 1, block, panel.At(first, 0), 0, weighted.At(first, 0))
		})
	})
}

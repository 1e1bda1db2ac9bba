package cuda

import (
	"context"
	"slices"

	"gpfit/device"
	"gpfit/internal/cuda/kernels"
	"gpfit/kernel"
)

// Contract computes the upper triangle of Σ⁻¹, if the matrix does not hold it yet, and
// contracts it with ∂K.
func (w *Workspace) Contract(ctx context.Context, adj device.Adjoint, prog *kernel.Program, theta, grad, diag []float64) error {
	return w.do(stageFactored, func() error {
		if err := adj.CheckSizes(int(w.n), diag, grad, prog); err != nil {
			return argumentf("%v", err)
		}
		return w.contractAdjoint(ctx, adj, nil, nil, prog, theta, grad, diag)
	})
}

// ContractDiagonal implements [device.InverseDiagonal].
func (w *Workspace) ContractDiagonal(ctx context.Context, adj device.Adjoint, middle []float64, prog *kernel.Program, theta, grad, diag []float64) error {
	return w.do(stageFactored, func() error {
		if err := device.CheckDiagonal(adj, middle, int(w.n), diag, grad, prog); err != nil {
			return argumentf("%v", err)
		}
		return w.contractAdjoint(ctx, adj, middle, nil, prog, theta, grad, diag)
	})
}

// contractAdjoint contracts an adjoint that has at most one middle term, diagonal or of
// blocks.
func (w *Workspace) contractAdjoint(ctx context.Context, adj device.Adjoint, weights []float64, middle *device.Blocks, prog *kernel.Program, theta, grad, diag []float64) error {
	if err := w.bind(prog, theta); err != nil {
		return err
	}
	if err := w.bindGradient(theta); err != nil {
		return err
	}
	on, err := w.prepareContract(adj)
	if err != nil {
		return err
	}
	contract, more := w.contract, 0.0
	switch {
	case middle != nil:
		contract = func(ctx context.Context, on kernels.Adjoint) error { return w.contractBlocks(ctx, on, middle) }
		more = middleFlops(w.n, w.sizes.panelWidth(w.n)) + middle.Flops(int(w.n))
		if err := w.prepareBlocks(middle); err != nil {
			return err
		}
	case weights != nil:
		contract, more = w.contractMiddle, middleFlops(w.n, w.sizes.panelWidth(w.n))
		if err := w.prepareMiddle(weights); err != nil {
			return err
		}
	}
	if err := w.invert(ctx, more); err != nil {
		return err
	}
	if err := w.gpu.run(kernels.SetDiagonal(w.matrix, w.diagonalInverse(), false)); err != nil {
		return err
	}
	if err := contract(ctx, on); err != nil {
		return err
	}
	if err := w.gpu.run(w.restoreDiagonal()); err != nil {
		return err
	}
	return w.collect(grad, theta, diag)
}

// prepareContract copies the vectors of adj to the device and clears the sums.
func (w *Workspace) prepareContract(adj device.Adjoint) (on kernels.Adjoint, err error) {
	count := int64(len(adj.Outer))
	if err := w.memory.need(&w.vectors, (w.n+1)*count); err != nil {
		return on, err
	}
	outer := w.vectors.at.Offset(8 * w.n * count)
	on = kernels.Adjoint{Inv: adj.Inv, Vectors: w.vectors.at, Outer: outer, Count: count}
	if err := w.gpu.clear(w.program.sums.at, int64(w.program.gradient.Rows())); err != nil {
		return on, err
	}
	if err := w.gpu.upload(w.vectors.at, adj.Vectors); err != nil {
		return on, err
	}
	return on, w.gpu.upload(outer, adj.Outer)
}

// middleTerm names the use of the panel in errors.
const middleTerm = "an adjoint with a middle term"

// prepareMiddle copies C to the device. The first call allocates the panel of the
// middle term Σ⁻¹·C·Σ⁻¹ that [Workspace.invert] does not have.
func (w *Workspace) prepareMiddle(c []float64) error {
	if w.middle.bytes == 0 {
		count := w.sizes.middleElements(w.n)
		if err := w.require(8*count, middleTerm); err != nil {
			return err
		}
		if err := w.memory.need(&w.middle, count); err != nil {
			return err
		}
	}
	return w.gpu.upload(w.middle.at, c)
}

// contract contracts an adjoint without a middle term. The diagonal of the matrix holds
// the diagonal of Σ⁻¹.
func (w *Workspace) contract(ctx context.Context, on kernels.Adjoint) error {
	for j0 := int64(0); j0 < w.n; j0 += w.sizes.fill {
		on.Inverse = w.at(0, j0)
		if err := w.contractColumns(ctx, on, j0, min(j0+w.sizes.fill, w.n)); err != nil {
			return err
		}
	}
	return nil
}

func (w *Workspace) contractColumns(ctx context.Context, on kernels.Adjoint, j0, j1 int64) error {
	if err := w.run(kernels.Contract(w.program.gradient.Function, w.points, on, j0, j1, w.diag.at, w.program.sums.at, w.program.work)...); err != nil {
		return err
	}
	return ctx.Err()
}

// contractMiddle contracts an adjoint with a diagonal middle term.
func (w *Workspace) contractMiddle(ctx context.Context, on kernels.Adjoint) error {
	return w.contractPanels(ctx, on, func(j0, j1 int64, weighted kernels.Matrix) error {
		return w.gpu.run(kernels.SymmetricColumns(w.matrix, w.n, j0, j1, w.middle.at, weighted))
	})
}

// contractPanels contracts an adjoint with a middle term Σ⁻¹·C·Σ⁻¹, in panels of columns
// J = j0 … j1−1. weigh writes C·Σ⁻¹[:, J]; it may use the panel of [Workspace.invert]. The
// diagonal of the matrix holds the diagonal of Σ⁻¹.
func (w *Workspace) contractPanels(ctx context.Context, on kernels.Adjoint, weigh func(j0, j1 int64, weighted kernels.Matrix) error) error {
	width := w.sizes.panelWidth(w.n)
	weighted := kernels.Matrix{A: w.middle.at, LD: leadingDim(w.n)}.At(0, 1)
	panel := w.columns(w.panel)
	for j0 := int64(0); j0 < w.n; j0 += width {
		j1 := min(j0+width, w.n)
		if err := weigh(j0, j1, weighted); err != nil {
			return err
		}
		for i0 := int64(0); i0 < j1; i0 += w.sizes.symm {
			if err := w.multiplyInverse(ctx, i0, min(i0+w.sizes.symm, j1), j1-j0, weighted, panel); err != nil {
				return err
			}
		}
		on.Inverse, on.Middle = w.at(0, j0), panel
		if err := w.contractColumns(ctx, on, j0, j1); err != nil {
			return err
		}
	}
	return nil
}

// multiplyInverse writes rows I = i0 … i1−1 of Σ⁻¹·b to the same rows of out, for n
// rows of b. With the upper triangle of A = Σ⁻¹,
//
//	(A·b)_I = A_II·b_I + (A_:i0,I)ᵀ·b_:i0 + A_I,i1:·b_i1:.
func (w *Workspace) multiplyInverse(ctx context.Context, i0, i1, cols int64, b, out kernels.Matrix) error {
	rows, out := i1-i0, out.At(i0, 0)
	if err := w.gpu.Symm(rows, cols, w.at(i0, i0), b.At(i0, 0), out); err != nil {
		return err
	}
	if err := w.worked(ctx, 2*float64(rows)*float64(rows)*float64(cols)); err != nil {
		return err
	}
	if i0 > 0 {
		if err := w.gemm(ctx, transposed, plain, rows, cols, i0, 1, w.at(0, i0), b, 1, out); err != nil {
			return err
		}
	}
	if i1 == w.n {
		return nil
	}
	return w.gemm(ctx, plain, plain, rows, cols, w.n-i1, 1, w.at(i0, i1), b.At(i1, 0), 1, out)
}

// collect copies the results to the host. It adds to grad and overwrites diag.
func (w *Workspace) collect(grad, theta, diag []float64) error {
	f := &w.program.gradient
	sums := make([]float64, f.Rows())
	if err := w.gpu.download(sums, w.program.sums.at); err != nil {
		return err
	}
	f.Assemble(grad, theta, f.values, sums)
	return w.gpu.download(diag, w.diag.at)
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

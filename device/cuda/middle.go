package cuda

import (
	"context"

	"gpfit/device"
	"gpfit/device/cuda/driver"
	"gpfit/device/cuda/kernels"
)

// middleTerm is what the panels are for.
const middleTerm = "an adjoint with a middle term"

// middleElements is the memory of a middle term: two panels of columns and the
// diagonal matrix in it.
func (b *Backend) middleElements(n int64) int64 { return n * (2*b.panelWidth(n) + 1) }

// middleFlops is the work of all panels: n³, and O(width·n²) because a panel
// reaches below the diagonal.
func middleFlops(n, width int64) float64 {
	sum := 0.0
	for j0 := int64(0); j0 < n; j0 += width {
		j1 := min(j0+width, n)
		sum += 2 * float64(j1) * float64(j1-j0) * float64(n)
	}
	return sum
}

// prepareMiddle allocates the panels of the middle term Σ⁻¹·C·Σ⁻¹, the first time,
// and puts C on the device.
func (w *Workspace) prepareMiddle(c []float64) error {
	if w.middle == 0 {
		need := 8 * w.b.middleElements(w.n)
		free, _, err := w.b.dev.MemInfo()
		if err != nil {
			return err
		}
		if need > free {
			return &device.MemoryError{Plan: w.plan, Where: "device", Need: need, Free: free, What: middleTerm}
		}
		if w.middle, err = w.main.bytes(need); err != nil {
			return err
		}
	}
	return driver.CopyToDevice(w.b.stream, w.middle, c)
}

// contractMiddle contracts an adjoint with a middle term, in panels of columns J.
// The diagonal of the matrix is that of Σ⁻¹.
func (w *Workspace) contractMiddle(ctx context.Context, on kernels.Adjoint) error {
	width := w.b.panelWidth(w.n)
	weights := w.middle
	weighted := kernels.Matrix{A: weights, LD: w.n}.At(0, 1) // C·Σ⁻¹[:, J]
	panel := weighted.At(0, width)
	for j0 := int64(0); j0 < w.n; j0 += width {
		j1 := min(j0+width, w.n)
		if err := w.b.launch(kernels.SymmetricColumns(w.matrix, w.n, j0, j1, weights, weighted)); err != nil {
			return err
		}
		for i0 := int64(0); i0 < j1; i0 += w.b.sizes.invert {
			if err := w.multiplyInverse(ctx, i0, min(i0+w.b.sizes.invert, j1), j1-j0, weighted, panel); err != nil {
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

// multiplyInverse writes rows I = i0 … i1−1 of Σ⁻¹·b to those of out, for n rows of
// b. With the upper triangle of A = Σ⁻¹,
//
//	(A·b)_I = A_II·b_I + (A_:i0,I)ᵀ·b_:i0 + A_I,i1:·b_i1:.
func (w *Workspace) multiplyInverse(ctx context.Context, i0, i1, cols int64, b, out kernels.Matrix) error {
	rows, out := i1-i0, out.At(i0, 0)
	if err := w.b.math.Symm(rows, cols, w.at(i0, i0), b.At(i0, 0), out); err != nil {
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

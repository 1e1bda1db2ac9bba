package cpu

import (
	"context"
	"slices"

	"gonum.org/v1/gonum/blas"

	"gpfit/device"
	"gpfit/internal/hostmem"
)

// middleRows returns the number of rows of the middle term formed at a time. More
// rows make products faster; fewer waste less work below the diagonal.
func middleRows(n int) int {
	switch {
	case n <= 2048:
		return 128
	case n <= 16384:
		return 256
	}
	return 512
}

// middleTerm describes the purpose of the panels in errors.
const middleTerm = "an adjoint with a middle term"

// middleColumns bounds the columns of a product, for each of which rows of Σ⁻¹ are
// packed again.
const middleColumns = 2048

// middleElements returns the size of the two panels of makeMiddle.
func middleElements(n int) int64 { return 2 * int64(min(n, middleRows(n))) * int64(leadingDim(n)) }

// middleFlops returns the work of all panels: n³, plus O(rows·n²) because a panel
// reaches below the diagonal.
func middleFlops(n int) float64 {
	sum := 0.0
	for i0, rows := 0, middleRows(n); i0 < n; i0 += rows {
		sum += 2 * float64(min(rows, n-i0)) * float64(n) * float64(n-i0)
	}
	return sum
}

// makeMiddle allocates two panels of rows, for rows of Σ⁻¹ and of the middle term.
func (w *Workspace) makeMiddle() error {
	if w.middle != nil {
		return nil
	}
	need, free := 8*middleElements(w.n), hostmem.Free()
	if free > 0 && need > free {
		return &device.MemoryError{Plan: w.dev.Plan(w.n, w.x.D), Where: "host", Need: need, Free: free, What: middleTerm}
	}
	w.middle = make([]float64, need/8)
	return nil
}

// contractMiddle contracts an adjoint with a middle term Σ⁻¹·C·Σ⁻¹, panel by panel
// of rows. Meanwhile the buffer holds the diagonal of Σ⁻¹.
func (w *Workspace) contractMiddle(ctx context.Context, c *contraction) error {
	diagL := w.diagonal(nil)
	w.setDiagonal(w.inverseDiag)
	w.stage = stageEmpty
	half := len(w.middle) / 2
	packed, panel := w.middle[:half], w.middle[half:]
	for i0 := 0; i0 < w.n; i0 += middleRows(w.n) {
		i1 := min(i0+middleRows(w.n), w.n)
		if err := w.packMiddle(ctx, c, packed, panel, i0, i1); err != nil {
			return err
		}
		for j0 := i0; j0 < w.n; j0 += middleColumns {
			if err := w.multiplyInverse(ctx, packed, i1-i0, j0, min(j0+middleColumns, w.n), panel); err != nil {
				return err
			}
		}
		if err := w.contractRows(ctx, c, i0, i1, panel); err != nil {
			return err
		}
	}
	c.collect()
	w.setDiagonal(diagL)
	w.stage = stageInverted
	return nil
}

// packMiddle writes rows i0 … i1−1 of Σ⁻¹·C to p. It uses panel as working space.
func (w *Workspace) packMiddle(ctx context.Context, c *contraction, p, panel []float64, i0, i1 int) error {
	if c.blocks == nil {
		return w.packRows(ctx, p, c.adj.Middle, i0, i1)
	}
	if err := w.packRows(ctx, panel, w.ones(), i0, i1); err != nil {
		return err
	}
	return c.blocks.Each(func(first, m int, elements []float64) error {
		return w.gemm(ctx, blas.NoTrans, i1-i0, m, m, 1, panel[first:], w.ld, elements, m, 0, p[first:], w.ld)
	})
}

// ones returns n ones.
func (w *Workspace) ones() []float64 { return slices.Repeat([]float64{1}, w.n) }

// packRows writes rows i0 … i1−1 of Σ⁻¹·diag(c) to p.
func (w *Workspace) packRows(ctx context.Context, p, c []float64, i0, i1 int) error {
	return w.tiles(ctx, i1-i0, func(r0, r1 int) {
		for k0 := 0; k0 < i0+r1; k0 += transposeTile {
			for k := k0; k < min(k0+transposeTile, i0+r1); k++ {
				row := w.a[k*w.ld:]
				for r := max(r0, k-i0); r < r1; r++ {
					p[r*w.ld+k] = row[i0+r] * c[k]
				}
			}
		}
		for r := r0; r < r1; r++ {
			row, dst := w.a[(i0+r)*w.ld:], p[r*w.ld:]
			for k := i0 + r; k < w.n; k++ {
				dst[k] = row[k] * c[k]
			}
		}
	})
}

// multiplyInverse writes columns J = j0 … j1−1 of P·Σ⁻¹ to out, for the first
// rows of P. With the upper triangle of A = Σ⁻¹,
//
//	(P·A)_J = P_:j0·A_:j0,J + P_J·A_JJ + P_j1:·(A_J,j1:)ᵀ.
func (w *Workspace) multiplyInverse(ctx context.Context, p []float64, rows, j0, j1 int, out []float64) error {
	cols := j1 - j0
	step := max(64, int(gemmFlops/(2*float64(rows)*float64(cols))))
	dst := out[j0:]
	if err := w.multiplySymmetric(ctx, p[j0:], rows, j0, cols, dst); err != nil {
		return err
	}
	for k := 0; k < j0; k += step {
		if err := w.gemm(ctx, blas.NoTrans, rows, cols, min(step, j0-k), 1, p[k:], w.ld, w.at(k, j0), w.ld, 1, dst, w.ld); err != nil {
			return err
		}
	}
	for k := j1; k < w.n; k += step {
		if err := w.gemm(ctx, blas.Trans, rows, cols, min(step, w.n-k), 1, p[k:], w.ld, w.at(j0, k), w.ld, 1, dst, w.ld); err != nil {
			return err
		}
	}
	return nil
}

// multiplySymmetric writes P·A to out, for the n×n diagonal block of Σ⁻¹ at o.
func (w *Workspace) multiplySymmetric(ctx context.Context, p []float64, rows, o, n int, out []float64) error {
	for j := 0; j < n; j += w.dev.leaf {
		cols := min(w.dev.leaf, n-j)
		w.blas.Dsymm(blas.Right, blas.Upper, rows, cols, 1, w.at(o+j, o+j), w.ld, p[j:], w.ld, 0, out[j:], w.ld)
		if err := w.worked(ctx, 2*float64(rows)*float64(cols)*float64(cols)); err != nil {
			return err
		}
		if j > 0 {
			if err := w.gemm(ctx, blas.NoTrans, rows, cols, j, 1, p, w.ld, w.at(o, o+j), w.ld, 1, out[j:], w.ld); err != nil {
				return err
			}
		}
		if k := j + cols; k < n {
			if err := w.gemm(ctx, blas.Trans, rows, cols, n-k, 1, p[k:], w.ld, w.at(o+j, o+k), w.ld, 1, out[j:], w.ld); err != nil {
				return err
			}
		}
	}
	return nil
}

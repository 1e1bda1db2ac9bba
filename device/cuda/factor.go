package cuda

import (
	"context"
	"fmt"
	"slices"

	"gpfit/device"
	"gpfit/internal/cuda/kernels"
	"gpfit/internal/cuda/mathlib"
	"gpfit/kernel"
)

// Form forms and factors Σ.
func (w *Workspace) Form(ctx context.Context, prog *kernel.Program, theta, noise []float64) error {
	if err := w.Fill(ctx, prog, theta, noise); err != nil {
		return err
	}
	return w.Factor(ctx)
}

// Fill forms Σ in the lower triangle.
func (w *Workspace) Fill(ctx context.Context, prog *kernel.Program, theta, noise []float64) error {
	return w.do(stageEmpty, func() error {
		if len(noise) != 1 && int64(len(noise)) != w.n {
			return argumentf("%d noise variances for %d points", len(noise), w.n)
		}
		if err := w.bind(prog, theta); err != nil {
			return err
		}
		w.stage = stageEmpty
		w.filled = filled{prog, append(w.filled.theta[:0], theta...), append(w.filled.noise[:0], noise...)}
		if err := w.gpu.upload(w.noise.at, noise); err != nil {
			return err
		}
		for j0 := int64(0); j0 < w.n; j0 += w.sizes.fill {
			j1 := min(j0+w.sizes.fill, w.n)
			if err := w.run(kernels.Fill(w.program.value.Function, w.points, w.matrix, w.noiseOfFill(), j0, j1)); err != nil {
				return err
			}
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		w.stage = stageFilled
		return nil
	})
}

// noiseOfFill returns the noise of the last Fill: one variance or n.
func (w *Workspace) noiseOfFill() kernels.Vector {
	return kernels.Vector{A: w.noise.at, N: int64(len(w.filled.noise))}
}

// Factor overwrites Σ with L.
func (w *Workspace) Factor(ctx context.Context) error {
	return w.do(stageFilled, func() error {
		if w.stage != stageFilled {
			return device.ErrStage
		}
		w.stage = stageEmpty
		w.Begin("factor", choleskyFlops(w.n, w.sizes.factor, w.sizes.updateWidth(w.n)))
		if err := w.cholesky(ctx); err != nil {
			return err
		}
		w.stage = stageFactored
		return nil
	})
}

// cholesky is a right-looking blocked factorisation. For each block of columns it
// factors the diagonal block, solves the rows below and updates the columns to the
// right. The update runs in panels, each of which is a matrix product that reaches a
// little over the diagonal; panels are narrower than blocks to limit that excess.
func (w *Workspace) cholesky(ctx context.Context) error {
	block := w.sizes.factor
	for o := int64(0); o < w.n; o += block {
		width := min(block, w.n-o)
		minor, err := w.gpu.Potrf(width, w.at(o, o))
		if err != nil {
			return err
		}
		if int64(minor) > width {
			return fmt.Errorf("cuda: cuSOLVER reports minor %d of a block of order %d", minor, width)
		}
		if minor > 0 {
			return w.explainMinor(o + int64(minor))
		}
		if err := w.worked(ctx, cube(width)/3); err != nil {
			return err
		}
		below := w.n - o - width
		if below == 0 {
			break
		}
		if err := w.solveBelow(ctx, o, width); err != nil {
			return err
		}
		panel := min(block, w.sizes.updateWidth(w.n))
		for j := o + width; j < w.n; j += panel {
			cols := min(panel, w.n-j)
			if err := w.gemm(ctx, plain, transposed, w.n-j, cols, width, -1, w.at(j, o), w.at(j, o), 1, w.at(j, j)); err != nil {
				return err
			}
		}
	}
	return w.checkDiagonal()
}

// solveBelow computes the rows of L below the diagonal block at o, in bands of rows.
func (w *Workspace) solveBelow(ctx context.Context, o, width int64) error {
	perRow := float64(width) * float64(width)
	band := max(64, aligned(int64(w.sizes.gemm/perRow)))
	for i := o + width; i < w.n; i += band {
		rows := min(band, w.n-i)
		if err := w.gpu.Trsm(right, transposed, rows, width, w.at(o, o), w.at(i, o)); err != nil {
			return err
		}
		if err := w.worked(ctx, perRow*float64(rows)); err != nil {
			return err
		}
	}
	return nil
}

// checkDiagonal searches for a diagonal element of L that is not a positive number,
// because cuSOLVER may report success on a matrix with a NaN.
func (w *Workspace) checkDiagonal() error {
	look := kernels.FirstBad(w.matrix.A, w.n, w.matrix.LD+1, true, w.small.at)
	if err := w.gpu.run(look); err != nil {
		return err
	}
	first := make([]int64, look.Blocks)
	if err := w.gpu.downloadIndices(first, w.small.at); err != nil {
		return err
	}
	at := slices.Min(first)
	if at < 0 {
		return fmt.Errorf("cuda: kernel %s found the invalid element %d", look.Kernel, at)
	}
	if at < w.n {
		return w.explainMinor(at + 1)
	}
	return nil
}

// explainMinor returns the error for a leading minor of the given order.
func (w *Workspace) explainMinor(order int64) error {
	return device.ExplainMinor(int(order), w.x, w.filled.program, w.filled.theta, w.filled.noise)
}

// choleskyFlops counts the operations of cholesky: n³/3, plus O(panel·n²) because
// panels reach over the diagonal.
func choleskyFlops(n, block, panel int64) float64 {
	sum, panel := 0.0, min(block, panel)
	for o := int64(0); o < n; o += block {
		width := min(block, n-o)
		below := float64(n - o - width)
		sum += cube(width)/3 + below*float64(width)*float64(width)
		for j := o + width; j < n; j += panel {
			sum += 2 * float64(n-j) * float64(min(panel, n-j)) * float64(width)
		}
	}
	return sum
}

// gemm computes C = alpha·op(A)·op(B) + beta·C for an m×n matrix C, in bands of rows.
func (w *Workspace) gemm(ctx context.Context, opA, opB mathlib.Transpose, m, n, k int64, alpha float64, a, b kernels.Matrix, beta float64, c kernels.Matrix) error {
	if m == 0 || n == 0 {
		return nil
	}
	perRow := 2 * float64(n) * float64(max(k, 1))
	for i := int64(0); i < m; {
		rows := min(m-i, max(64, aligned(int64(w.sizes.gemm/perRow))))
		band := a.At(i, 0)
		if opA == transposed {
			band = a.At(0, i)
		}
		if err := w.gpu.Gemm(opA, opB, rows, n, k, alpha, band, b, beta, c.At(i, 0)); err != nil {
			return err
		}
		if err := w.worked(ctx, perRow*float64(rows)); err != nil {
			return err
		}
		i += rows
	}
	return nil
}

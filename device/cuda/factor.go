package cuda

import (
	"context"
	"fmt"
	"slices"

	"gpfit/device"
	"gpfit/device/cuda/driver"
	"gpfit/device/cuda/kernels"
	"gpfit/kernel"
)

// Form forms and factors Σ.
func (w *Workspace) Form(ctx context.Context, prog *kernel.Program, theta, noise []float64) error {
	if w.lockstep != nil {
		return factorTogether(ctx, w, func() { fill(w, prog, theta, noise) })
	}
	if err := w.Fill(ctx, prog, theta, noise); err != nil {
		return err
	}
	return w.Factor(ctx)
}

// Fill forms Σ in the lower triangle.
func (w *Workspace) Fill(ctx context.Context, prog *kernel.Program, theta, noise []float64) error {
	return w.do(ctx, stageEmpty, func() { fill(w, prog, theta, noise) })
}

// fill is [Workspace.Fill] on the thread.
func fill(w *Workspace, prog *kernel.Program, theta, noise []float64) {
	w.check(device.CheckNoise(noise, int(w.n)))
	if !w.bind(prog, theta) {
		return
	}
	w.stage, w.logs = stageEmpty, nil
	w.filled = filled{prog, append(w.filled.theta[:0], theta...), append(w.filled.noise[:0], noise...)}
	w.upload(w.noise.at, noise)
	for j0 := int64(0); j0 < w.n; j0 += w.sizes.fill {
		j1 := min(j0+w.sizes.fill, w.n)
		w.run(kernels.Fill(w.program.value.Function, w.points, w.matrix, w.noiseOfFill(), j0, j1))
		w.poll()
	}
	w.stage = stageFilled
}

// noiseOfFill returns the noise of the last Fill: one variance or n.
func (w *covariance) noiseOfFill() kernels.Vector {
	return kernels.Vector{A: w.noise.at, N: int64(len(w.filled.noise))}
}

// Factor overwrites Σ with L.
func (w *Workspace) Factor(ctx context.Context) error {
	if w.lockstep != nil {
		return factorTogether(ctx, w, func() {
			if w.stage != stageFilled {
				w.fail(device.ErrStage)
			}
		})
	}
	return w.do(ctx, stageFilled, func() {
		if w.stage != stageFilled {
			w.fail(device.ErrStage)
			return
		}
		w.stage = stageEmpty
		if w.n > w.sizes.vendor && w.sizes.spreads(w.n) && w.sizes.panelWidth(w.n)%kernels.MaxInvert == 0 {
			if factorAhead(w); w.err == nil {
				w.stage = stageFactored
			}
			return
		}
		w.Begin("factor", choleskyFlops(w.n, w.sizes.factor, w.sizes.updateWidth(w.n)))
		w.cholesky()
		w.stage = stageFactored
	})
}

// factorTogether overwrites Σ with L in lock step, after fill.
func factorTogether(ctx context.Context, w *Workspace, fill func()) error {
	flops, _ := kernels.Systems{N: w.n}.Flops()
	return together{Workspace: w, ctx: ctx, step: stepFactor, prepare: fill, after: func(results []float64) {
		w.stage = stageEmpty
		w.did("factor", flops)
		if minor := int64(results[0]); minor > 0 {
			w.fail(w.explainMinor(minor))
		}
		if w.err == nil {
			w.stage, w.logs = stageFactored, &results[1]
		}
	}}.call()
}

// cholesky is a right-looking blocked factorization. For each block of columns it
// factors the diagonal block, solves the rows below and updates the columns to the
// right. The update runs in panels, each of which is a matrix product that reaches a
// little over the diagonal; panels are narrower than blocks to limit that excess.
func (w *covariance) cholesky() {
	block := w.sizes.factor
	for o := int64(0); o < w.n && w.err == nil; o += block {
		width := min(block, w.n-o)
		w.then(func() error {
			minor, err := w.gpu.Potrf(width, w.at(o, o))
			switch {
			case err != nil || minor == 0:
				return err
			case int64(minor) > width:
				return fmt.Errorf("cuda: cuSOLVER reports minor %d of a block of order %d", minor, width)
			}
			return w.explainMinor(o + int64(minor))
		})
		w.worked(cube(width) / 3)
		if o+width == w.n {
			break
		}
		w.solveBelow(o, width)
		panel := min(block, w.sizes.updateWidth(w.n))
		for j := o + width; j < w.n; j += panel {
			w.gemm(plain, transposed, w.n-j, min(panel, w.n-j), width, -1, w.at(j, o), w.at(j, o), 1, w.at(j, j))
		}
	}
	w.checkDiagonal()
}

// solveBelow computes the rows of L below the diagonal block at o, in bands of rows.
func (w *covariance) solveBelow(o, width int64) {
	perRow := float64(width) * float64(width)
	band := max(64, aligned(int64(w.sizes.gemm/perRow)))
	for i := o + width; i < w.n; i += band {
		rows := min(band, w.n-i)
		w.trsm(right, transposed, rows, width, w.at(o, o), w.at(i, o))
		w.worked(perRow * float64(rows))
	}
}

// checkDiagonal searches for a diagonal element of L that is not a positive number,
// because cuSOLVER may report success on a matrix with a NaN.
func (w *covariance) checkDiagonal() {
	look := kernels.FirstBad(w.matrix.A, w.n, w.matrix.LD+1, true, w.small.at)
	w.run(look)
	first := make([]int64, look.Blocks)
	w.then(func() error { return driver.CopyToHost(w.gpu.stream, first, w.small.at) })
	w.then(func() error {
		switch at := slices.Min(first); {
		case at < 0:
			return fmt.Errorf("cuda: kernel %s found the invalid element %d", look.Kernel, at)
		case at < w.n:
			return w.explainMinor(at + 1)
		}
		return nil
	})
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

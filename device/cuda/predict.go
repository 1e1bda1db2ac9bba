package cuda

import (
	"context"
	"fmt"

	"gpfit/device"
	"gpfit/internal/cuda/kernels"
	"gpfit/kernel"
)

// Predict processes xs in blocks of columns. Each block holds k(x_i, x*) for all i,
// which L⁻¹ times it then overwrites.
func (w *Workspace) Predict(ctx context.Context, prog *kernel.Program, theta, alpha []float64, xs *kernel.Points, mean, reduction []float64) error {
	needs := stageEmpty
	if reduction != nil {
		needs = stageFactored
	}
	return w.do(needs, func() error {
		if err := device.CheckPrediction(w.x, xs, alpha, mean, reduction); err != nil {
			return argumentf("%v", err)
		}
		if xs.N == 0 {
			return nil
		}
		if err := w.bind(prog, theta); err != nil {
			return err
		}
		return w.gpu.local(func(local *memory) error {
			weights, count := w.alpha, int64(len(alpha))/w.n
			if count > 1 {
				weights = buffer{}
				if err := local.need(&weights, leadingDim(w.n)*count); err != nil {
					return err
				}
			}
			if err := w.gpu.uploadBlock(w.columns(weights), alpha, w.n, w.n, count); err != nil {
				return err
			}
			return w.predict(ctx, local, w.columns(weights), count, xs, mean, reduction)
		})
	})
}

func (w *Workspace) predict(ctx context.Context, local *memory, weights kernels.Matrix, count int64, xs *kernel.Points, mean, reduction []float64) error {
	m := int64(xs.N)
	step := min(m, w.sizes.crossWidth(w.n))
	if err := w.memory.need(&w.cross, leadingDim(w.n)*step); err != nil {
		return err
	}
	var points, out buffer
	if err := local.need(&points, step*int64(xs.D)); err != nil {
		return err
	}
	if err := local.need(&out, max(count, 1)*leadingDim(step)); err != nil {
		return err
	}
	block := w.columns(w.cross)
	w.Begin("predict", float64(w.n)*float64(w.n)*float64(m))
	for r0 := int64(0); r0 < m; r0 += step {
		r1 := min(r0+step, m)
		cols := r1 - r0
		if err := w.crossCovariances(points.at, xs, r0, r1, block); err != nil {
			return err
		}
		if count > 0 {
			means := kernels.Matrix{A: out.at, LD: leadingDim(cols)}
			if err := w.gpu.Gemm(transposed, plain, cols, count, w.n, 1, block, weights, 0, means); err != nil {
				return err
			}
			if err := w.gpu.downloadBlock(mean[r0:], m, means, cols, count); err != nil {
				return err
			}
		}
		if reduction != nil {
			if err := w.gpu.Trsm(left, plain, w.n, cols, w.matrix, block); err != nil {
				return err
			}
			if err := w.gpu.run(kernels.ColumnSumSquares(block, w.n, kernels.Vector{A: out.at, N: cols})); err != nil {
				return err
			}
			if err := w.gpu.download(reduction[r0:r1], out.at); err != nil {
				return err
			}
		}
		if err := w.worked(ctx, float64(w.n)*float64(w.n)*float64(cols)); err != nil {
			return err
		}
	}
	return nil
}

// crossCovariances writes k(x_i, x*_r) to element (i, r−r0) of out, for r0 ≤ r < r1.
// points has room for the coordinates of these points.
func (w *Workspace) crossCovariances(points kernels.Ptr, xs *kernel.Points, r0, r1 int64, out kernels.Matrix) error {
	cols := r1 - r0
	if err := w.gpu.uploadBlock(kernels.Matrix{A: points, LD: cols}, xs.X[r0:], int64(xs.N), cols, int64(xs.D)); err != nil {
		return err
	}
	test := kernels.Points{X: points, N: cols}
	return w.run(kernels.Cross(w.program.value.Function, w.points, test, 0, cols, out))
}

// PredictCovariance forms V = L⁻¹·K*, one column for each point, in blocks, and then
// VᵀV.
func (w *Workspace) PredictCovariance(ctx context.Context, prog *kernel.Program, theta []float64, xs *kernel.Points, reduction []float64) error {
	return w.do(stageFactored, func() error {
		m := int64(xs.N)
		if xs.D != w.x.D || int64(len(reduction)) != m*m {
			return argumentf("covariance of %d points of %d columns in %d elements, d = %d", m, xs.D, len(reduction), w.x.D)
		}
		if err := w.bind(prog, theta); err != nil || m == 0 {
			return err
		}
		if err := w.require(8*m*(leadingDim(w.n)+leadingDim(m)+int64(xs.D)), fmt.Sprintf("the covariance of %d predictions", m)); err != nil {
			return err
		}
		return w.gpu.local(func(local *memory) error { return w.predictCovariance(ctx, local, xs, reduction) })
	})
}

func (w *Workspace) predictCovariance(ctx context.Context, local *memory, xs *kernel.Points, reduction []float64) error {
	m := int64(xs.N)
	step := min(m, w.sizes.crossWidth(w.n))
	var all, points buffer
	if err := local.need(&all, m*(leadingDim(w.n)+leadingDim(m))); err != nil {
		return err
	}
	if err := local.need(&points, step*int64(xs.D)); err != nil {
		return err
	}
	v := w.columns(all)
	square := kernels.Matrix{A: v.At(0, m).A, LD: leadingDim(m)}
	perColumn := float64(w.n) * float64(w.n)
	w.Begin("predict", perColumn*float64(m)+squareFlops(w.n, m, step))
	for r0 := int64(0); r0 < m; r0 += step {
		cols := min(step, m-r0)
		if err := w.crossCovariances(points.at, xs, r0, r0+cols, v.At(0, r0)); err != nil {
			return err
		}
		if err := w.gpu.Trsm(left, plain, w.n, cols, w.matrix, v.At(0, r0)); err != nil {
			return err
		}
		if err := w.worked(ctx, perColumn*float64(cols)); err != nil {
			return err
		}
	}
	// Columns of the lower triangle become rows of the upper one on the host.
	for r0 := int64(0); r0 < m; r0 += step {
		if err := w.gemm(ctx, transposed, plain, m-r0, min(step, m-r0), w.n, 1, v.At(0, r0), v.At(0, r0), 0, square.At(r0, r0)); err != nil {
			return err
		}
		if err := w.gpu.downloadBlock(reduction[r0*m+r0:], m, square.At(r0, r0), m-r0, min(step, m-r0)); err != nil {
			return err
		}
	}
	for i := range m {
		for j := i + 1; j < m; j++ {
			reduction[j*m+i] = reduction[i*m+j]
		}
	}
	return nil
}

// squareFlops counts the operations of VᵀV for m columns, in panels of step columns.
func squareFlops(n, m, step int64) float64 {
	sum := 0.0
	for r0 := int64(0); r0 < m; r0 += step {
		sum += 2 * float64(n) * float64(m-r0) * float64(min(step, m-r0))
	}
	return sum
}

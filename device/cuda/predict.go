package cuda

import (
	"context"
	"errors"
	"fmt"

	"gpfit/device"
	"gpfit/device/cuda/driver"
	"gpfit/device/cuda/kernels"
	"gpfit/kernel"
)

// crossElements bounds the block of cross-covariances: 512 MiB, or 256 points
// if they need more.
const crossElements = 64 << 20

func crossWidth(n int64) int64 { return min(4096, max(256, crossElements/max(n, 1))) }

// Predict works through xs in blocks of columns: each holds k(x_i, x*) for all
// i, then L⁻¹ times that in its place.
func (w *Workspace) Predict(ctx context.Context, prog *kernel.Program, theta, alpha []float64, xs *kernel.Points, mean, reduction []float64) error {
	return w.do(func() error {
		if reduction != nil && w.stage < stageFactored {
			return device.ErrStage
		}
		if err := device.CheckPrediction(w.x, xs, alpha, mean, reduction); err != nil {
			return &argumentError{err.Error()}
		}
		if xs.N == 0 {
			return nil
		}
		if err := w.bind(prog, theta); err != nil {
			return err
		}
		local := &buffers{dev: w.b.dev}
		weights := kernels.Matrix{A: w.alpha, LD: w.n}
		if int64(len(alpha)) > w.n {
			p, err := local.alloc(int64(len(alpha)))
			if err != nil {
				return err
			}
			weights.A = p
		}
		err := driver.CopyToDevice(w.b.stream, weights.A, alpha)
		if err == nil {
			err = w.predict(ctx, local, weights, int64(len(alpha))/w.n, xs, mean, reduction)
		}
		return errors.Join(err, local.free())
	})
}

func (w *Workspace) predict(ctx context.Context, local *buffers, weights kernels.Matrix, count int64, xs *kernel.Points, mean, reduction []float64) error {
	m := int64(xs.N)
	if block := min(m, crossWidth(w.n)); w.crossCols < block {
		var err error
		if w.cross, err = w.main.alloc(w.n * block); err != nil {
			return err
		}
		w.crossCols = block
	}
	points, err := local.alloc(w.crossCols * int64(xs.D))
	if err != nil {
		return err
	}
	out, err := local.alloc(max(count, 1) * w.crossCols)
	if err != nil {
		return err
	}
	block := kernels.Matrix{A: w.cross, LD: w.n}
	w.begin("predict", float64(w.n)*float64(w.n)*float64(m))
	for r0 := int64(0); r0 < m; r0 += w.crossCols {
		r1 := min(r0+w.crossCols, m)
		cols := r1 - r0
		if err := w.crossCovariances(points, xs, r0, r1, block); err != nil {
			return err
		}
		if count > 0 {
			means := kernels.Matrix{A: out, LD: cols}
			if err := w.b.math.Gemm(transposed, plain, cols, count, w.n, 1, block, weights, 0, means); err != nil {
				return err
			}
			if err := driver.CopyBlockToHost(w.b.stream, mean[r0:], m, means, cols, count); err != nil {
				return err
			}
		}
		if reduction != nil {
			if err := w.b.math.Trsm(left, plain, w.n, cols, w.matrix, block); err != nil {
				return err
			}
			if err := w.b.launch(kernels.ColumnSumSquares(block, w.n, kernels.Vector{A: out, N: cols})); err != nil {
				return err
			}
			if err := driver.CopyToHost(w.b.stream, reduction[r0:r1], out); err != nil {
				return err
			}
		}
		if err := w.worked(ctx, float64(w.n)*float64(w.n)*float64(cols)); err != nil {
			return err
		}
	}
	return nil
}

// crossCovariances writes k(x_i, x*_r) to element (i, r−r0) of out, for r0 ≤ r < r1;
// points has room for their coordinates.
func (w *Workspace) crossCovariances(points driver.Ptr, xs *kernel.Points, r0, r1 int64, out kernels.Matrix) error {
	cols := r1 - r0
	if err := driver.CopyBlockToDevice(w.b.stream, kernels.Matrix{A: points, LD: cols}, xs.X[r0:], int64(xs.N), cols, int64(xs.D)); err != nil {
		return err
	}
	test := kernels.Points{X: points, N: cols}
	return w.b.launch(kernels.Cross(w.compiled, w.points, test, 0, cols, out))
}

// PredictCovariance forms V = L⁻¹·K*, a column for each point, in blocks, and then
// VᵀV.
func (w *Workspace) PredictCovariance(ctx context.Context, prog *kernel.Program, theta []float64, xs *kernel.Points, reduction []float64) error {
	return w.do(func() error {
		if w.stage < stageFactored {
			return device.ErrStage
		}
		m := int64(xs.N)
		if xs.D != w.x.D || int64(len(reduction)) != m*m {
			return argumentf("covariance of %d points of %d columns in %d elements, d = %d", m, xs.D, len(reduction), w.x.D)
		}
		if err := w.bind(prog, theta); err != nil || m == 0 {
			return err
		}
		need := 8 * m * (w.n + m + int64(xs.D))
		free, _, err := w.b.dev.MemInfo()
		if err != nil {
			return err
		}
		if need > free {
			return &device.MemoryError{Plan: w.plan, Where: "device", Need: need, Free: free, What: fmt.Sprintf("the covariance of %d predictions", m)}
		}
		local := &buffers{dev: w.b.dev}
		err = w.predictCovariance(ctx, local, xs, reduction)
		return errors.Join(err, local.free())
	})
}

func (w *Workspace) predictCovariance(ctx context.Context, local *buffers, xs *kernel.Points, reduction []float64) error {
	m := int64(xs.N)
	all, err := local.alloc(m * (w.n + m))
	if err != nil {
		return err
	}
	step := min(m, crossWidth(w.n))
	points, err := local.alloc(step * int64(xs.D))
	if err != nil {
		return err
	}
	v := kernels.Matrix{A: all, LD: w.n}
	square := kernels.Matrix{A: v.At(0, m).A, LD: m}
	perColumn := float64(w.n) * float64(w.n)
	w.begin("predict", perColumn*float64(m)+squareFlops(w.n, m, step))
	for r0 := int64(0); r0 < m; r0 += step {
		cols := min(step, m-r0)
		if err := w.crossCovariances(points, xs, r0, r0+cols, v.At(0, r0)); err != nil {
			return err
		}
		if err := w.b.math.Trsm(left, plain, w.n, cols, w.matrix, v.At(0, r0)); err != nil {
			return err
		}
		if err := w.worked(ctx, perColumn*float64(cols)); err != nil {
			return err
		}
	}
	// Columns of the lower triangle, which are rows of the upper one on the host.
	for r0 := int64(0); r0 < m; r0 += step {
		if err := w.gemm(ctx, transposed, plain, m-r0, min(step, m-r0), w.n, 1, v.At(0, r0), v.At(0, r0), 0, square.At(r0, r0)); err != nil {
			return err
		}
		if err := driver.CopyBlockToHost(w.b.stream, reduction[r0*m+r0:], m, square.At(r0, r0), m-r0, min(step, m-r0)); err != nil {
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

// squareFlops is the work of VᵀV for m columns, in panels of step columns.
func squareFlops(n, m, step int64) float64 {
	sum := 0.0
	for r0 := int64(0); r0 < m; r0 += step {
		sum += 2 * float64(n) * float64(m-r0) * float64(min(step, m-r0))
	}
	return sum
}

package cuda

import (
	"context"
	"errors"

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
		if xs.D != w.x.D || int64(len(alpha)) != w.n || len(mean) != xs.N || reduction != nil && len(reduction) != xs.N {
			return argumentf("prediction at %d points of %d columns with %d weights, n = %d, d = %d", xs.N, xs.D, len(alpha), w.n, w.x.D)
		}
		if xs.N == 0 {
			return nil
		}
		if err := w.bind(prog, theta); err != nil {
			return err
		}
		if err := driver.CopyToDevice(w.b.stream, w.alpha, alpha); err != nil {
			return err
		}
		local := &buffers{dev: w.b.dev}
		err := w.predict(ctx, local, xs, mean, reduction)
		return errors.Join(err, local.free())
	})
}

func (w *Workspace) predict(ctx context.Context, local *buffers, xs *kernel.Points, mean, reduction []float64) error {
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
	out, err := local.alloc(2 * w.crossCols)
	if err != nil {
		return err
	}
	block := kernels.Matrix{A: kernels.Ptr(w.cross), LD: w.n}
	w.begin("predict", float64(w.n)*float64(w.n)*float64(m))
	for r0 := int64(0); r0 < m; r0 += w.crossCols {
		r1 := min(r0+w.crossCols, m)
		cols := r1 - r0
		if err := driver.CopyBlockToDevice(w.b.stream, points, cols, xs.X[r0:], m, cols, int64(xs.D)); err != nil {
			return err
		}
		test := kernels.Points{X: kernels.Ptr(points), N: cols}
		if err := w.b.launch(kernels.Cross(w.compiled, w.points, test, 0, cols, block)); err != nil {
			return err
		}
		if err := w.b.math.gemm(transposed, plain, cols, 1, w.n, 1, block, kernels.Matrix{A: kernels.Ptr(w.alpha), LD: w.n}, 0, kernels.Matrix{A: kernels.Ptr(out), LD: cols}); err != nil {
			return err
		}
		if err := driver.CopyToHost(w.b.stream, mean[r0:r1], out); err != nil {
			return err
		}
		if reduction != nil {
			if err := w.b.math.trsm(left, plain, w.n, cols, w.matrix, block); err != nil {
				return err
			}
			squares := out.Offset(8 * w.crossCols)
			if err := w.b.launch(kernels.ColumnSumSquares(block, w.n, kernels.Vector{A: kernels.Ptr(squares), N: cols})); err != nil {
				return err
			}
			if err := driver.CopyToHost(w.b.stream, reduction[r0:r1], squares); err != nil {
				return err
			}
		}
		if err := w.worked(ctx, float64(w.n)*float64(w.n)*float64(cols)); err != nil {
			return err
		}
	}
	return nil
}

package cuda

import (
	"context"

	"gpfit/device"
	"gpfit/internal/cuda/kernels"
)

// LogDet returns 2 Σ log L_ii.
func (w *Workspace) LogDet() (sum, stdErr float64, err error) {
	err = w.do(stageFactored, func() error {
		out, host := w.small.at.Offset(8*kernels.MaxParts), []float64{0}
		if err := w.gpu.run(kernels.LogDet(w.matrix, w.n, w.small.at, out)...); err != nil {
			return err
		}
		err := w.gpu.download(host, out)
		sum = 2 * host[0]
		return err
	})
	return sum, 0, err
}

// Solve overwrites b with Σ⁻¹b.
func (w *Workspace) Solve(ctx context.Context, b []float64, m int) error {
	return w.do(stageFactored, func() error {
		if int64(len(b)) < w.n*int64(m) {
			return argumentf("right-hand side of %d elements for %d×%d", len(b), w.n, m)
		}
		if err := ctx.Err(); err != nil || m == 0 {
			return err
		}
		if m == 1 {
			return w.solveIn(w.alpha, b, 1)
		}
		return w.gpu.local(func(local *memory) error {
			var rhs buffer
			if err := local.need(&rhs, leadingDim(w.n)*int64(m)); err != nil {
				return err
			}
			return w.solveIn(rhs, b, int64(m))
		})
	})
}

// solveIn overwrites b, n×m, with Σ⁻¹b; space holds its copy on the device.
func (w *Workspace) solveIn(space buffer, b []float64, m int64) error {
	rhs := w.columns(space)
	if err := w.gpu.uploadBlock(rhs, b, w.n, w.n, m); err != nil {
		return err
	}
	if err := w.solve(rhs, m); err != nil {
		return err
	}
	return w.gpu.downloadBlock(b, w.n, rhs, w.n, m)
}

// columns returns the matrix of columns of n numbers in a buffer.
func (w *Workspace) columns(b buffer) kernels.Matrix {
	return kernels.Matrix{A: b.at, LD: leadingDim(w.n)}
}

// solve overwrites rhs, n×m, with Σ⁻¹·rhs.
func (w *Workspace) solve(rhs kernels.Matrix, m int64) error {
	if err := w.gpu.Trsm(left, plain, w.n, m, w.matrix, rhs); err != nil {
		return err
	}
	return w.gpu.Trsm(left, transposed, w.n, m, w.matrix, rhs)
}

// ReadFactor copies rows r0 … r1−1 of L to dst.
func (w *Workspace) ReadFactor(r0, r1 int, dst []float64) error {
	return w.rows(stageFactored, r0, r1, func(rows kernels.Matrix) error {
		if err := w.gpu.run(kernels.ReadRows(w.matrix, w.n, int64(r0), int64(r1), rows)); err != nil {
			return err
		}
		return w.gpu.download(dst[:int64(r1-r0)*w.n], rows.A)
	})
}

// WriteFactor sets rows r0 … r1−1 of L.
func (w *Workspace) WriteFactor(r0, r1 int, src []float64) error {
	return w.rows(stageEmpty, r0, r1, func(rows kernels.Matrix) error {
		w.stage = stageEmpty
		for i := r0; i < r1; i++ {
			row := src[int64(i-r0)*w.n:]
			for _, v := range row[:i+1] {
				if v-v != 0 || !(row[i] > 0) {
					return &device.NonFiniteError{What: "Cholesky factor", Row: i, Col: -1}
				}
			}
		}
		if err := w.gpu.upload(rows.A, src[:int64(r1-r0)*w.n]); err != nil {
			return err
		}
		if err := w.gpu.run(kernels.WriteRows(w.matrix, w.n, int64(r0), int64(r1), rows)); err != nil {
			return err
		}
		if int64(r1) == w.n {
			w.stage = stageFactored
		}
		return w.gpu.synchronize()
	})
}

// rows runs f with device memory for rows of the matrix, one column for each row.
func (w *Workspace) rows(needs stage, r0, r1 int, f func(rows kernels.Matrix) error) error {
	return w.do(needs, func() error {
		if r0 < 0 || r1 < r0 || int64(r1) > w.n {
			return argumentf("rows %d to %d of %d", r0, r1, w.n)
		}
		return w.gpu.local(func(local *memory) error {
			var rows buffer
			if err := local.need(&rows, int64(r1-r0)*w.n); err != nil {
				return err
			}
			return f(kernels.Matrix{A: rows.at, LD: w.n})
		})
	})
}

package cuda

import (
	"context"

	"gpfit/device"
	"gpfit/internal/cuda/kernels"
)

// LogDet returns 2 Σ log L_ii.
func (w *Workspace) LogDet() (sum, stdErr float64, err error) {
	host := []float64{0}
	err = w.do(context.Background(), stageFactored, func() {
		out := w.small.at.Offset(8 * kernels.MaxParts)
		w.run(kernels.LogDet(w.matrix, w.n, w.small.at, out)...)
		w.download(host, out)
	})
	return 2 * host[0], 0, err
}

// Solve overwrites b with Σ⁻¹b.
func (w *Workspace) Solve(ctx context.Context, b []float64, m int) error {
	return w.do(ctx, stageFactored, func() {
		if int64(len(b)) < w.n*int64(m) {
			w.fail(argumentf("right-hand side of %d elements for %d×%d", len(b), w.n, m))
		}
		if w.poll(); w.err != nil || m == 0 {
			return
		}
		w.local(func(local *memory) {
			space := w.alpha
			if m > 1 {
				space = buffer{}
				w.need(local, &space, leadingDim(w.n)*int64(m))
			}
			rhs := w.columns(space)
			w.uploadBlock(rhs, b, w.n, w.n, int64(m))
			solve(w, rhs, int64(m))
			w.downloadBlock(b, w.n, rhs, w.n, int64(m))
		})
	})
}

// solve overwrites rhs, n×m, with Σ⁻¹·rhs.
func solve(w *Workspace, rhs kernels.Matrix, m int64) {
	w.trsm(left, plain, w.n, m, w.matrix, rhs)
	w.trsm(left, transposed, w.n, m, w.matrix, rhs)
}

// ReadFactor copies rows r0 … r1−1 of L to dst.
func (w *Workspace) ReadFactor(r0, r1 int, dst []float64) error {
	return w.rows(stageFactored, r0, r1, func(rows kernels.Matrix) {
		w.run(kernels.ReadRows(w.matrix, w.n, int64(r0), int64(r1), rows))
		w.download(dst[:int64(r1-r0)*w.n], rows.A)
	})
}

// WriteFactor sets rows r0 … r1−1 of L.
func (w *Workspace) WriteFactor(r0, r1 int, src []float64) error {
	return w.rows(stageEmpty, r0, r1, func(rows kernels.Matrix) {
		w.stage = stageEmpty
		for i := r0; i < r1; i++ {
			row := src[int64(i-r0)*w.n:]
			for _, v := range row[:i+1] {
				if v-v != 0 || !(row[i] > 0) {
					w.fail(&device.NonFiniteError{What: "Cholesky factor", Row: i, Col: -1})
				}
			}
		}
		w.upload(rows.A, src[:int64(r1-r0)*w.n])
		w.run(kernels.WriteRows(w.matrix, w.n, int64(r0), int64(r1), rows))
		if int64(r1) == w.n {
			w.stage = stageFactored
		}
		w.then(w.gpu.stream.Synchronize)
	})
}

// rows runs f with device memory for rows of the matrix, one column for each row.
func (w *Workspace) rows(needs stage, r0, r1 int, f func(rows kernels.Matrix)) error {
	return w.do(context.Background(), needs, func() {
		if r0 < 0 || r1 < r0 || int64(r1) > w.n {
			w.fail(argumentf("rows %d to %d of %d", r0, r1, w.n))
			return
		}
		w.local(func(local *memory) {
			var rows buffer
			if w.need(local, &rows, int64(r1-r0)*w.n); w.err == nil {
				f(kernels.Matrix{A: rows.at, LD: w.n})
			}
		})
	})
}

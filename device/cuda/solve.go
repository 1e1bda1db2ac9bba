package cuda

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"gpfit/device"
	"gpfit/device/cuda/kernels"
	"gpfit/device/cuda/mathlib"
)

// LogDet returns 2 Σ log L_ii.
func (w *Workspace) LogDet() (sum, stdErr float64, err error) {
	if w.lockstep != nil {
		return logDetTogether(w)
	}
	host := []float64{0}
	err = w.do(context.Background(), stageFactored, func() {
		out := w.small.at.Offset(8 * kernels.MaxParts)
		w.run(kernels.LogDet(w.matrix, w.n, w.small.at, out)...)
		w.download(host, out)
	})
	return 2 * host[0], 0, err
}

// logDetTogether is LogDet of a workspace in lock step, whose factorization leaves the sum behind.
func logDetTogether(w *Workspace) (sum, stdErr float64, err error) {
	if w.logs == nil || w.stage < stageFactored {
		err = together{
			Workspace: w, ctx: context.Background(), needs: stageFactored, step: stepLogDet, after: func(results []float64) { w.logs = &results[1] },
		}.call()
	}
	if err != nil {
		return 0, 0, err
	}
	return 2 * *w.logs, 0, nil
}

// Solve overwrites b with Σ⁻¹b.
func (w *Workspace) Solve(ctx context.Context, b []float64, m int) error {
	if w.lockstep != nil && m == 1 && int64(len(b)) >= w.n {
		return together{
			Workspace: w, ctx: ctx, needs: stageFactored, step: stepSolve,
			prepare: func() { w.solution = nil; w.upload(w.alpha.at, b[:w.n]) },
			queued:  func() { w.receive(b[:w.n], w.alpha.at) },
			after:   func([]float64) { w.solution = slices.Clone(b[:w.n]) },
		}.call()
	}
	return w.solveEach(ctx, b, m, plain, transposed)
}

// Whiten overwrites b with L⁻¹b or L⁻ᵀb.
func (w *Workspace) Whiten(ctx context.Context, b []float64, m int, transpose bool) error {
	op := plain
	if transpose {
		op = transposed
	}
	return w.solveEach(ctx, b, m, op)
}

// solveEach overwrites b, n×m, by the solutions with L, or Lᵀ, for one op after the other.
func (w *Workspace) solveEach(ctx context.Context, b []float64, m int, ops ...mathlib.Transpose) error {
	return w.do(ctx, stageFactored, func() {
		w.check(device.CheckColumns(b, int(w.n), m))
		if w.poll(); w.err != nil || m == 0 {
			return
		}
		w.local(func(local *memory) {
			space := w.alpha
			w.solution = nil
			if m > 1 {
				space = buffer{}
				w.need(local, &space, leadingDim(w.n)*int64(m))
			}
			rhs := w.columns(space)
			w.uploadBlock(rhs, b, w.n, w.n, int64(m))
			w.solve(rhs, int64(m), ops...)
			w.downloadBlock(b, w.n, rhs, w.n, int64(m))
		})
	})
}

// solve does so for rhs, n×m, on the device.
func (w *covariance) solve(rhs kernels.Matrix, m int64, ops ...mathlib.Transpose) {
	for _, op := range ops {
		w.trsm(left, op, w.n, m, w.matrix, rhs)
	}
}

// ReadFactor copies rows r0 … r1−1 of L to dst.
func (w *Workspace) ReadFactor(r0, r1 int, dst []float64) error {
	return withRows(w, stageFactored, r0, r1, func(rows kernels.Matrix) {
		w.run(kernels.ReadRows(w.matrix, w.n, int64(r0), int64(r1), rows))
		w.download(dst[:int64(r1-r0)*w.n], rows.A)
	})
}

// WriteFactor sets rows r0 … r1−1 of L.
func (w *Workspace) WriteFactor(r0, r1 int, src []float64) error {
	return withRows(w, stageEmpty, r0, r1, func(rows kernels.Matrix) {
		w.stage, w.logs = stageEmpty, nil
		for i := r0; i < r1; i++ {
			w.fail(device.CheckFactorRow(src[int64(i-r0)*w.n:][:i+1], i))
		}
		w.upload(rows.A, src[:int64(r1-r0)*w.n])
		w.run(kernels.WriteRows(w.matrix, w.n, int64(r0), int64(r1), rows))
		if int64(r1) == w.n {
			w.stage = stageFactored
		}
		w.then(w.gpu.stream.Synchronize)
	})
}

// withRows runs f with device memory for rows of the matrix, one column for each row.
func withRows(w *Workspace, needs stage, r0, r1 int, f func(rows kernels.Matrix)) error {
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

// residualColumns is the number of vectors, which is the number of columns that the
// kernel that regenerates Σ processes at a time.
const residualColumns = 4

// Residual implements [device.ResidualChecker]. It solves Σv = e for four vectors e and multiplies
// v by Σ, which it generates again from the points. This detects the wrong factors of large
// matrices that libraries have returned without an error. Two vectors are the first and the last
// column of the identity. The other two have random signs, so that an error anywhere in the factor
// shows; if the points are far apart, a column of the identity misses it.
func (w *Workspace) Residual(ctx context.Context) (worst float64, err error) {
	m := min(residualColumns, w.n)
	e, got := probes(w.n, m), make([]float64, w.n*m)
	err = w.do(ctx, stageFactored, func() {
		if w.filled.program == nil {
			w.fail(device.ErrStage)
			return
		}
		if w.bind(w.filled.program, w.filled.theta) {
			w.local(func(local *memory) { w.multiplySolution(local, e, m, got) })
		}
	})
	if err != nil {
		return 0, err
	}
	for i, v := range got {
		r := math.Abs(v - e[i])
		if math.IsNaN(r) {
			return r, nil
		}
		worst = max(worst, r)
	}
	return worst, nil
}

// multiplySolution writes Σ·Σ⁻¹e to got, both n×m.
func (w *covariance) multiplySolution(local *memory, e []float64, m int64, got []float64) {
	var solution, product buffer
	w.need(local, &solution, leadingDim(w.n)*m)
	w.need(local, &product, leadingDim(w.n)*m)
	v, y := w.columns(solution), w.columns(product)
	w.uploadBlock(v, e, w.n, w.n, m)
	w.solve(v, m, plain, transposed)
	const rows = 8192
	for i0 := int64(0); i0 < w.n; i0 += rows {
		i1 := min(i0+rows, w.n)
		w.run(kernels.Multiply(w.program.value.Function, w.points, w.noiseOfFill(), i0, i1, v, m, y.At(i0, 0)))
		w.worked(0)
	}
	w.downloadBlock(got, w.n, y, w.n, m)
}

// probes returns m vectors of n numbers: the first and the last column of the identity,
// then random signs, the same in every call.
func probes(n, m int64) []float64 {
	e := make([]float64, n*m)
	e[0] = 1
	if m > 1 {
		e[n+n-1] = 1
	}
	signs := rand.New(rand.NewPCG(1, 1))
	for i := 2 * n; i < n*m; i++ {
		e[i] = float64(2*signs.IntN(2) - 1)
	}
	return e
}

package cpu

import (
	"context"
	"fmt"

	"gonum.org/v1/gonum/blas"

	"gpfit/device"
	"gpfit/internal/hostmem"
	"gpfit/kernel"
)

// crossRows returns the number of points in a block of cross-covariances of n points,
// which has at most 32 MiB.
func crossRows(n, m int) int { return min(m, max(1, min(1024, (4<<20)/n))) }

// Predict computes the means alone as [Device.PredictMeans] does. With variances, a
// [reducer] does the work.
func (w *Workspace) Predict(ctx context.Context, prog *kernel.Program, theta, alpha []float64, xs *kernel.Points, mean, reduction []float64) (err error) {
	defer w.emptyIfStopped(&err)
	if reduction == nil {
		return w.dev.PredictMeans(ctx, w.x, prog, theta, alpha, xs, mean)
	}
	if w.stage < stageFactored {
		return device.ErrStage
	}
	if err := device.CheckPrediction(w.x, xs, alpha, mean, reduction); err != nil {
		return fmt.Errorf("cpu: %w", err)
	}
	evaluators, err := w.bind(prog, theta)
	if err != nil {
		return err
	}
	r := newReducer(w, evaluators)
	r.xs, r.alpha, r.mean, r.reduction = xs, alpha, mean, reduction
	perPoint := float64(w.n) * float64(w.n)
	w.begin("predict", perPoint*float64(xs.N))
	for j0 := 0; j0 < xs.N; j0 += r.points {
		j1 := min(j0+r.points, xs.N)
		if err := r.reduce(ctx, j0, j1); err != nil {
			return err
		}
		if err := w.worked(ctx, perPoint*float64(j1-j0)); err != nil {
			return err
		}
	}
	return nil
}

// crossCovariances writes k(x*_j, x_i) to rows[(j−j0)·n + i], for j0 ≤ j < j1.
func (w *Workspace) crossCovariances(ctx context.Context, evaluators []*kernel.Evaluator, xs *kernel.Points, j0, j1 int, rows []float64) error {
	return parallelFor(ctx, w.threadsFor(w.n), j1-j0, func(worker, r int) {
		crossRow(evaluators[worker], rows[r*w.n:(r+1)*w.n], xs, j0+r, w.x)
	})
}

// PredictCovariance forms V = K*·L⁻ᵀ in blocks, with a row for each point, and then
// V·Vᵀ.
func (w *Workspace) PredictCovariance(ctx context.Context, prog *kernel.Program, theta []float64, xs *kernel.Points, reduction []float64) (err error) {
	defer w.emptyIfStopped(&err)
	if w.stage < stageFactored {
		return device.ErrStage
	}
	m := xs.N
	if xs.D != w.x.D || len(reduction) != m*m {
		return fmt.Errorf("cpu: covariance of %d points of %d columns in %d elements, d = %d", m, xs.D, len(reduction), w.x.D)
	}
	evaluators, err := w.bind(prog, theta)
	if err != nil || m == 0 {
		return err
	}
	need, free := 8*int64(m)*int64(w.n), hostmem.Free()
	if free > 0 && need > free {
		return &device.MemoryError{Plan: w.dev.Plan(w.n, w.x.D), Where: "host", Need: need, Free: free, What: fmt.Sprintf("the covariance of %d predictions", m)}
	}
	v := make([]float64, m*w.n)
	nf, mf := float64(w.n), float64(m)
	w.begin("predict", nf*nf*mf+nf*mf*mf)
	block := crossRows(w.n, m)
	for j0 := 0; j0 < m; j0 += block {
		j1 := min(j0+block, m)
		rows := v[j0*w.n : j1*w.n]
		if err := w.crossCovariances(ctx, evaluators, xs, j0, j1, rows); err != nil {
			return err
		}
		if err := w.solveRight(ctx, 0, w.n, rows, w.n, j1-j0); err != nil {
			return err
		}
	}
	return w.squareRows(ctx, v, m, reduction)
}

// squareRows writes V·Vᵀ to out, for the m×n matrix V, in blocks of rows.
func (w *Workspace) squareRows(ctx context.Context, v []float64, m int, out []float64) error {
	const block = 1024
	for j0 := 0; j0 < m; j0 += block {
		j1 := min(j0+block, m)
		w.blas.Dsyrk(blas.Lower, blas.NoTrans, j1-j0, w.n, 1, v[j0*w.n:], w.n, 0, out[j0*m+j0:], m)
		if err := w.worked(ctx, float64(w.n)*float64(j1-j0)*float64(j1-j0)); err != nil {
			return err
		}
		if j0 == 0 {
			continue
		}
		if err := w.gemm(ctx, blas.Trans, j1-j0, j0, w.n, 1, v[j0*w.n:], w.n, v, w.n, 0, out[j0*m:], m); err != nil {
			return err
		}
	}
	for i := range m {
		for j := range i {
			out[j*m+i] = out[i*m+j]
		}
	}
	return nil
}

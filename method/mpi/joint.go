package mpi

import (
	"context"
	"fmt"

	"gpfit/device"
	"gpfit/kernel"
	"gpfit/method/internal/hostmethod"
	"gpfit/method/mpi/host"
)

var (
	_ device.InverseDiagonal = (*workspace)(nil)
	_ device.JointCovariance = (*workspace)(nil)
)

// InverseDiagonal implements [device.InverseDiagonal]: the diagonal of the adjoint Σ⁻¹.
func (w *workspace) InverseDiagonal(ctx context.Context, dst []float64) error {
	if !w.formed {
		return device.ErrStage
	}
	if len(dst) != w.x.N {
		return fmt.Errorf("mpi: diagonal of %d elements for n = %d", len(dst), w.x.N)
	}
	return w.Contract(ctx, device.Adjoint{Inv: 1}, w.filled, w.theta, make([]float64, w.filled.NumParams), dst)
}

// PredictCovariance implements [device.JointCovariance]. Rank 0 has the rows of K*ᵀL⁻ᵀ and their products; all ranks solve.
func (w *workspace) PredictCovariance(ctx context.Context, prog *kernel.Program, theta []float64, xs *kernel.Points, reduction []float64) error {
	if !w.formed {
		return device.ErrStage
	}
	m, n := xs.N, w.x.N
	if xs.D != w.x.D || len(reduction) != m*m {
		return fmt.Errorf("mpi: covariance of %d points of %d columns in %d elements, d = %d", m, xs.D, len(reduction), w.x.D)
	}
	if err := w.check(prog, theta); err != nil {
		return err
	}
	if err := hostmethod.CheckRoom(m, 8*int64(m)*int64(n), n, w.x.D); err != nil {
		return err
	}
	e, rows := kernel.NewEvaluator(prog), make([]float64, m*n)
	e.Bind(theta)
	for i := range m {
		host.Pieces(0, n, func(j0, j1 int) { e.Row(rows[i*n+j0:i*n+j1], xs, i, w.x, j0, j1) })
	}
	w.Begin("predict", float64(n)*float64(m)*float64(n+m))
	if m > 0 {
		if err := w.Whiten(ctx, rows, m, false); err != nil {
			return err
		}
	}
	w.Worked(float64(n) * float64(n) * float64(m))
	hostmethod.Gram(m, n, rows, reduction)
	w.Worked(float64(n) * float64(m) * float64(m))
	if ctx.Err() != nil {
		w.formed = false
	}
	return ctx.Err()
}

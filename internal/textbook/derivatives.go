package textbook

import (
	"context"
	"fmt"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"

	"gpfit/device"
	"gpfit/kernel"
)

var _ device.DerivativeProducts = (*workspace)(nil)

// MultiplyDerivatives contracts each row of ∂K with each vector.
func (w *workspace) MultiplyDerivatives(ctx context.Context, prog *kernel.Program, theta, vectors []float64, m int, dst []float64) error {
	if w.x == nil {
		return device.ErrStage
	}
	if err := device.CheckProducts(prog, w.n, vectors, m, dst); err != nil {
		return fmt.Errorf("textbook: %w", err)
	}
	e, err := evaluator(w.x, prog, theta)
	if err != nil {
		return err
	}
	grad := make([]float64, prog.NumParams)
	for i := range w.n {
		if err := w.poll(ctx); err != nil {
			return err
		}
		for k := range m {
			clear(grad)
			e.RowGradient(grad, vectors[k*w.n:(k+1)*w.n], w.x, i, w.x, 0, w.n)
			for p, v := range grad {
				dst[(p*m+k)*w.n+i] = v
			}
		}
	}
	return nil
}

// Whiten overwrites b by L⁻¹b or L⁻ᵀb. The columns of b are rows of a matrix, as in Solve.
func (w *workspace) Whiten(ctx context.Context, b []float64, m int, transposed bool) error {
	op := blas.Trans
	if transposed {
		op = blas.NoTrans
	}
	return w.solveEach(ctx, b, m, op)
}

// solveEach overwrites the rows of X, the columns of b, by X·L⁻ᵀ or X·L⁻¹ for one op after the other.
func (w *workspace) solveEach(ctx context.Context, b []float64, m int, ops ...blas.Transpose) error {
	if err := w.begin(ctx, "", 0); err != nil {
		return err
	}
	if len(b) < m*w.n {
		return fmt.Errorf("textbook: right-hand side of %d elements for %d×%d", len(b), w.n, m)
	}
	for _, op := range ops {
		blas64.Trsm(blas.Right, op, 1, w.lower(0, w.n), w.general(b, 0, m, 0, w.n))
	}
	return nil
}

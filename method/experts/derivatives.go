package experts

import (
	"cmp"
	"context"

	"gpfit/device"
	"gpfit/internal/matrixrows"
	"gpfit/kernel"
)

var _ device.DerivativeProducts = (*workspace)(nil)

// products returns the capability of an expert's workspace.
func products(e *expert) (device.DerivativeProducts, error) {
	return device.Capability[device.DerivativeProducts](e.ws, "products of the derivatives of the covariance")
}

// MultiplyDerivatives implements [device.DerivativeProducts]: K is 0 between the experts.
func (w *workspace) MultiplyDerivatives(ctx context.Context, prog *kernel.Program, theta, vectors []float64, m int, dst []float64) error {
	if err := device.CheckProducts(prog, w.x.N, vectors, m, dst); err != nil {
		return err
	}
	return w.eachPart(ctx, dst, func(e *expert, own []float64) error {
		c, err := products(e)
		if err != nil {
			return err
		}
		return c.MultiplyDerivatives(ctx, prog, theta, matrixrows.Rows(vectors, e.rows, w.x.N, 1), m, own)
	})
}

// Whiten implements [device.DerivativeProducts].
func (w *workspace) Whiten(ctx context.Context, b []float64, m int, transposed bool) error {
	if err := cmp.Or(w.stage(), device.CheckColumns(b, w.x.N, m)); err != nil {
		return err
	}
	return w.eachPart(ctx, b, func(e *expert, own []float64) error {
		c, err := products(e)
		if err != nil {
			return err
		}
		return c.Whiten(ctx, own, m, transposed)
	})
}

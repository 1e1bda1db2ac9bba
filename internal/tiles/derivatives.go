package tiles

import (
	"context"

	"gpfit/device"
	"gpfit/kernel"
)

// withDerivatives is a workspace on a device that multiplies derivatives by vectors without a workspace.
type withDerivatives struct {
	*workspace
	on device.DerivativeMultiplier
}

var _ device.DerivativeProducts = withDerivatives{}

// MultiplyDerivatives implements [device.DerivativeProducts].
func (w withDerivatives) MultiplyDerivatives(ctx context.Context, prog *kernel.Program, theta, vectors []float64, m int, dst []float64) error {
	if w.banks == nil {
		return device.ErrStage
	}
	return w.on.MultiplyDerivatives(ctx, w.x, prog, theta, vectors, m, dst)
}

// Whiten implements [device.DerivativeProducts].
func (w withDerivatives) Whiten(ctx context.Context, b []float64, m int, transposed bool) error {
	return w.solve(ctx, b, m, !transposed, transposed)
}

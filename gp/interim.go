package gp

import (
	"context"

	"gpfit/kernel"
)

func (p *Posterior) inverseDiagonal(ctx context.Context, dst []float64) error {
	return p.ws.InverseDiagonal(ctx, dst)
}

func (p *Posterior) predictCovariance(ctx context.Context, prog *kernel.Program, theta []float64, xs *kernel.Points, reduction []float64) error {
	return p.ws.PredictCovariance(ctx, prog, theta, xs, reduction)
}

package gp

import (
	"context"

	"gpfit/device"
	"gpfit/kernel"
)

func (p *Posterior) inverseDiagonal(ctx context.Context, dst []float64) error {
	adj := device.Adjoint{Inv: 1, Alpha: make([]float64, p.ws.N())}
	return p.ws.Contract(ctx, adj, p.prog, p.model.Theta, make([]float64, p.prog.NumParams), dst)
}

func (p *Posterior) predictCovariance(ctx context.Context, prog *kernel.Program, theta []float64, xs *kernel.Points, reduction []float64) error {
	n, m := p.ws.N(), xs.N
	x := kernel.NewPoints(p.model.Scaling.Inputs(p.model.X), n, xs.D)
	e := kernel.NewEvaluator(prog)
	e.Bind(theta)
	cross := make([]float64, n*m)
	for j := range m {
		e.Row(cross[j*n:(j+1)*n], xs, j, x, 0, n)
	}
	solved := append([]float64(nil), cross...)
	if err := p.ws.Solve(ctx, solved, m); err != nil {
		return err
	}
	for i := range m {
		for j := range i + 1 {
			s := 0.0
			for k := range n {
				s += cross[i*n+k] * solved[j*n+k]
			}
			reduction[i*m+j], reduction[j*m+i] = s, s
		}
	}
	return nil
}

package mpi

import (
	"context"
	"fmt"
	"slices"

	"gpfit/device"
	"gpfit/internal/vec"
	"gpfit/kernel"
)

var _ device.DerivativeProducts = (*workspace)(nil)

// MultiplyDerivatives implements [device.DerivativeProducts].
func (w *workspace) MultiplyDerivatives(ctx context.Context, prog *kernel.Program, theta, vectors []float64, m int, dst []float64) error {
	if w.closed {
		return device.ErrStage
	}
	if err := device.CheckProducts(prog, w.x.N, vectors, m, dst); err != nil {
		return fmt.Errorf("mpi: %w", err)
	}
	if err := w.check(prog, theta); err != nil {
		return err
	}
	r, err := w.perform(ctx, &call{Op: opMultiply, M: m, numbers: [][]float64{theta, vectors}}, prog)
	if err != nil {
		return err
	}
	copy(dst, r.vectors[0])
	return nil
}

// Whiten implements [device.DerivativeProducts].
func (w *workspace) Whiten(ctx context.Context, b []float64, m int, transposed bool) error {
	if len(b) != w.x.N*m && w.formed {
		return fmt.Errorf("mpi: right-hand side of %d elements for %d×%d", len(b), w.x.N, m)
	}
	op := opWhiten
	if transposed {
		op = opWhitenTransposed
	}
	return w.solve(ctx, op, b, m)
}

// solve performs one of the operations that solve for right-hand sides.
func (w *workspace) solve(ctx context.Context, op operation, b []float64, m int) error {
	if !w.formed {
		return device.ErrStage
	}
	if len(b) < w.x.N*m {
		return fmt.Errorf("mpi: right-hand side of %d elements for %d×%d", len(b), w.x.N, m)
	}
	r, err := w.perform(ctx, &call{Op: op, M: m, numbers: [][]float64{slices.Clone(b[:w.x.N*m])}}, nil)
	if err != nil {
		return err
	}
	copy(b, r.vectors[0])
	return nil
}

// multiply computes the products of the derivatives with M vectors, for an equal part of the rows. The numbers of the call
// are the parameters and the vectors; the result's vector is the products.
func (s *share) multiply(c *call) result {
	theta, vectors := c.numbers[0], c.numbers[1]
	n, params := s.x.N, s.bind(c, theta).NumParams
	first, last := n*s.world.Rank/s.world.Size, n*(s.world.Rank+1)/s.world.Size
	products := make([]float64, params*c.M*n)
	rows := make([]float64, s.threads*params*rowLength)
	_ = s.team.For(context.Background(), s.threads, last-first, func(worker, task int) {
		i, own := first+task, rows[worker*params*rowLength:][:params*rowLength]
		pieces(0, n, func(j0, j1 int) {
			s.evaluators[worker].RowDerivatives(own, s.x, i, s.x, j0, j1)
			for k := range c.M {
				v := vectors[k*n+j0 : k*n+j1]
				for p := range params {
					products[(p*c.M+k)*n+i] += vec.Dot(v, own[p*(j1-j0):])
				}
			}
		})
	})
	s.world.Sum(products)
	return result{vectors: [][]float64{products}, stopped: s.agree(c, 0)}
}

package grid

import (
	"context"
	"fmt"

	"gonum.org/v1/gonum/blas/blas64"

	"gpfit/device"
	"gpfit/kernel"
)

// ContractDiagonal implements [device.DiagonalAdjoint]. The diagonal of the middle term would take n²
// operations; the numbers m_i·(Σ⁻²)_ii instead of it have the same sum, tr(Σ⁻¹·diag(m)·Σ⁻¹).
func (w *workspace) ContractDiagonal(ctx context.Context, adj device.Adjoint, middle []float64, prog *kernel.Program, theta, grad, diag []float64) error {
	if !w.formed {
		return device.ErrStage
	}
	if err := device.CheckDiagonal(adj, middle, w.n, diag, grad, prog); err != nil {
		return fmt.Errorf("grid: %w", err)
	}
	c, err := w.contract(ctx, adj, prog, theta, grad, diag, w.middleFlops())
	if err != nil {
		return err
	}
	for i, v := range w.d {
		w.work[0][i] = 1 / (v * v)
	}
	if err := w.along(ctx, w.lattice, squares(w.u)); err != nil {
		return err
	}
	second := make([]float64, w.n)
	w.scatter(second, w.work[0])
	for i, v := range middle {
		diag[i] += v * second[i]
	}
	for a := range w.axes {
		others := squares(w.ut)
		others[a] = blas64.General{}
		w.gather(w.work[0], middle)
		if err := w.along(ctx, w.lattice, others); err != nil {
			return err
		}
		if err := c.addMiddle(ctx, a, w.work[0]); err != nil {
			return err
		}
	}
	return c.finish(ctx, grad)
}

// middleFlops are the operations that a middle term adds.
func (l *lattice) middleFlops() float64 {
	sum := l.all() * float64(len(l.axes))
	for a := range l.axes {
		sum += l.flops(a) * float64(l.axes[a].size())
	}
	return sum
}

// addMiddle adds to H_a the part of Σ⁻¹·diag(m)·Σ⁻¹,
//
//	Σ_b cλ_b·E_b·diag(M_ib)·E_bᵀ,  E_b = diag(1/D_pb)·U_aᵀ,
//
// for the sums M of m over the squares of the other axes' eigenvectors.
func (c *axisAdjoints) addMiddle(ctx context.Context, a int, sums []float64) error {
	own, ut := &c.axes[a], c.ut[a]
	g := own.size()
	c.weigh(a)
	e, weighted, m := square(g), square(g), make([]float64, g)
	for b := range own.before {
		for r := range own.after {
			line := b*g*own.after + r
			for i := range g {
				m[i] = c.rest[line] * sums[line+i*own.after]
			}
			for p := range g {
				d := c.d[line+p*own.after]
				for i, v := range row(ut, p) {
					e.Data[p*g+i], weighted.Data[p*g+i] = v/d, m[i]*v/d
				}
			}
			addProducts(c.h[a], 1, e, weighted, c.threads)
			if err := c.step(ctx, cubeFlops(g)/2); err != nil {
				return err
			}
		}
	}
	return nil
}

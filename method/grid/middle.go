package grid

import (
	"context"

	"gonum.org/v1/gonum/blas/blas64"
)

// contractMiddle adds a middle term. Its diagonal would take n²
// operations; the numbers m_i·(Σ⁻²)_ii instead of it have the same sum, tr(Σ⁻¹·diag(m)·Σ⁻¹).
func (c *axisAdjoints) contractMiddle(ctx context.Context, middle, diag []float64) error {
	w := c.workspace
	for i, v := range w.d {
		w.work[0][i] = 1 / (v * v)
	}
	if err := w.along(ctx, w.lattice, squares(w.u)); err != nil {
		return err
	}
	second := make([]float64, w.N)
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
	return nil
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
			addProducts(c.h[a], 1, e, weighted, c.Threads)
			if err := c.Step(ctx, cubeFlops(g)/2); err != nil {
				return err
			}
		}
	}
	return nil
}

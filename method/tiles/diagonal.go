package tiles

import (
	"context"

	"gpfit/device/tiling"
)

// inverseDiagonal writes the diagonal of Σ⁻¹ to dst, the squared norms of the columns of L⁻¹: rows W_i = E_i·L⁻ᵀ for the rows
// E_i of the identity, which begin with block i. L stays.
func (m *machine) inverseDiagonal(ctx context.Context, dst []float64) error {
	identity := make([]float64, m.order*m.order)
	for i := range m.order {
		identity[i*m.order+i] = 1
	}
	var tasks []task
	for i := range m.side {
		tasks = append(tasks, task{i, i})
	}
	return m.runStrips(ctx, tasks, func(w *worker, t task) { w.inverseNorms(t.i, identity, m.span(t.i, dst)) })
}

// inverseNorms computes W_i, block by block, and the squared norms of its rows.
func (w *worker) inverseNorms(i int, identity, dst []float64) {
	sums := make([]float64, w.order)
	for j := i; j < w.side; j++ {
		if j == i {
			w.do(0, func() error { return w.Write(w.lane, w.spare, w.order, identity, w.order) })
		}
		for k := i; k < j; k++ {
			p := tiling.Product{Mode: tiling.Subtract}
			if k == i {
				p.Mode, p.UpperA = tiling.ReplaceNegative, true
			}
			w.whitenBy(p, j, k)
		}
		w.solveBy(j, w.order)
		w.do(0, func() error { return w.SquaredNorms(w.lane, w.spare, w.order, sums) })
		w.publish(w.strip(w.number, j), versionFactor)
	}
	copy(dst, sums)
}

// InverseDiagonal implements [device.InverseDiagonal]. It takes n³/3 operations, and Contract saves none of them.
func (w *workspace) InverseDiagonal(ctx context.Context, dst []float64) error {
	if err := w.restore(ctx); err != nil {
		return err
	}
	w.Begin("gradient", w.cubeOf(w.side)/3)
	return w.inverseDiagonal(ctx, dst)
}

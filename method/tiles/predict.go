package tiles

import (
	"context"

	"gpfit/device/tiling"
	"gpfit/kernel"
)

// prediction computes with the rows W of K*ᵀL⁻ᵀ for points xs, some to a task.
type prediction struct {
	*machine
	xs *kernel.Points
	// size is the number of points of a task.
	size int
	// alpha has weights in whole blocks, if means are wanted, and mean takes them, by columns of xs.N.
	alpha vectors
	mean  []float64
	// reduction takes the sums of squares of the rows, and rows the rows themselves; nil means not wanted.
	reduction, rows []float64
}

// run computes what is wanted.
func (p prediction) run(ctx context.Context) error {
	strips := min(p.strips, p.limit)
	p.size = min(p.order, roundOrder((p.xs.N+strips-1)/strips))
	var tasks []task
	for first := 0; first < p.xs.N; first += p.size {
		tasks = append(tasks, task{first / p.size, first})
	}
	return p.runStrips(ctx, tasks, func(w *worker, t task) { p.points(w, t.j) })
}

// points computes the results of the points from first on.
func (p prediction) points(w *worker, first int) {
	rows := min(p.size, p.xs.N-first)
	for j := range w.side {
		w.do(0, func() error { return w.Cross(w.lane, w.spare, p.xs, first, rows, j) })
		p.weigh(w, first, rows, j)
		if p.reduction != nil || p.rows != nil {
			p.whiten(w, first, rows, j)
		}
	}
}

// weigh subtracts the products of the covariances in the spare slot and the weights from the means, which are negative here.
func (p prediction) weigh(w *worker, first, rows, j int) {
	if p.mean == nil {
		return
	}
	y := make([]float64, w.order)
	for q := range p.alpha.count {
		clear(y)
		w.do(0, func() error {
			return w.Substitute(w.lane, tiling.SubtractProduct, w.spare, p.alpha.block(j)[q*p.alpha.ld:], y, w.order, 1)
		})
		for r, v := range y[:rows] {
			if w.recorded == nil {
				p.mean[q*p.xs.N+first+r] -= v
			}
		}
	}
}

// whiten computes block j of the rows of W from the covariances in the spare slot.
func (p prediction) whiten(w *worker, first, rows, j int) {
	for k := range j {
		w.whitenBy(tiling.Product{Mode: tiling.Subtract, Rows: rows}, j, k)
	}
	w.solveBy(j, rows)
	if p.reduction != nil {
		w.do(0, func() error { return w.SquaredNorms(w.lane, w.spare, rows, p.reduction[first:first+rows]) })
	}
	if p.rows != nil {
		w.do(0, func() error {
			block := make([]float64, rows*w.order)
			err := w.Read(w.lane, w.spare, rows, block, w.order)
			for r := range rows {
				copy(p.rows[(first+r)*w.n+j*w.order:][:w.layout.rows(j)], block[r*w.order:])
			}
			return err
		})
	}
	w.publish(w.strip(w.number, j), versionFactor)
}

// whitenBy computes a product of block k of the worker's strip and L_jk.
func (w *worker) whitenBy(p tiling.Product, j, k int) {
	p.C = w.spare
	p.A = w.operand(w.strip(w.number, k), versionFactor)
	p.B = w.operand(w.tile(j, k), versionFactor)
	w.multiply(p)
}

// solveBy multiplies rows in the spare slot by L_jj⁻ᵀ.
func (w *worker) solveBy(j, rows int) {
	l := w.operand(w.tile(j, j), versionFactor)
	w.do(w.square()*float64(rows), func() error { return w.Solve(w.lane, w.spare, l, rows) })
}

// runStrips executes tasks, the first numbers of which count them, on the workers that have a strip.
func (m *machine) runStrips(ctx context.Context, tasks []task, do func(w *worker, t task)) error {
	limit := m.limit
	m.limit = min(m.strips, limit)
	defer func() { m.limit = limit }()
	return m.run(ctx, pass{
		tasks: tasks,
		owner: func(t task) int { return t.i % len(m.banks) },
		do:    func(w *worker, _ int, t task) { do(w, t) },
	})
}

package tiles

import (
	"context"
	"slices"

	"gpfit/device/tiling"
)

// factor computes L from the bound kernel, column after column, and writes its diagonal. The blocks of rows before first
// hold L already.
func (m *machine) factor(ctx context.Context, first int, diagonal []float64) error {
	reset(m.versions[m.tile(first, 0):])
	return m.run(ctx, pass{
		tasks: slices.DeleteFunc(m.columns(), func(t task) bool { return t.i < first }),
		owner: func(t task) int { return m.bankOf(t.i) },
		do:    func(w *worker, _ int, t task) { w.factorTile(t.i, t.j, diagonal) },
	})
}

// columns returns the tiles column after column. The next tile on the diagonal comes before the last ones of a
// column, so that no worker has to wait for it, but after as many others as keep the workers busy.
func (m *machine) columns() (tasks []task) {
	if m.side > 0 {
		tasks = append(tasks, task{0, 0})
	}
	for j := range m.side {
		early := min(m.side, j+2+len(m.workers))
		for i := j + 1; i < early; i++ {
			tasks = append(tasks, task{i, j})
		}
		if j+1 < m.side {
			tasks = append(tasks, task{j + 1, j + 1})
		}
		for i := early; i < m.side; i++ {
			tasks = append(tasks, task{i, j})
		}
	}
	return tasks
}

// square and cube return powers of the order.
func (l layout) square() float64 { return float64(l.order) * float64(l.order) }

func (l layout) cube() float64 { return l.square() * float64(l.order) }

// factorTile computes L_ij.
func (w *worker) factorTile(i, j int, diagonal []float64) {
	w.do(0, func() error { return w.Fill(w.lane, w.spare, i, j) })
	half := tiling.Whole
	if i == j {
		half = tiling.Lower
	}
	for k := range j {
		a := w.operand(w.tile(i, k), versionFactor)
		b := a
		if i != j {
			b = w.operand(w.tile(j, k), versionFactor)
		}
		w.multiply(tiling.Product{C: w.spare, A: a, B: b, Mode: tiling.Subtract, Half: half})
	}
	if i == j {
		w.do(w.cube()/3, func() error { return w.factorDiagonal(j, diagonal) })
	} else {
		l := w.operand(w.tile(j, j), versionFactor)
		w.do(w.cube(), func() error { return w.Solve(w.lane, w.spare, l, 0) })
	}
	w.publish(w.tile(i, j), versionFactor)
}

// factorDiagonal computes the factor of the tile in the spare slot, and copies its diagonal.
func (w *worker) factorDiagonal(j int, diagonal []float64) error {
	d := make([]float64, w.order)
	minor, err := w.Factor(w.lane, w.spare, d)
	if err == nil && minor > 0 {
		w.minor, err = j*w.order+minor, errMinor
	}
	copy(w.span(j, diagonal), d)
	return err
}

package tiles

import (
	"context"

	"gpfit/device/tiling"
)

// invert replaces L by U, row after row.
func (m *machine) invert(ctx context.Context) error {
	reset(m.steps)
	return m.run(ctx, pass{
		tasks: m.rowsOfTiles(),
		owner: func(t task) int { return m.bankOf(t.i) },
		do:    func(w *worker, _ int, t task) { w.invertTile(t.i, t.j) },
	})
}

// rowsOfTiles returns the tiles row after row.
func (l layout) rowsOfTiles() (tasks []task) {
	for i := range l.side {
		for j := range i + 1 {
			tasks = append(tasks, task{i, j})
		}
	}
	return tasks
}

// invertTile computes U_ji in the place of L_ij, once the tasks before in row i have used that.
func (w *worker) invertTile(i, j int) {
	for k := j; k < i; k++ {
		p := tiling.Product{C: w.spare, Mode: tiling.Subtract}
		if k == j {
			p.Mode, p.UpperA = tiling.ReplaceNegative, true
		}
		p.A = w.operand(w.tile(k, j), versionInverse)
		p.B = w.operand(w.tile(i, k), versionFactor)
		w.multiply(p)
		w.used(i, j, k)
	}
	l := w.operand(w.tile(i, i), versionFactor)
	if i == j {
		w.do(w.cube()/3, func() error { return w.Invert(w.lane, w.spare, l) })
	} else {
		w.do(w.cube(), func() error { return w.Solve(w.lane, w.spare, l, 0) })
	}
	w.used(i, j, i)
	w.awaitUses(i, j)
	w.publish(w.tile(i, j), versionInverse)
}

// used says that the task for U_ji has used L_ik.
func (w *worker) used(i, j, k int) {
	if w.recorded == nil && w.err == nil {
		w.steps[w.tile(i, j)].Store(int32(k + 1))
	}
}

// awaitUses waits until the tasks before in row i have used L_ij.
func (w *worker) awaitUses(i, j int) {
	for k := range j {
		if w.recorded == nil && w.err == nil && !w.await(&w.steps[w.tile(i, k)], int32(j+1)) {
			w.fail(errStopped)
		}
	}
}

// contract contracts the tiles of Σ⁻¹ with ∂K and adds the results of the bound adjoint to grad and diag.
func (m *machine) contract(ctx context.Context, grad, diag []float64) error {
	tasks := m.rowsOfTiles()
	parts := make([]float64, len(tasks)*len(grad))
	err := m.run(ctx, pass{
		tasks: tasks,
		owner: func(t task) int { return m.bankOf(t.j) },
		do: func(w *worker, number int, t task) {
			w.contractTile(t.i, t.j, parts[number*len(grad):][:len(grad)], diag)
		},
	})
	if err == nil {
		sum(grad, parts)
	}
	return err
}

// contractTile computes the block of rows j and columns i of Σ⁻¹ and contracts it.
func (w *worker) contractTile(i, j int, grad, diag []float64) {
	for k := i; k < w.side; k++ {
		p := tiling.Product{C: w.spare, Mode: tiling.Add}
		if k == i {
			p.Mode, p.UpperB = tiling.Replace, true
		}
		p.B = w.operand(w.tile(k, i), versionInverse)
		p.A = p.B
		if i == j {
			p.Half, p.UpperA = tiling.Upper, p.UpperB
		} else {
			p.A = w.operand(w.tile(k, j), versionInverse)
		}
		w.multiply(p)
	}
	var own []float64
	if i == j {
		own = w.span(i, diag)
	}
	w.do(0, func() error { return w.Contract(w.lane, w.spare, j, i, grad, own) })
}

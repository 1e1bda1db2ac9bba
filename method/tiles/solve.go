package tiles

import (
	"context"

	"gpfit/device/tiling"
)

// substitute overwrites vectors, of n numbers each, by the solutions with L, or Lᵀ, for one substitution after the other.
func (m *machine) substitute(ctx context.Context, b []float64, count int, ops ...tiling.Substitution) error {
	v := newVectors(m.layout, b, count)
	for _, op := range ops {
		reset(m.steps)
		if err := m.substitution(ctx, v, op); err != nil {
			return err
		}
	}
	v.copyTo(b)
	return nil
}

// substitution executes one of the two substitutions. A task solves for a block of unknowns.
func (m *machine) substitution(ctx context.Context, v vectors, op tiling.Substitution) error {
	var tasks []task
	for i := range m.side {
		if op == tiling.Backward {
			i = m.side - 1 - i
		}
		tasks = append(tasks, task{i, i})
	}
	return m.run(ctx, pass{
		tasks: tasks,
		owner: func(t task) int { return m.bankOf(t.i) },
		do: func(w *worker, _ int, t task) {
			if op == tiling.Forward {
				w.forward(v, t.i)
			} else {
				w.backward(v, t.i)
			}
		},
	})
}

// vectors are vectors in whole blocks: element r of block i of vector q is number r of v.block(i) + q·ld.
type vectors struct {
	layout
	numbers   []float64
	ld, count int
}

func newVectors(l layout, b []float64, count int) vectors {
	v := vectors{layout: l, ld: l.side * l.order, count: count}
	v.numbers = make([]float64, v.ld*count)
	for q := range count {
		copy(v.numbers[q*v.ld:], b[q*l.n:(q+1)*l.n])
	}
	return v
}

func (v vectors) copyTo(b []float64) {
	for q := range v.count {
		copy(b[q*v.n:(q+1)*v.n], v.numbers[q*v.ld:])
	}
}

func (v vectors) block(i int) []float64 { return v.numbers[i*v.order:] }

// apply makes a substitution with a tile.
func (w *worker) apply(op tiling.Substitution, a int, x, y []float64, v vectors) {
	flops := 2 * float64(w.order) * float64(w.order) * float64(v.count)
	w.do(flops, func() error { return w.Substitute(w.lane, op, a, x, y, v.ld, v.count) })
	w.prefetch()
}

// ready waits until a block of unknowns is solved.
func (w *worker) ready(i int) {
	if w.recorded == nil && w.err == nil && !w.await(&w.steps[w.tile(i, i)], 1) {
		w.fail(errStopped)
	}
}

func (w *worker) solved(i int) {
	if w.recorded == nil && w.err == nil {
		w.steps[w.tile(i, i)].Store(1)
	}
}

// forward solves block i of L·y = b.
func (w *worker) forward(v vectors, i int) {
	for j := range i {
		a := w.operand(w.tile(i, j), versionFactor)
		w.ready(j)
		w.apply(tiling.SubtractProduct, a, v.block(j), v.block(i), v)
	}
	a := w.operand(w.tile(i, i), versionFactor)
	w.apply(tiling.Forward, a, nil, v.block(i), v)
	w.solved(i)
}

// backward solves block j of Lᵀ·x = y.
func (w *worker) backward(v vectors, j int) {
	for i := w.side - 1; i > j; i-- {
		a := w.operand(w.tile(i, j), versionFactor)
		w.ready(i)
		w.apply(tiling.SubtractTransposed, a, v.block(i), v.block(j), v)
	}
	a := w.operand(w.tile(j, j), versionFactor)
	w.apply(tiling.Backward, a, nil, v.block(j), v)
	w.solved(j)
}

package spd

import "context"

// square replaces U in the upper triangle by U·Uᵀ.
func (m *Matrix) square(ctx context.Context, report Report) error {
	s := squaring{Matrix: m, block: blockRows(m.order)}
	s.blocks = m.blocksOf(s.block)
	r := &m.run
	r.begin(ctx, 2*s.blocks, report)
	for i := range s.blocks {
		r.column(i + 1)
	}
	return m.finish(r, m.order, s.task)
}

// A squaring computes the blocks of U·Uᵀ column after column. Block (j, i) replaces the same
// block of U, which it and the blocks before it in row j need, and those of column j. The
// counter of a block of rows is the number of its finished blocks; the counter of a column,
// after them, that of its finished blocks above the diagonal.
type squaring struct {
	*Matrix
	block, blocks int
}

// task computes one block. The one on the diagonal is the last of its column, because it
// replaces rows that the others need.
func (s *squaring) task(_, task int) int64 {
	i, j := s.run.place(task)
	i0, i1 := i*s.block, min((i+1)*s.block, s.order)
	j0, j1 := j*s.block, min((j+1)*s.block, s.order)
	d1 := min(i0-i0%chunk+chunk, s.order)
	if j < i && !s.run.await(j, i-j) || j == i && !s.run.await(s.blocks+i, i) {
		return 0
	}
	s.own(j0, j1, i0, i1, d1, s.ahead(d1, j0, j1, i0, i1))
	for k := d1; k < s.order; k += chunk {
		next := s.ahead(k+chunk, j0, j1, i0, i1)
		if k+chunk >= s.order { // probably the task of the next rows
			next = s.ahead(i0, j1, j1+s.block, i0, i1)
		}
		for c := i0; c < i1; c += s.lanes {
			s.update(j0, min(j1, c+s.lanes), c, k, min(k+chunk, s.order), add, next)
		}
	}
	s.run.done[j].Add(1)
	s.run.done[s.blocks+i].Add(1)
	flops := 2 * int64(j1-j0) * int64(i1-i0) * int64(s.order-i0)
	if i == j {
		flops /= 2
	}
	return flops
}

// own replaces a block by the products of columns up to d1: those of the block itself, which
// it overwrites from left to right, and those that follow.
func (s *squaring) own(j0, j1, i0, i1, d1 int, next *ahead) {
	l, stride := s.lanes, s.stride()
	for g := j0; g < j1; g += group * l {
		for c := max(i0, g); c < i1; c += l {
			nv := min(group, (min(j1, c+l)-g)/l)
			a := s.p(c, c)
			s.productAhead(nv, d1-c, a, s.p(g, c), stride, s.p(g, c), stride, replace, next.next(d1-c, a))
		}
	}
}

package spd

import "context"

// Invert computes Σ⁻¹ in the upper triangle, after Factor. L stays. report is as for Factor.
// If ctx ends, Invert returns its error, and the upper triangle has no meaning.
func (m *Symmetric) Invert(ctx context.Context, report func(flops float64)) error {
	if err := m.invertTriangle(ctx, report); err != nil {
		return err
	}
	return m.square(ctx, report)
}

// square replaces U in the upper triangle by U·Uᵀ.
func (m *Symmetric) square(ctx context.Context, report func(flops float64)) error {
	s := squaring{Symmetric: m, block: blockRows(m.order)}
	s.blocks = m.blocksOf(s.block)
	s.scratch = m.workers(s.block * s.block)
	r := &m.run
	r.begin(ctx, 2*s.blocks, report)
	s.addTasks()
	return m.finish(r, m.order, s.task)
}

// A squaring computes the blocks of U·Uᵀ column after column, each apart from the matrix.
// Block (j, i) then replaces the same block of U. The blocks before it in row j need that
// block of U, and if it is the first of row j, the blocks above it need all of row j. The
// first counters hold the number of stored blocks of each block of rows, and the counters
// after them the number of stored blocks of each column.
type squaring struct {
	*Symmetric
	block, blocks int
	scratch       [][]float64
}

// addTasks adds the blocks column after column. The last one of a column, on the diagonal,
// waits for all others. It comes after as many blocks of the next column as keep the threads
// busy until then.
func (s *squaring) addTasks() {
	for i := range s.blocks {
		between := min(s.team.Size()+1, i-1)
		for j := range i {
			if j == between {
				s.run.add(i-1, i-1)
			}
			s.run.add(i, j)
		}
	}
	s.run.add(s.blocks-1, s.blocks-1)
}

// task computes and stores one block.
func (s *squaring) task(worker int, t pair) int64 {
	i, j := t.i, t.j
	i0, i1 := i*s.block, min((i+1)*s.block, s.order)
	j0, j1 := j*s.block, min((j+1)*s.block, s.order)
	out := s.scratch[worker]
	mode := replace
	for k := i0 - i0%chunk; k < s.order; k += chunk {
		next := s.ahead(k+chunk, j0, j1, i0, i1)
		if k+chunk >= s.order { // the next task probably has the next rows
			next = s.ahead(i0, j1, j1+s.block, i0, i1)
		}
		for c := i0; c < i1; c += s.lanes {
			s.multiply(out, j0, min(j1, c+s.lanes), i0, c, k, mode, next)
		}
		mode = add
	}
	if !s.run.await(j, i-j) || j == i && !s.run.await(s.blocks+i, i) {
		return 0
	}
	s.store(out, j0, j1, i0, i1)
	s.run.done[j].Add(1)
	s.run.done[s.blocks+i].Add(1)
	flops := 2 * int64(j1-j0) * int64(i1-i0) * int64(s.order-i0)
	if i == j {
		flops /= 2
	}
	return flops
}

// multiply computes the products of a chunk of columns from k on, and not before column c,
// for rows [j0, j1) and column c of tiles. Their block begins at column i0.
func (s *squaring) multiply(out []float64, j0, j1, i0, c, k, mode int, next *ahead) {
	l := s.lanes
	k0, k1 := max(k, c), min(k+chunk, s.order)
	a, stride := s.p(c, k0), s.block*l
	for g := j0; g < j1; g += group * l {
		nv := min(group, (j1-g)/l)
		s.products[nv-1](k1-k0, a, s.p(g, k0), s.stride(), &out[(g-j0)*s.block+(c-i0)*l], stride, mode, next.next(k1-k0, a))
	}
}

// store copies a block to the matrix, from the diagonal on.
func (s *squaring) store(out []float64, j0, j1, i0, i1 int) {
	l := s.lanes
	for g := j0; g < j1; g += l {
		c := max(i0, g)
		copy(s.panel(g, c), out[(g-j0)*s.block+(c-i0)*l:][:(i1-c)*l])
	}
}

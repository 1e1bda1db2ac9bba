package spd

import "context"

// Factor replaces Σ in the lower triangle by L. The panels before the panel of row from hold
// L already. Factor returns 0, or the order of the first leading minor that is not positive;
// then the matrix has no factor. report, if not nil, takes the operations done since its last
// call, on the caller's goroutine. If ctx ends, Factor returns its error.
func (m *Symmetric) Factor(ctx context.Context, from int, report func(flops float64)) (minor int, err error) {
	f := factorization{Symmetric: m, block: blockRows(m.order), from: from - from%m.lanes}
	blocks := m.blocksOf(f.block)
	r := &m.run
	r.begin(ctx, blocks, report)
	f.firstBlock = f.from / f.block
	for i := range f.firstBlock {
		r.done[i].Store(int32(blocks))
	}
	f.addTasks(blocks)
	err = m.finish(r, m.order, f.task)
	return f.minor, err
}

// A factorization computes L block by block, column after column. Block (i, j) needs the
// blocks (i, k) and (j, k) for k < j, and (j, j). The counter of a block of rows is the
// number of its finished columns.
type factorization struct {
	*Symmetric
	block            int // rows and columns
	from, firstBlock int
	minor            int
}

// blocksOf returns the number of blocks of size rows.
func (m *panels) blocksOf(size int) int { return (m.order + size - 1) / size }

// addTasks adds the blocks column after column. The next block on the diagonal comes before
// the last ones of a column, so that no thread has to wait for it, but after as many others
// as keep the threads busy until the blocks that it needs itself are ready.
func (f *factorization) addTasks(blocks int) {
	diagonal := func(j int) {
		if j >= f.firstBlock && j < blocks {
			f.run.add(j, j)
		}
	}
	diagonal(0)
	for j := range blocks {
		before := min(max(j+1, f.firstBlock)+f.team.Size()+1, blocks)
		for i := max(j+1, f.firstBlock); i < before; i++ {
			f.run.add(i, j)
		}
		diagonal(j + 1)
		for i := before; i < blocks; i++ {
			f.run.add(i, j)
		}
	}
}

// task computes one block.
func (f *factorization) task(_ int, t pair) int64 {
	i, j := t.i, t.j
	i0, i1 := max(i*f.block, f.from), min((i+1)*f.block, f.order)
	j0, j1 := j*f.block, min((j+1)*f.block, f.order)
	if !f.run.await(i, j) || !f.run.await(j, j) {
		return 0
	}
	done := j0 - j0%chunk
	for k := 0; k < done; k += chunk {
		next := f.ahead(k+chunk, i0, i1, j0, j1)
		for c := j0; c < j1; c += f.lanes {
			f.update(&f.panels, &f.panels, max(i0, c), i1, c, k, k+chunk, subtract, next)
		}
	}
	if i == j {
		if !f.diagonalBlock(i0, j0, j1, done) {
			return 0
		}
	} else {
		if !f.run.await(j, j+1) {
			return 0
		}
		// The next task probably has the next rows.
		next := f.ahead(0, i1, i1+f.block, j0, j1)
		for c := j0; c < j1; c += f.lanes {
			f.solveColumn(&f.panels, i0, i1, c, done, next)
		}
	}
	f.run.done[i].Store(int32(j + 1))
	flops := int64(i1-i0) * int64(j1-j0) * int64(j0+j1)
	if i == j {
		flops /= 2
	}
	return flops
}

// update adds to the tiles of rows [i0, i1) and column c the products of columns [k0, k1) of
// these rows of x and of row c of y, or does what mode says. All have panels as long as m.
func (m *matrix) update(x, y *panels, i0, i1, c, k0, k1, mode int, next *ahead) {
	l, stride := m.lanes, m.stride()
	a := y.p(c, k0)
	for i := i0; i < i1; i += group * l {
		nv := min(group, (i1-i)/l)
		m.products[nv-1](k1-k0, a, x.p(i, k0), stride, m.p(i, c), stride, mode, next.next(k1-k0, a))
	}
}

// solveColumn replaces column c of tiles by the same column of m·L⁻ᵀ for rows [i0, i1), after the products
// before column k0 have been subtracted. It prefetches what next names.
func (m *matrix) solveColumn(l *panels, i0, i1, c, k0 int, next *ahead) {
	lanes, stride := m.lanes, m.stride()
	a := l.p(c, k0)
	for i := i0; i < i1; i += group * lanes {
		nv := min(group, (i1-i)/lanes)
		m.solves[nv-1](c-k0, a, m.p(i, k0), stride, l.tile(c), m.p(i, c), stride, 0, next.next(c-k0, a))
	}
}

// choleskyTile computes the tile of L on the diagonal at column c, after the products before column k0 have
// been subtracted. It returns the number of columns done.
func (m *matrix) choleskyTile(c, k0 int) int {
	l := m.lanes
	copy(m.tiles[c*l:(c+l)*l], m.panel(c, c))
	return m.cholesky(c-k0, m.p(c, k0), m.tile(c), &m.diagonal[c])
}

// diagonalBlock factorizes a block on the diagonal. It returns false if a pivot is not
// positive, and stops the operation.
func (f *factorization) diagonalBlock(i0, j0, j1, k0 int) bool {
	l := f.lanes
	for c := j0; c < j1; c += l {
		if c >= f.from {
			if done := f.choleskyTile(c, k0); done < l {
				f.minor = c + done + 1
				f.run.stopped.Store(true)
				return false
			}
		}
		f.solveColumn(&f.panels, max(i0, c+l), j1, c, k0, nil)
	}
	return true
}

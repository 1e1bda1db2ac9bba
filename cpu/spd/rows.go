package spd

import "context"

// RowBlock holds consecutive rows of Σ⁻¹ or of a product with it, in panels.
type RowBlock struct {
	m      *Symmetric
	i0, i1 int
	x      []float64
}

// NewRowBlock returns space for a number of rows.
func (m *Symmetric) NewRowBlock(rows int) *RowBlock {
	return &RowBlock{m: m, x: aligned(int(m.RowsNumbers(m.n, rows)))}
}

// Numbers returns the size of the space.
func (r *RowBlock) Numbers() int { return len(r.x) }

// RowsNumbers returns the size of rows of a matrix of order n, in numbers. The
// lanes after the last column are for tiles that overlap the end.
func (e *Engine) RowsNumbers(n, rows int) int64 {
	return int64(roundUp(rows, e.lanes)) * int64(roundUp(n, e.lanes)+e.lanes)
}

// stride returns the distance of panels.
func (r *RowBlock) stride() int { return (r.m.order + r.m.lanes) * r.m.lanes }

// panels returns the number of panels in use.
func (r *RowBlock) panels() int { return (r.i1 - r.i0 + r.m.lanes - 1) / r.m.lanes }

// p returns the address of column j of panel p.
func (r *RowBlock) p(p, j int) *float64 { return &r.x[p*r.stride()+j*r.m.lanes] }

// Copy copies columns [j0, j1) of the rows [i, i+Lanes), where i−i0 and j0 are multiples of
// Lanes, as [Symmetric.InverseRows] does.
func (r *RowBlock) Copy(i, j0, j1 int, rows []float64, stride int) {
	l := r.m.lanes
	r.m.transposeTiles(roundUp(j1-j0, l)/l, r.p((i-r.i0)/l, j0), l, l*l, &rows[0], stride, l)
}

// ScaledInverse sets r to rows [i0, i1) of Σ⁻¹·diag(c), with i0 a multiple of Lanes. A nil c
// is a vector of ones.
func (r *RowBlock) ScaledInverse(ctx context.Context, i0, i1 int, c []float64) error {
	r.i0, r.i1 = i0, i1
	m := r.m
	l := m.lanes
	m.run.begin(ctx, 0, nil)
	for p := range r.panels() {
		m.run.add(p, p)
	}
	return m.finish(&m.run, m.order, func(_ int, t pair) int64 {
		p := t.i
		panel := r.x[p*r.stride() : (p+1)*r.stride()]
		m.inversePanel(i0+p*l, 0, m.order, panel)
		if c == nil {
			return 0
		}
		for j, v := range c {
			column := panel[j*l : (j+1)*l]
			for i := range column {
				column[i] *= v
			}
		}
		return 0
	})
}

// inversePanel writes columns [k0, k1) of the panel of row i of Σ⁻¹, all multiples of the
// lanes, to dst.
func (m *Symmetric) inversePanel(i, k0, k1 int, dst []float64) {
	l := m.lanes
	below := min(max(i-k0, 0), k1-k0)
	if below > 0 {
		m.transposeTiles(below/l, m.p(k0, i), l, m.stride(), &dst[0], l, l*l)
	}
	if k0+below < k1 {
		copy(dst[below*l:(k1-k0)*l], m.panel(i, k0+below))
	}
}

// taskColumns is the number of columns in a task of a product.
const taskColumns = 96

// MultiplyBlock sets columns [first, first+size) of r to the same columns of q times a
// symmetric block of the given size, by rows. It overwrites columns after them, so that
// blocks must be multiplied in the order of their columns.
func (r *RowBlock) MultiplyBlock(ctx context.Context, q *RowBlock, first, size int, block []float64) error {
	r.i0, r.i1 = q.i0, q.i1
	m := r.m
	scratch := m.workers(2 * chunk * m.lanes)
	m.run.begin(ctx, 0, nil)
	for c := 0; c < size; c += taskColumns {
		m.run.add(c, c)
	}
	return m.finish(&m.run, size, func(worker int, t pair) int64 {
		c0, c1 := t.i, min(t.i+taskColumns, size)
		for k := 0; k < size; k += chunk {
			r.addBlock(q, first, k, min(k+chunk, size), c0, c1, block, size, scratch[worker])
		}
		return 0
	})
}

// addBlock adds the products of columns first + [k0, k1) of q with columns [k0, k1) of rows
// [c0, c1) of a block to columns first + [c0, c1) of r, which it sets first if k0 is 0.
func (r *RowBlock) addBlock(q *RowBlock, first, k0, k1, c0, c1 int, block []float64, size int, scratch []float64) {
	l := r.m.lanes
	panel, rows := scratch[:chunk*l], scratch[chunk*l:]
	for c := c0; c < c1; c += l {
		from, stride := block[c*size+k0:], size
		if c+l > size { // the rows after the last one count as zero
			clear(rows)
			for i := range size - c {
				copy(rows[i*chunk:], from[i*size:][:k1-k0])
			}
			from, stride = rows, chunk
		}
		r.m.packRows(panel, from, stride, k1-k0)
		r.addPanel(q, panel, first+k0, k1-k0, first+c, k0 == 0)
	}
}

// addPanel adds the products of k columns of q, from k0 on, with a panel to the columns of r
// from c on, or sets these to them if fresh.
func (r *RowBlock) addPanel(q *RowBlock, panel []float64, k0, k, c int, fresh bool) {
	mode := add
	if fresh {
		mode = replace
	}
	for p := 0; p < q.panels(); p += group {
		nv := min(group, q.panels()-p)
		r.m.product(nv, k, &panel[0], q.p(p, k0), q.stride(), r.p(p, c), r.stride(), mode)
	}
}

// MultiplyInverse sets the columns of r from i0 on to the same columns of q·Σ⁻¹.
func (r *RowBlock) MultiplyInverse(ctx context.Context, q *RowBlock, report func(flops float64)) error {
	r.i0, r.i1 = q.i0, q.i1
	m := r.m
	scratch := m.workers(chunk * m.lanes)
	m.run.begin(ctx, 0, report)
	for i := q.i0; i < m.order; i += taskColumns {
		m.run.add(i, i)
	}
	return m.finish(&m.run, m.order, func(worker int, t pair) int64 {
		j0, j1 := t.i, min(t.i+taskColumns, m.order)
		for k := 0; k < m.order; k += chunk {
			k1 := min(k+chunk, m.order)
			for c := j0; c < j1; c += m.lanes {
				m.inversePanel(c, k, k1, scratch[worker])
				r.addPanel(q, scratch[worker], k, k1-k, c, k == 0)
			}
		}
		return 2 * int64(q.i1-q.i0) * int64(j1-j0) * int64(m.order)
	})
}

package spd

import "context"

// invertTriangle computes U in the upper triangle.
func (m *Symmetric) invertTriangle(ctx context.Context, report func(flops float64)) error {
	v := inversion{Symmetric: m, block: blockRows(m.order)}
	v.scratch = m.workers(v.block * chunk)
	m.run.begin(ctx, 0, report)
	for j := range m.blocksOf(v.block) {
		m.run.add(j, j)
	}
	return m.finish(&m.run, m.order, v.task)
}

// workers returns working space for each thread, with the given size in numbers. It is kept.
func (m *Symmetric) workers(numbers int) [][]float64 {
	for len(m.scratch) < m.team.Size() {
		m.scratch = append(m.scratch, nil)
	}
	for i := range m.scratch {
		if len(m.scratch[i]) < numbers {
			m.scratch[i] = aligned(numbers)
		}
	}
	return m.scratch
}

// An inversion computes U = L⁻ᵀ in the upper triangle. Its blocks of rows do not depend on
// each other.
type inversion struct {
	*Symmetric
	block   int // rows
	scratch [][]float64
}

// task computes the rows of one block. The longest rows come first.
func (v *inversion) task(worker int, t pair) int64 {
	j0, j1 := t.j*v.block, min((t.j+1)*v.block, v.order)
	d0 := j0 - j0%chunk
	d1 := min(d0+chunk, v.order)
	x := head{m: &v.matrix, l: &v.panels, x: v.scratch[worker], j0: j0, j1: j1, origin: d0, stride: chunk * v.lanes}
	x.solve(d1, v.ahead(d0, d1, d1+chunk, 0, 0))
	x.store(d1)
	for e0 := d1; e0 < v.order; e0 += chunk {
		e1 := min(e0+chunk, v.order)
		next := v.ahead(d1, j0, j1, e0, e1)
		for c := e0; c < e1; c += v.lanes {
			x.begin(c, d1, next)
		}
		for k := d1; k < e0; k += chunk {
			next = v.ahead(k+chunk, j0, j1, e0, e1)
			for c := e0; c < e1; c += v.lanes {
				v.update(&v.panels, &v.panels, j0, j1, c, k, k+chunk, subtract, next)
			}
		}
		next = v.ahead(d0, e1, e1+chunk, 0, 0)
		for c := e0; c < e1; c += v.lanes {
			v.solveColumn(&v.panels, j0, j1, c, e0, next)
		}
	}
	rest := int64(v.order - j0)
	return int64(j1-j0) * rest * rest
}

// A head is the part of rows [j0, j1) of U up to the next multiple of chunk. It is computed
// apart from the matrix, where L has the place of the zeros to the left of the diagonal.
type head struct {
	m              *matrix // takes U
	l              *panels
	x              []float64
	j0, j1, origin int
	stride         int
}

// p returns the address of element (i, j).
func (h *head) p(i, j int) *float64 {
	return &h.x[(i-h.j0)/h.m.lanes*h.stride+(j-h.origin)*h.m.lanes]
}

// solve computes the columns up to d1.
func (h *head) solve(d1 int, next *ahead) {
	m, l := h.m, h.m.lanes
	h.clear()
	for c := h.j0; c < d1; c += l {
		for g := h.j0; g < min(c, h.j1); g += group * l {
			nv := min(group, (min(c, h.j1)-g)/l)
			a := h.l.p(c, g)
			m.solves[nv-1](c-g, a, h.p(g, g), h.stride, h.l.tile(c), h.p(g, c), h.stride, 1, next.next(c-g, a))
		}
		if c < h.j1 {
			m.Engine.solve(1, 0, h.l.p(c, c), h.p(c, c), h.stride, h.l.tile(c), h.p(c, c), h.stride, 0)
		}
	}
}

// clear sets the tiles on the diagonal to the identity and the tiles to their left, in
// the same group, to zero.
func (h *head) clear() {
	l := h.m.lanes
	for g := h.j0; g < h.j1; g += group * l {
		for i := g; i < min(g+group*l, h.j1); i += l {
			at := (i-h.j0)/l*h.stride + (g-h.origin)*l
			part := h.x[at : at+(i-g+l)*l]
			clear(part)
			for r := range l {
				part[(i-g)*l+r*(l+1)] = 1
			}
		}
	}
}

// store copies the columns up to d1 to the matrix.
func (h *head) store(d1 int) {
	l := h.m.lanes
	for i := h.j0; i < h.j1; i += l {
		at := (i-h.j0)/l*h.stride + (i-h.origin)*l
		copy(h.m.panel(i, i)[:(d1-i)*l], h.x[at:])
	}
}

// begin sets column c of tiles, after d1, to the negative products of the head.
func (h *head) begin(c, d1 int, next *ahead) {
	m, l := h.m, h.m.lanes
	for g := h.j0; g < h.j1; g += group * l {
		nv := min(group, (h.j1-g)/l)
		a := h.l.p(c, g)
		m.products[nv-1](d1-g, a, h.p(g, g), h.stride, m.p(g, c), m.stride(), replaceNegative, next.next(d1-g, a))
	}
}

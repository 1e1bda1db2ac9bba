package spd

// Vectors holds up to [Engine.Width] vectors as long as the matrix, in panels: a vector is a row.
type Vectors struct {
	m     *Symmetric
	count int
	x     []float64
}

// Width returns the largest number of vectors in Vectors.
func (e *Engine) Width() int { return group * e.lanes }

// NewVectors returns space for vectors.
func (m *Symmetric) NewVectors() *Vectors {
	return &Vectors{m: m, x: aligned(group * m.lanes * m.order)}
}

// Numbers returns the size of the space.
func (v *Vectors) Numbers() int { return len(v.x) }

// stride returns the distance of panels.
func (v *Vectors) stride() int { return v.m.order * v.m.lanes }

// panels returns the number of panels in use.
func (v *Vectors) panels() int { return (v.count + v.m.lanes - 1) / v.m.lanes }

// Load fills v with count vectors, 0 < count ≤ Width. vector writes vector i to dst, of
// length N. scratch has room for Lanes vectors.
func (v *Vectors) Load(count int, scratch []float64, vector func(i int, dst []float64)) {
	m := v.m
	l := m.lanes
	v.count = count
	for i0 := 0; i0 < count; i0 += l {
		for r := range l {
			row := scratch[r*m.n : (r+1)*m.n]
			if i0+r < count {
				vector(i0+r, row)
			} else {
				clear(row)
			}
		}
		m.packRows(v.x[i0*m.order:], scratch, m.n, m.n)
		clear(v.x[i0*m.order+m.n*l : (i0+l)*m.order])
	}
}

// packRows writes rows of some columns, as many as lanes and stride apart, to a panel.
func (ks *kernels) packRows(panel, rows []float64, stride, columns int) {
	l := ks.lanes
	whole := columns / l
	if whole > 0 {
		ks.transposeTiles(whole, &rows[0], stride, l, &panel[0], l, l*l)
	}
	for c := whole * l; c < columns; c++ {
		for r := range l {
			panel[c*l+r] = rows[r*stride+c]
		}
	}
}

// Solve replaces the vectors b of all vs by L⁻¹·b. The tiles of L that it reads serve all
// of them. It may be called concurrently for different vectors.
func (m *Symmetric) Solve(vs []*Vectors) {
	l := m.lanes
	for k := 0; k < m.order; k += chunk {
		end := min(k+chunk, m.order)
		for c := k; c < m.order; c += l {
			a, next := m.p(c, k), m.ahead(k, c+l, c+2*l, 0, 0)
			for _, v := range vs {
				s := v.stride()
				if c < end {
					m.solves[v.panels()-1](c-k, a, &v.x[k*l], s, m.tile(c), &v.x[c*l], s, 0, next.next(c-k, a))
				} else {
					m.products[v.panels()-1](end-k, a, &v.x[k*l], s, &v.x[c*l], s, subtract, next.next(end-k, a))
				}
			}
		}
	}
}

// SquaredNorms writes the squared norms of the vectors to dst.
func (v *Vectors) SquaredNorms(dst []float64) {
	var sums [8]float64
	for p := range v.panels() {
		v.m.squares(v.m.order/4, &v.x[p*v.stride()], &sums[0])
		copy(dst[p*v.m.lanes:v.count], sums[:v.m.lanes])
	}
}

// Products writes the inner products of all vectors in v with all vectors in w to out:
// element out[i·stride + j] belongs to vector i of w and vector j of v.
func (v *Vectors) Products(w *Vectors, out []float64, stride int) {
	m := v.m
	l, s := m.lanes, v.stride()
	var tile [group * 64]float64
	for i0 := 0; i0 < w.count; i0 += l {
		mode := replace
		for k := 0; k < m.order; k += chunk {
			m.product(v.panels(), min(chunk, m.order-k), &w.x[i0*m.order+k*l], &v.x[k*l], s, &tile[0], l*l, mode)
			mode = add
		}
		for i := range min(l, w.count-i0) {
			for j := range v.count {
				out[(i0+i)*stride+j] = tile[j/l*l*l+i*l+j%l]
			}
		}
	}
}

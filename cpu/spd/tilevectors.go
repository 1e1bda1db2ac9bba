package spd

import "gonum.org/v1/gonum/blas/blas64"

// manyVectors is the number of vectors from which they are packed into panels, so that an element of a tile that comes
// from a cache serves several.
const manyVectors = 4

// SubtractProducts subtracts A·x, or Aᵀ·x if transposed, from y, for count vectors that are ld apart.
func (t *Tiles) SubtractProducts(a []float64, transposed bool, x, y []float64, ld, count int) {
	m, l := t.of(a), t.lanes
	for ; count > 0 && count < manyVectors; count-- {
		for c := 0; c < t.order; c += l {
			if transposed {
				t.panelTransposedVector(t.order/l, m.p(c, 0), &x[c], &y[0])
			} else {
				t.panelVector(t.order/4, m.p(c, 0), &x[0], &y[c])
			}
		}
		if count > 1 {
			x, y = x[ld:], y[ld:]
		}
	}
	t.eachGroup(y, ld, count, func(first, rows int) {
		t.packVectors(t.vectors, x[first*ld:], ld, rows)
		if !transposed {
			t.Multiply(Multiplication{C: t.left, A: t.vectors, B: a, Negative: true, Add: true, Rows: rows})
			return
		}
		for c := 0; c < t.order; c += l {
			t.multiplyTransposed(&m, t.diagonals, t.vectors, c, 0, rows)
		}
	})
}

// SolveVectors replaces y by L⁻¹·y, or by L⁻ᵀ·y if transposed, for count vectors that are ld apart.
func (t *Tiles) SolveVectors(factor []float64, transposed bool, y []float64, ld, count int) {
	f, l := t.factorOf(factor), t.lanes
	for ; count > 0 && count < manyVectors; count-- {
		s := vectorSubstitution{matrix: &f, x: y[:t.order]}
		if transposed {
			s.backward(0, 0, t.order, 0, t.order)
		} else {
			s.forward(0, 0, t.order, 0, t.order)
		}
		if count > 1 {
			y = y[ld:]
		}
	}
	t.eachGroup(y, ld, count, func(_, rows int) {
		if !transposed {
			t.Solve(t.left, factor, rows)
			return
		}
		for c := t.order - l; c >= 0; c -= l {
			t.multiplyTransposed(&f, t.vectors, t.left, c, c+l, rows)
			for i := 0; i < rows; i += l {
				f.backTile(c, min(l, rows-i), t.left[i*t.order+c*l:][:l*l])
			}
		}
	})
}

// eachGroup calls f for groups of vectors y, which are in left meanwhile.
func (t *Tiles) eachGroup(y []float64, ld, count int, f func(first, rows int)) {
	for first := 0; first < count; first += t.Width() {
		rows := min(t.Width(), count-first)
		t.packVectors(t.left, y[first*ld:], ld, rows)
		f(first, rows)
		for i := range rows {
			for c := range t.order {
				y[(first+i)*ld+c] = t.left[(i-i%t.lanes)*t.order+c*t.lanes+i%t.lanes]
			}
		}
	}
}

// packVectors writes vectors to panels.
func (t *Tiles) packVectors(panels, v []float64, ld, count int) {
	t.pack(panels, blas64.General{Rows: count, Cols: t.order, Stride: ld, Data: v}, 0, count, 0, t.order)
}

// multiplyTransposed subtracts from columns [c, c+lanes) of the vectors in left the products of the vectors x with the rows
// of m from k on. panel is working space.
func (t *Tiles) multiplyTransposed(m *matrix, panel, x []float64, c, k, rows int) {
	l, stride := t.lanes, t.lanes*t.order
	if k < t.order {
		t.transposeTiles((t.order-k)/l, m.p(k, c), l, m.stride(), &panel[k*l], l, l*l)
	}
	for k < t.order {
		end := min(k-k%chunk+chunk, t.order)
		t.product((rows+l-1)/l, end-k, &panel[k*l], &x[k*l], stride, &t.left[c*l], stride, subtract)
		k = end
	}
}

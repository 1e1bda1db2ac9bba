package spd

// Tiles has the arithmetic of square tiles of one order, a multiple of 8, on the caller's goroutine. A tile is order²
// numbers in panels, one after the other, that begin at a multiple of 64 bytes. The lower half of a tile may be a factor L,
// with its diagonal in place. A Tiles has working space, so that its calls must not overlap; others of the same engine may
// work on other tiles meanwhile. Rows are given in numbers that are rounded up to whole panels.
type Tiles struct {
	*Engine
	order int
	// diagonals has the tiles on the diagonal of a factor, with the reciprocals of the diagonal.
	diagonals []float64
	// left and right hold the parts of operands around the diagonal of an upper triangle, without what is below it.
	left, right []float64
	// vectors hold a group of vectors, and left another.
	vectors []float64
}

// NewTiles returns the arithmetic of tiles of an order.
func (e *Engine) NewTiles(order int) *Tiles {
	numbers, corner := aligned(e.TilesNumbers(order)), order*e.Width()
	t := &Tiles{Engine: e, order: order}
	t.diagonals, numbers = numbers[:order*e.lanes], numbers[order*e.lanes:]
	t.left, t.vectors, t.right = numbers[:corner], numbers[corner:2*corner], numbers[2*corner:]
	return t
}

// TilesNumbers returns the size of the working space of a Tiles, in numbers.
func (e *Engine) TilesNumbers(order int) int { return order*(e.lanes+2*e.Width()) + e.Width()*e.lanes }

// of returns the panels of a tile.
func (t *Tiles) of(tile []float64) matrix {
	return matrix{t.Engine, panels{n: t.order, lanes: t.lanes, order: t.order, ld: t.order, a: tile, tiles: t.diagonals}}
}

// factorOf returns the panels of a factor, after it has computed the tiles on its diagonal.
func (t *Tiles) factorOf(tile []float64) matrix {
	m, l := t.of(tile), t.lanes
	for c := 0; c < t.order; c += l {
		d := m.tiles[c*l : (c+l)*l]
		copy(d, m.panel(c, c))
		for i := 0; i < len(d); i += l + 1 {
			d[i] = 1 / d[i]
		}
	}
	return m
}

// SetRows writes columns [j0, j1) of the rows [i0, i0+Lanes), all multiples of Lanes. Row r is rows[r·stride:].
func (t *Tiles) SetRows(tile []float64, i0, j0, j1 int, rows []float64, stride int) {
	m := t.of(tile)
	t.packRows(m.panel(i0, j0), rows, stride, j1-j0)
}

// Rows copies to rows what SetRows writes. It copies whole tiles of a panel if j1 is not a multiple of Lanes.
func (t *Tiles) Rows(tile []float64, i0, j0, j1 int, rows []float64, stride int) {
	m, l := t.of(tile), t.lanes
	t.transposeTiles(roundUp(j1-j0, l)/l, m.p(i0, j0), l, l*l, &rows[0], stride, l)
}

// Factor replaces the lower half of a by its factor L, and writes the diagonal of L to diagonal. It returns 0, or the order of
// the first leading minor that is not positive; then a has no meaning.
func (t *Tiles) Factor(a, diagonal []float64) (minor int) {
	m, l := t.of(a), t.lanes
	m.diagonal = diagonal
	for j0 := 0; j0 < t.order; j0 += chunk {
		j1 := min(j0+chunk, t.order)
		for i0 := j0; i0 < t.order; i0 += chunk {
			i1 := min(i0+chunk, t.order)
			for k := 0; k < j0; k += chunk {
				next := m.ahead(k+chunk, i0, i1, j0, j1)
				for c := j0; c < j1; c += l {
					m.update(&m.panels, &m.panels, max(i0, c), i1, c, k, k+chunk, subtract, next)
				}
			}
			for c := j0; c < j1; c += l {
				if i0 == j0 {
					if done := m.choleskyTile(c, j0); done < l {
						return c + done + 1
					}
				}
				m.solveColumn(&m.panels, max(i0, c+l), i1, c, j0, nil)
			}
		}
	}
	for c := 0; c < t.order; c += l {
		d := m.panel(c, c)[:l*l]
		copy(d, m.tiles[c*l:])
		for i := range l {
			d[i*(l+1)] = diagonal[c+i]
		}
	}
	return 0
}

// Solve replaces the first rows of x by x·L⁻ᵀ.
func (t *Tiles) Solve(x, factor []float64, rows int) {
	m, f := t.of(x), t.factorOf(factor)
	rows = roundUp(rows, t.lanes)
	for i0 := 0; i0 < rows; i0 += chunk {
		i1 := min(i0+chunk, rows)
		for j0 := 0; j0 < t.order; j0 += chunk {
			j1 := min(j0+chunk, t.order)
			for k := 0; k < j0; k += chunk {
				for c := j0; c < j1; c += t.lanes {
					m.update(&m.panels, &f.panels, i0, i1, c, k, k+chunk, subtract, f.ahead(k, c+t.lanes, min(c+2*t.lanes, j1), 0, 0))
				}
			}
			for c := j0; c < j1; c += t.lanes {
				m.solveColumn(&f.panels, i0, i1, c, j0, f.ahead(j0, c+t.lanes, min(c+2*t.lanes, j1), 0, 0))
			}
		}
	}
}

// Invert sets the upper half of u to L⁻ᵀ.
func (t *Tiles) Invert(u, factor []float64) {
	m, f := t.of(u), t.factorOf(factor)
	for j0 := 0; j0 < t.order; j0 += chunk {
		j1 := min(j0+chunk, t.order)
		x := head{m: &m, l: &f.panels, x: m.panel(j0, j0), j0: j0, j1: j1, origin: j0, stride: m.stride()}
		x.solve(j1, nil)
		for e0 := j1; e0 < t.order; e0 += chunk {
			e1 := min(e0+chunk, t.order)
			for c := e0; c < e1; c += t.lanes {
				x.begin(c, j1, nil)
			}
			for k := j1; k < e0; k += chunk {
				for c := e0; c < e1; c += t.lanes {
					m.update(&m.panels, &f.panels, j0, j1, c, k, k+chunk, subtract, nil)
				}
			}
			for c := e0; c < e1; c += t.lanes {
				m.solveColumn(&f.panels, j0, j1, c, e0, nil)
			}
		}
	}
}

// AddSquaredNorms adds the squared norms of the first rows of a tile to sums.
func (t *Tiles) AddSquaredNorms(tile []float64, rows int, sums []float64) {
	m := t.of(tile)
	var squares [8]float64
	for i := 0; i < rows; i += t.lanes {
		t.squares(t.order/4, m.p(i, 0), &squares[0])
		for r := range min(t.lanes, rows-i) {
			sums[i+r] += squares[r]
		}
	}
}

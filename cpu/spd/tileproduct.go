package spd

// Multiplication describes a product of tiles, C ← ±A·Bᵀ, or C ← C ± A·Bᵀ.
type Multiplication struct {
	C, A, B []float64
	// Negative means the negative product, and Add that it is added to C.
	Negative, Add bool
	// Rows is the number of rows of A and C.
	Rows int
	// UpperA and UpperB mean that the operand counts as 0 below its diagonal.
	UpperA, UpperB bool
	// Lower or Upper mean that only this half of C is wanted; then the other has no meaning.
	Lower, Upper bool
}

// mode returns the result of a product that is the first part of it, or a later one.
func (p *Multiplication) mode(first bool) int {
	mode := replace
	if p.Add || !first {
		mode = add
	}
	if p.Negative {
		mode++
	}
	return mode
}

// Multiply computes a product.
func (t *Tiles) Multiply(p Multiplication) {
	z, x, y := t.of(p.C), t.of(p.A), t.of(p.B)
	l, rows := t.lanes, roundUp(p.Rows, t.lanes)
	if p.UpperA {
		width := t.Width()
		for i := 0; i < rows; i += l {
			first := i - i%width
			x.upperPart(i, first, min(first+width, t.order), t.left[i*width:])
		}
	}
	for i0 := 0; i0 < rows; i0 += chunk {
		for k := 0; k < t.order; k += chunk {
			t.multiplyChunk(&p, &z, &x, &y, i0, min(i0+chunk, rows), k)
		}
	}
}

// multiplyChunk computes the products of a chunk of columns from k0 on for rows [i0, i1).
func (t *Tiles) multiplyChunk(p *Multiplication, z, x, y *matrix, i0, i1, k0 int) {
	l, k1 := t.lanes, min(k0+chunk, t.order)
	next := x.ahead(k1, 0, 0, i0, i1)
	for c := 0; c < t.order; c += l {
		g0, g1, first := i0, i1, 0 // the first columns that are not 0 are in the chunk from first on
		if p.Lower {
			g0 = max(i0, c)
		}
		if p.Upper {
			g1 = min(i1, c+l)
		}
		if p.UpperA {
			g0, first = g0-g0%t.Width(), i0
		}
		if p.UpperB {
			first = max(first, c-c%chunk)
		}
		if c+l < t.order {
			next.parts[0], next.at = aheadPart{&y.panels, c + l, c + 2*l, k0}, 0
		}
		switch {
		case k0 < first:
		case k0 == first && (p.UpperA || p.UpperB):
			t.multiplyUpper(p, z, x, y, g0, g1, c, k0, k1)
		default:
			z.update(&x.panels, &y.panels, g0, g1, c, k0, k1, p.mode(k0 == first), next)
		}
	}
}

// multiplyUpper computes the products of columns [k0, k1), the first that are not 0, for rows [i0, i1) and column c
// of tiles. A product has two parts. The first one has the columns of the group of panels of A or of B whose upper
// triangle begins there.
func (t *Tiles) multiplyUpper(p *Multiplication, z, x, y *matrix, i0, i1, c, k0, k1 int) {
	l, width := t.lanes, t.Width()
	cornerB := c - c%width
	if p.UpperB && cornerB >= k0 {
		y.upperPart(c, cornerB, min(cornerB+width, t.order), t.right)
	}
	for g := i0; g < i1; g += width {
		nv, from, mode := min(group, (i1-g)/l), k0, p.mode(true)
		if p.UpperA {
			from = max(from, g)
		}
		if p.UpperB {
			from = max(from, cornerB)
		}
		atA, atB := p.UpperA && from == g, p.UpperB && from == cornerB
		if atA || atB {
			end := min(from+width, k1)
			a, b, bs := y.p(c, from), x.p(g, from), x.stride()
			if atA {
				b, bs = &t.left[g*width], width*l
			}
			if atB {
				a = &t.right[0]
			}
			t.product(nv, end-from, a, b, bs, z.p(g, c), z.stride(), mode)
			from, mode = end, p.mode(false)
		}
		if from < k1 {
			t.product(nv, k1-from, y.p(c, from), x.p(g, from), x.stride(), z.p(g, c), z.stride(), mode)
		}
	}
}

// upperPart copies columns [first, end) of the panel of row i to dst, with zeros below the diagonal.
func (m *panels) upperPart(i, first, end int, dst []float64) {
	l := m.lanes
	dst = dst[:(end-first)*l]
	copy(dst, m.panel(i, first))
	clear(dst[:(i-first)*l])
	for r := range l {
		tile := dst[(i-first+r)*l:][:l]
		clear(tile[r+1:])
	}
}

package spd

import "unsafe"

// A Symmetric is a symmetric positive definite matrix of order n with its factor and inverse.
// The caller writes Σ with [Symmetric.SetRows], then calls [Symmetric.Factor] and, when needed,
// [Symmetric.Invert]. Its methods must not be called concurrently, except where they say so.
type Symmetric struct {
	matrix
	run     run
	scratch [][]float64  // of each thread
	weighed [2][]float64 // see WeighInverse
	sides   []float64    // see SolveEquations
}

// matrix has the panels of a matrix and the micro-kernels for them.
type matrix struct {
	*Engine
	panels
}

// panels are the rows of a matrix in memory.
type panels struct {
	n     int
	lanes int
	order int // n, in whole panels
	// ld is the number of columns of a panel in memory.
	ld int
	a  []float64
	// tiles holds the diagonal tiles of L with the reciprocals of the diagonal, and
	// diagonal its diagonal.
	tiles, diagonal []float64
}

// New returns a matrix of order n > 0. Before SetRows its elements form no positive
// definite matrix.
func (e *Engine) New(n int) *Symmetric {
	order := roundUp(n, e.lanes)
	ld := leadingDim(order)
	m := &Symmetric{matrix: matrix{e, panels{n: n, lanes: e.lanes, order: order, ld: ld}}}
	numbers := Memory(order*ld + order*e.lanes + order)
	m.a, numbers = numbers[:order*ld], numbers[order*ld:]
	m.tiles, m.diagonal = numbers[:order*e.lanes], numbers[order*e.lanes:]
	return m
}

// Numbers returns the size of a matrix of order n, in numbers.
func (e *Engine) Numbers(n int) int64 {
	order := roundUp(n, e.lanes)
	return int64(order) * int64(leadingDim(order)+e.lanes+1)
}

// leadingDim returns the number of columns of a panel in memory. Panels whose starts are
// nearly a power of two apart would compete for the same sets of a cache: 36 panels of 288
// columns must fit the second level together. 24 columns apart they do.
func leadingDim(order int) int {
	const period, distance = 512, 24
	r := (order + distance) % period
	if r < 2*distance {
		return order + 2*distance - r
	}
	return order
}

// Memory returns n zeros for a matrix or for tiles.
func Memory(n int) []float64 {
	numbers := aligned(n)
	adviseHugePages(numbers)
	return numbers
}

// aligned returns n zeros that begin at a multiple of 64 bytes, the length of a cache line
// and of the widest vector.
func aligned(n int) []float64 {
	mem := make([]float64, n+7)
	skip := int(-uintptr(unsafe.Pointer(&mem[0]))/8) & 7
	return mem[skip : skip+n : skip+n]
}

// N returns the order of the matrix.
func (m *panels) N() int { return m.n }

// panel returns the panel of row i, a multiple of the lanes, from column j on.
func (m *panels) panel(i, j int) []float64 { return m.a[i*m.ld+j*m.lanes:] }

// p returns the address of element (i, j), for i a multiple of the lanes.
func (m *panels) p(i, j int) *float64 { return &m.a[i*m.ld+j*m.lanes] }

// stride returns the distance of panels in memory.
func (m *panels) stride() int { return m.lanes * m.ld }

// tile returns the diagonal tile of L at row i, a multiple of the lanes.
func (m *panels) tile(i int) *float64 { return &m.tiles[i*m.lanes] }

// index returns the position of an element.
func (m *panels) index(i, j int) int {
	r := i % m.lanes
	return (i-r)*m.ld + j*m.lanes + r
}

// Lanes returns the number of rows that SetRows and InverseRows take: the rows of a panel.
func (e *Engine) Lanes() int { return e.lanes }

// SetRows writes columns [j0, j1) of Σ to the rows [i0, i0+Lanes), where i0 is a multiple of
// Lanes and j0 of Lanes. Row r is rows[r·stride:], and rows beyond the order are not read.
// Columns from i0 on hold Σ⁻¹ after Invert, and with j0 = i0 SetRows writes Σ⁻¹. It may be called
// concurrently for different rows.
func (m *Symmetric) SetRows(i0, j0, j1 int, rows []float64, stride int) {
	l := m.lanes
	dst := m.panel(i0, j0)
	columns := roundUp(j1-j0, l)
	whole := 0
	if i0+l <= m.n {
		if whole = (j1 - j0) / l; whole > 0 {
			m.transposeTiles(whole, &rows[0], stride, l, &dst[0], l, l*l)
		}
	}
	for c := whole * l; c < columns; c++ {
		for r := range l {
			switch {
			case i0+r < m.n && j0+c < m.n:
				dst[c*l+r] = rows[r*stride+c]
			case i0+r == j0+c:
				dst[c*l+r] = 1
			default:
				dst[c*l+r] = 0
			}
		}
	}
}

// InverseRows copies columns [j0, j1) of Σ⁻¹ to rows, for rows [i0, i0+Lanes) with i0 and j0
// multiples of Lanes, i0 ≤ j0. Row r begins at rows[r·stride]. It writes whole tiles, so that
// up to Lanes−1 numbers after a row are overwritten, and rows beyond the order too. It may be
// called concurrently.
func (m *Symmetric) InverseRows(i0, j0, j1 int, rows []float64, stride int) {
	l := m.lanes
	m.transposeTiles(roundUp(j1-j0, l)/l, m.p(i0, j0), l, l*l, &rows[0], stride, l)
}

// InverseElement returns an element of Σ⁻¹.
func (m *panels) InverseElement(i, j int) float64 {
	return m.a[m.index(min(i, j), max(i, j))]
}

// InverseRow copies row i of Σ⁻¹ from column j ≥ i on to dst.
func (m *panels) InverseRow(i, j int, dst []float64) {
	row := m.a[m.index(i, j):]
	for k := range dst {
		dst[k] = row[k*m.lanes]
	}
}

// FactorDiagonal returns the diagonal of L, to be read only.
func (m *panels) FactorDiagonal() []float64 { return m.diagonal[:m.n] }

// factorElement returns the place of L_ij, j < i.
func (m *panels) factorElement(i, j int) *float64 {
	l := m.lanes
	r := i % l
	if j < i-r {
		return &m.a[m.index(i, j)]
	}
	return &m.tiles[(i-r)*l+(j-i+r)*l+r]
}

// FactorRow copies row i of L to dst, of i+1 numbers.
func (m *panels) FactorRow(i int, dst []float64) {
	for j := range i {
		dst[j] = *m.factorElement(i, j)
	}
	dst[i] = m.diagonal[i]
}

// SetFactorRow sets row i of L. After the last row, it sets the rows that fill the last panel.
func (m *panels) SetFactorRow(i int, src []float64) {
	for j := range i {
		*m.factorElement(i, j) = src[j]
	}
	m.setDiagonal(i, src[i])
	if i == m.n-1 {
		for k := m.n; k < m.order; k++ {
			for j := range k {
				*m.factorElement(k, j) = 0
			}
			m.setDiagonal(k, 1)
		}
	}
}

// setDiagonal sets an element of L's diagonal.
func (m *panels) setDiagonal(i int, v float64) {
	m.diagonal[i] = v
	m.tiles[(i-i%m.lanes)*m.lanes+i%m.lanes*(m.lanes+1)] = 1 / v
}

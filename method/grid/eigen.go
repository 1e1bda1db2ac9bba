package grid

import (
	"math"

	"gonum.org/v1/gonum/blas/blas64"

	"gpfit/device"
	"gpfit/kernel/vec"
)

// eigen returns the eigenvectors of a symmetric positive semidefinite matrix as rows, and its
// eigenvalues, none below 0. Errors are a few rounding errors of the largest eigenvalue, so that
// eigenvalues which are 0 but for rounding cost hardly any time. gonum's Dsteqr finds small ones to
// more digits, turns one column of vectors at a time, and takes several times as long.
func eigen(k blas64.General, threads int) (vectors blas64.General, lambda []float64, err error) {
	g := k.Rows
	if g == 1 {
		return rows([]float64{1}, 1), []float64{max(0, k.Data[0])}, nil
	}
	qt, d, e := tridiagonal(k, threads)
	t := &turner{threads: threads}
	t.load(qt)
	if !implicitQL(d, e, t.turn) {
		return qt, nil, &device.NotPDError{N: g}
	}
	t.flush()
	for p := range d {
		d[p] = max(0, d[p])
	}
	return t.store(g), d, nil
}

// mostSweeps limits the sweeps for an eigenvalue; two or three are usual.
const mostSweeps = 60

// implicitQL replaces the diagonal d of a tridiagonal matrix by its eigenvalues, and calls turn for each
// rotation of two rows of vectors. It is the procedure tql2 of Bowdler, Martin, Reinsch & Wilkinson,
// Numerische Mathematik 11 (1968), 293, but an element next to the diagonal counts as 0 if it is below the
// rounding of the whole matrix. It returns false if it does not converge.
func implicitQL(d, e []float64, turn func(row int, c, s float64)) bool {
	n, size, shift := len(d), 0.0, 0.0
	for i, v := range d {
		size = max(size, math.Abs(v)+math.Abs(e[i]))
	}
	least := 0x1p-53 * size
	for l := range n {
		m := l
		for math.Abs(e[m]) > least {
			m++
		}
		for sweeps := 0; m > l && math.Abs(e[l]) > least; sweeps++ {
			if sweeps == mostSweeps || size-size != 0 {
				return false
			}
			shift += sweep(d, e, l, m, turn)
		}
		d[l] += shift
		e[l] = 0
	}
	return true
}

// sweep subtracts a shift near the eigenvalue at l, takes a step of QL on the rows from l to m, and
// returns the shift.
func sweep(d, e []float64, l, m int, turn func(row int, c, s float64)) (shift float64) {
	first := d[l]
	p := (d[l+1] - first) / (2 * e[l])
	r := math.Copysign(math.Hypot(p, 1), p)
	d[l], d[l+1] = e[l]/(p+r), e[l]*(p+r)
	shift = first - d[l]
	for i := l + 2; i < len(d); i++ {
		d[i] -= shift
	}
	next, second := d[l+1], e[l+1]
	p = d[m]
	c, s, before, sBefore, beforeThat := 1.0, 0.0, 1.0, 0.0, 1.0
	for i := m - 1; i >= l; i-- {
		beforeThat, before, sBefore = before, c, s
		g, h := c*e[i], c*p
		r := math.Hypot(p, e[i])
		e[i+1] = s * r
		s, c = e[i]/r, p/r
		p = c*d[i] - s*g
		d[i+1] = h + s*(c*g+s*d[i])
		turn(i, c, s)
	}
	p = -s * sBefore * beforeThat * second * e[l] / next
	e[l], d[l] = s*p, c*p
	return shift
}

// turner rotates pairs of rows of a matrix. It collects rotations and then applies all of them to some
// columns after the other, which stay in the cache.
type turner struct {
	threads int
	parts   []turnedColumns
	pending []rotation
}

// turnedColumns are some columns of each row, and space for one row.
type turnedColumns struct {
	rows  [][]float64
	spare []float64
}

// rotation replaces the rows x and y, at row and after it, by c·x − s·y and s·x + c·y.
type rotation struct {
	row  int
	c, s float64
}

// The columns of a part, and the rotations that are collected.
const (
	partColumns   = 64
	mostRotations = 1 << 16
)

// load copies a matrix.
func (t *turner) load(m blas64.General) {
	for first := 0; first < m.Cols; first += partColumns {
		width := min(partColumns, m.Cols-first)
		part := turnedColumns{spare: make([]float64, width)}
		all := make([]float64, m.Rows*width)
		for i := range m.Rows {
			own := all[i*width : (i+1)*width]
			copy(own, row(m, i)[first:])
			part.rows = append(part.rows, own)
		}
		t.parts = append(t.parts, part)
	}
}

// turn rotates two rows later.
func (t *turner) turn(row int, c, s float64) {
	if t.pending = append(t.pending, rotation{row, c, s}); len(t.pending) == mostRotations {
		t.flush()
	}
}

// flush applies the collected rotations.
func (t *turner) flush() {
	shares(len(t.parts), 6*partColumns*float64(len(t.pending)), t.threads, func(first, end int) {
		for k := first; k < end; k++ {
			t.parts[k].apply(t.pending)
		}
	})
	t.pending = t.pending[:0]
}

func (p *turnedColumns) apply(rotations []rotation) {
	for _, r := range rotations {
		x, y := p.rows[r.row], p.rows[r.row+1]
		vec.Combine(p.spare, x, y, r.s, r.c)
		vec.Combine(x, x, y, r.c, -r.s)
		p.rows[r.row+1], p.spare = p.spare, y
	}
}

// store returns the matrix, which has n rows.
func (t *turner) store(n int) blas64.General {
	out := rectangle(n, n)
	for i := range n {
		to := row(out, i)
		for k, part := range t.parts {
			copy(to[k*partColumns:], part.rows[i])
		}
	}
	return out
}

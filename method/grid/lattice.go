package grid

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas/blas64"

	"gpfit/device"
	"gpfit/kernel"
)

// lattice is a full grid: each combination of the values of all axes is one row. Cells are numbered
// with the last axis fastest.
type lattice struct {
	axes []gridAxis
	// cell is the cell of each row, nil if each row is the cell of its number.
	cell []int32
	n    int
	// threads is how many threads products may use.
	threads *int
}

// gridAxis is a group of columns.
type gridAxis struct {
	columns []int
	// rows are rows with each of its values.
	rows []int
	// before and after are the numbers of combinations of the axes before it and after it.
	before, after int
}

// size returns the number of values.
func (a *gridAxis) size() int { return len(a.rows) }

// newLattice returns the grid of the points for some groups of columns, or an
// [*device.UnsupportedError]. It stops as soon as the numbers of values exclude a grid, which on most
// tables is after one column.
func newLattice(x *kernel.Points, groups [][]int) (*lattice, error) {
	l, of, cells := &lattice{n: x.N}, make([][]int32, len(groups)), 1
	for a, columns := range groups {
		of[a] = make([]int32, x.N)
		rows := number(of[a], x, columns, x.N/cells)
		if rows == nil || x.N%(cells*len(rows)) != 0 {
			return nil, noGrid(fmt.Sprintf("the %d rows are not all combinations of the values of %s", x.N, factors(x, groups)))
		}
		l.axes = append(l.axes, gridAxis{columns: columns, rows: rows, before: cells})
		cells *= len(rows)
	}
	if cells != x.N {
		return nil, noGrid(fmt.Sprintf("%d combinations of the values of %s have %d rows", cells, factors(x, groups), x.N))
	}
	for a := range l.axes {
		l.axes[a].after = cells / l.axes[a].before / l.axes[a].size()
	}
	return l, l.place(of)
}

// factors are words for the factors of a kernel with these groups of columns.
func factors(x *kernel.Points, groups [][]int) string {
	used := len(slices.Concat(groups...))
	if used == x.D {
		return "its factors"
	}
	return fmt.Sprintf("its factors, which use %d of the %d columns", used, x.D)
}

// noGrid is the error of rows that are no grid.
func noGrid(why string) error {
	return &device.UnsupportedError{Method: Name, What: "these rows with this kernel: they are no full grid, because " + why + "; the method dense can"}
}

// number writes to of the number of each row's values in some columns, equal for equal values, and
// returns the first row with each number; nil if there are more than most.
func number(of []int32, x *kernel.Points, columns []int, most int) (rows []int) {
	type pair struct {
		before int32
		value  float64
	}
	for k, c := range columns {
		rows = rows[:0]
		known := map[pair]int32{}
		for i, v := range x.Column(c) {
			key := pair{of[i], v}
			at, ok := known[key]
			if !ok {
				if len(rows) == most && k == len(columns)-1 || len(rows) == x.N {
					return nil
				}
				at = int32(len(rows))
				known[key], rows = at, append(rows, i)
			}
			of[i] = at
		}
		if len(rows) > most {
			return nil
		}
	}
	return rows
}

// place finds the cell of each row, for the numbers of each row's values on each axis.
func (l *lattice) place(of [][]int32) error {
	l.cell = make([]int32, l.n)
	seen, inOrder := make([]bool, l.n), true
	for i := range l.cell {
		at := 0
		for a := range l.axes {
			at = at*l.axes[a].size() + int(of[a][i])
		}
		if seen[at] {
			return noGrid("some combinations are repeated and others are missing")
		}
		seen[at], l.cell[i], inOrder = true, int32(at), inOrder && at == i
	}
	if inOrder {
		l.cell = nil
	}
	return nil
}

// factors returns the number of axes with several values.
func (l *lattice) factors() (count int) {
	for a := range l.axes {
		if l.axes[a].size() > 1 {
			count++
		}
	}
	return count
}

// gather copies the elements of rows to their cells.
func (l *lattice) gather(cells, rows []float64) {
	if l.cell == nil {
		copy(cells, rows)
		return
	}
	for i, at := range l.cell {
		cells[at] = rows[i]
	}
}

// scatter copies the elements of cells to their rows.
func (l *lattice) scatter(rows, cells []float64) {
	if l.cell == nil {
		copy(rows, cells)
		return
	}
	for i, at := range l.cell {
		rows[i] = cells[at]
	}
}

// turn brings the last axis of the array src to the front in dst, and multiplies along it by a matrix if
// that has rows. After a turn of every axis, the order is as before.
func (l *lattice) turn(dst, src []float64, a int, m blas64.General) {
	lines := rows(src, l.axes[a].size())
	if m.Rows == 0 {
		transpose(dst, lines)
		return
	}
	clear(dst)
	addProducts(rows(dst, lines.Rows), 1, m, lines, *l.threads)
}

// flops returns the operations of a product along an axis.
func (l *lattice) flops(a int) float64 { return 2 * float64(l.n) * float64(l.axes[a].size()) }

// all returns the operations of products along all axes.
func (l *lattice) all() (flops float64) {
	for a := range l.axes {
		flops += l.flops(a)
	}
	return flops
}

// cubes returns the sum of the cubes of the sizes of the axes.
func (l *lattice) cubes() (sum float64) {
	for a := range l.axes {
		sum += math.Pow(float64(l.axes[a].size()), 3)
	}
	return sum
}

// lines calls f for all cells in order, with the number p of each cell's value on the axis.
func (l *lattice) lines(a int, f func(cell, p int)) {
	own := &l.axes[a]
	g := own.size()
	for cell, b := 0, 0; b < own.before; b++ {
		for p := range g {
			for range own.after {
				f(cell, p)
				cell++
			}
		}
	}
}

// unfold writes the products of two arrays as a matrix with a row for each value of an axis.
func (l *lattice) unfold(dst, x, y []float64, a int) {
	own := &l.axes[a]
	g, lines := own.size(), l.n/own.size()
	for b := range own.before {
		for p := range g {
			from, to := (b*g+p)*own.after, p*lines+b*own.after
			for r := range own.after {
				dst[to+r] = x[from+r] * y[from+r]
			}
		}
	}
}

// products writes scale times the product of a number for each axis, to each cell of the grid.
func (l *lattice) products(dst []float64, scale float64, factors [][]float64) {
	dst[0] = scale
	size := 1
	// From the last axis on, the array of the axes after is repeated with each number of this one.
	for a := len(factors) - 1; a >= 0; a-- {
		own := factors[a]
		for p := len(own) - 1; p >= 0; p-- {
			for i := range size {
				dst[p*size+i] = own[p] * dst[i]
			}
		}
		size *= len(own)
	}
}

package tree

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas/blas64"

	"gpfit/kernel"
)

// sizes are the largest number of rows of a leaf, and the number of rows and of columns among which pivots are first chosen: a block that
// is not larger is taken whole.
type sizes struct{ leaf, sample int }

// usualSizes are the sizes outside tests.
var usualSizes = sizes{leaf: 128, sample: 256}

// node is a range of the points in the order of the tree.
type node struct {
	first, mid, end int
	// number is its place in an order of all nodes, and depth the number of nodes above.
	number, depth int
	// left and right are the halves, nil for a leaf.
	left, right *node
	// rows and columns are the pivots of the block between the halves.
	rows, columns []int
	// q1, m and q2 are the block in the coordinates of the halves, Q₁MQ₂ᵀ, and inverse is C⁻¹; for a leaf inverse is W⁻¹.
	q1, m, q2, inverse blas64.General
	logDet             float64
}

func (t *node) size() int  { return t.end - t.first }
func (t *node) leaf() bool { return t.left == nil }

// order is the order of points in a tree. It depends on the points and the scales alone.
type order struct {
	sizes
	scales []float64
	root   *node
	nodes  []*node
	// at are the points of the places in the order, and points their coordinates.
	at     []int
	points *kernel.Points
	// place is the number of the place of each point, equal for equal points; nil if all differ.
	place []int
}

// scalesOf returns what divides the columns in the order: lengthscales of the columns, rounded to powers of 4, so that
// they change rarely in a fit. The order has no use for the kernel otherwise.
func scalesOf(prog *kernel.Program, theta []float64) []float64 {
	scales := make([]float64, prog.D) // 0: the kernel does not read the column
	for _, f := range prog.Features {
		for q, c := range f.Dims {
			if scales[c] != 0 && scales[c] != 1 {
				continue
			}
			scales[c] = 1
			if f.Param >= 0 && f.Kind == kernel.SquaredDistance {
				scales[c] = math.Pow(4, math.Round(math.Log2(math.Abs(theta[f.Param+q]))/2))
			}
		}
	}
	return scales
}

// newOrder returns the order of points.
func newOrder(x *kernel.Points, scales []float64, of sizes, threads int) *order {
	o := &order{sizes: of, scales: scales, at: make([]int, x.N)}
	for i := range o.at {
		o.at[i] = i
	}
	o.root = o.split(x, 0, x.N, 0, threads)
	o.number(o.root)
	o.points = x.Pick(o.at)
	if places := o.points.Places(); len(places) < x.N {
		o.place = make([]int, x.N)
		for k, all := range places {
			for _, i := range all {
				o.place[i] = k
			}
		}
	}
	return o
}

// split makes the node of a range: it halves the points at the median of the widest column.
func (o *order) split(x *kernel.Points, first, end, depth, threads int) *node {
	t := &node{first: first, end: end, depth: depth}
	if end-first <= o.leaf {
		return t
	}
	widest, width := 0, -1.0
	for c, s := range o.scales {
		if s == 0 {
			continue
		}
		column, low, high := x.Column(c), math.Inf(1), math.Inf(-1)
		for _, i := range o.at[first:end] {
			low, high = min(low, column[i]), max(high, column[i])
		}
		if w := (high - low) / s; w > width {
			widest, width = c, w
		}
	}
	column := x.Column(widest)
	slices.SortFunc(o.at[first:end], func(i, j int) int {
		return cmp.Or(cmp.Compare(column[i], column[j]), cmp.Compare(i, j))
	})
	t.mid = first + (end-first)/2
	both(threads,
		func(threads int) { t.left = o.split(x, first, t.mid, depth+1, threads) },
		func(threads int) { t.right = o.split(x, t.mid, end, depth+1, threads) })
	return t
}

// number lists the nodes, halves before wholes.
func (o *order) number(t *node) {
	if !t.leaf() {
		o.number(t.left)
		o.number(t.right)
	}
	t.number = len(o.nodes)
	o.nodes = append(o.nodes, t)
}

// ordered returns columns of vectors as the rows of a matrix in the order of the tree.
func (o *order) ordered(b []float64, m int) blas64.General {
	n := len(o.at)
	out := newMatrix(n, m)
	for q := range m {
		column := b[q*n : (q+1)*n]
		for i, k := range o.at {
			out.Data[i*m+q] = column[k]
		}
	}
	return out
}

// restore writes a matrix in the order of the tree to columns.
func (o *order) restore(b []float64, from blas64.General) {
	for i, k := range o.at {
		for q, v := range row(from, i) {
			b[q*len(o.at)+k] = v
		}
	}
}

// side is one side of a block: distinct points.
type side struct {
	*kernel.Points
	// at are their places in the order; of has the distinct point of each row, nil if all rows are distinct.
	at, of []int
	rows   int
}

// newSide returns the side of a range.
func (o *order) newSide(first, end int) *side {
	s := &side{rows: end - first}
	if o.place != nil {
		seen := make(map[int]int, end-first)
		s.of = make([]int, end-first)
		for i := first; i < end; i++ {
			k, ok := seen[o.place[i]]
			if !ok {
				k = len(s.at)
				seen[o.place[i]] = k
				s.at = append(s.at, i)
			}
			s.of[i-first] = k
		}
	}
	if len(s.at) == 0 || len(s.at) == s.rows {
		s.at, s.of = make([]int, s.rows), nil
		for i := range s.at {
			s.at[i] = first + i
		}
	}
	s.Points = o.points.Pick(s.at)
	return s
}

// expand returns the rows of a matrix of the distinct points for all rows.
func (s *side) expand(m blas64.General) blas64.General {
	if s.of == nil {
		return m
	}
	out := newMatrix(s.rows, m.Cols)
	for i, k := range s.of {
		copy(row(out, i), row(m, k))
	}
	return out
}

// gather returns the sums of the rows of each distinct point.
func (s *side) gather(m blas64.General) blas64.General {
	if s.of == nil {
		return m
	}
	out := newMatrix(s.N, m.Cols)
	for i, k := range s.of {
		sum := row(out, k)
		for c, v := range row(m, i) {
			sum[c] += v
		}
	}
	return out
}

// nearest returns the distinct points in the order of their distances from the box around other points, in the scales of the order.
func (o *order) nearest(s, other *side) []int {
	distances, all := make([]float64, s.N), make([]int, s.N)
	for c, scale := range o.scales {
		if scale == 0 {
			continue
		}
		low, high := slices.Min(other.Column(c)), slices.Max(other.Column(c))
		for i, v := range s.Column(c) {
			d := max(low-v, v-high, 0) / scale
			distances[i] += d * d
		}
	}
	for i := range all {
		all[i] = i
	}
	slices.SortFunc(all, func(i, j int) int { return cmp.Or(cmp.Compare(distances[i], distances[j]), cmp.Compare(i, j)) })
	return all
}

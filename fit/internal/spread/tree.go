package spread

import (
	"slices"

	"gpfit/kernel"
)

// rowTree finds the rows near a row. It is a k-d tree with buckets (Friedman, Bentley & Finkel, ACM
// Transactions on Mathematical Software 3 (1977), 209).
type rowTree struct {
	d int
	// index are the rows in the order of the leaves, and values their columns, a row after the other.
	index  []int
	values []float64
	nodes  []treeNode
}

// treeNode is a leaf with the rows from first to last in order if column < 0. Otherwise rows with less
// than split in a column belong to the next node, and all others to the node right.
type treeNode struct {
	first, last   int
	column, right int
	split         float64
}

// bucketRows is the number of rows of a leaf, unless more are equal.
const bucketRows = 12

func newRowTree(x *kernel.Points) *rowTree {
	t := &rowTree{d: x.D, index: make([]int, x.N)}
	for i := range t.index {
		t.index[i] = i
	}
	t.divide(x, 0, x.N, 0)
	t.values = make([]float64, x.N*x.D)
	for c := range x.D {
		column := x.Column(c)
		for k, i := range t.index {
			t.values[k*x.D+c] = column[i]
		}
	}
	return t
}

// divide adds the nodes of the rows from first to last in order. It prefers to split the given column.
func (t *rowTree) divide(x *kernel.Points, first, last, column int) {
	at := len(t.nodes)
	t.nodes = append(t.nodes, treeNode{first: first, last: last, column: -1})
	if last-first <= bucketRows {
		return
	}
	column, split, ok := t.middle(x, first, last, column)
	if !ok {
		return
	}
	values, middle := x.Column(column), first
	for k := first; k < last; k++ {
		if values[t.index[k]] < split {
			t.index[k], t.index[middle] = t.index[middle], t.index[k]
			middle++
		}
	}
	next := (column + 1) % x.D
	t.divide(x, first, middle, next)
	t.nodes[at].column, t.nodes[at].split, t.nodes[at].right = column, split, len(t.nodes)
	t.divide(x, middle, last, next)
}

// middle returns the next column in which some of the rows differ, and the middle of these. It is not ok if
// they are equal.
func (t *rowTree) middle(x *kernel.Points, first, last, column int) (next int, split float64, ok bool) {
	const most = 15
	sample := make([]float64, min(most, last-first))
	for range x.D {
		values := x.Column(column)
		for k := range sample {
			sample[k] = values[t.index[first+k*(last-first)/len(sample)]]
		}
		slices.Sort(sample)
		for _, v := range sample[len(sample)/2:] {
			if v > sample[0] { // so that both sides have rows
				return column, v, true
			}
		}
		column = (column + 1) % x.D
	}
	return 0, 0, false
}

// search is a search for the rows near a point.
type search struct {
	*rowTree
	point []float64
	// limit is the square of the distance.
	limit float64
	// offsets are the distances of the point from the cell of a node, by columns.
	offsets []float64
}

// near appends the rows that lie within a distance of a point to dst.
func (t *rowTree) near(dst []int, point []float64, distance float64) []int {
	s := &search{t, point, distance * distance, make([]float64, t.d)}
	return s.below(dst, 0, 0)
}

// below appends the rows of a node, whose cell has a square of the distance from the point. The sum over the
// columns follows Arya & Mount, Data Compression Conference (1993), 381.
func (s *search) below(dst []int, k int, square float64) []int {
	node := &s.nodes[k]
	if node.column < 0 {
		return s.nearIn(dst, node)
	}
	offset, near, far := s.point[node.column]-node.split, k+1, node.right
	if offset >= 0 {
		near, far = far, near
	}
	dst = s.below(dst, near, square)
	before := s.offsets[node.column]
	if square += offset*offset - before*before; square <= s.limit*(1+searchRounding) {
		s.offsets[node.column] = offset
		dst = s.below(dst, far, square)
		s.offsets[node.column] = before
	}
	return dst
}

// searchRounding is more than the relative rounding error of sums of squares and differences.
const searchRounding = 1e-9

// nearIn is near for the rows of a leaf.
func (s *search) nearIn(dst []int, node *treeNode) []int {
	for k := node.first; k < node.last; k++ {
		sum := 0.0
		for c, v := range s.values[k*s.d : (k+1)*s.d] {
			if sum += (v - s.point[c]) * (v - s.point[c]); sum > s.limit {
				break
			}
		}
		if sum <= s.limit {
			dst = append(dst, s.index[k])
		}
	}
	return dst
}

// alone marks the rows that have no other row within a distance. In the order of the leaves it finds most
// of them in the cache.
func (t *rowTree) alone(distance float64) []bool {
	out := make([]bool, len(t.index))
	s := &search{t, nil, distance * distance, make([]float64, t.d)}
	var found []int
	for k, i := range t.index {
		s.point = t.values[k*t.d : (k+1)*t.d]
		found = s.below(found[:0], 0, 0)
		out[i] = len(found) <= 1
	}
	return out
}

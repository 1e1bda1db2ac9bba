package problem

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
	t.divide(x, 0, x.N)
	t.values = make([]float64, x.N*x.D)
	for c := range x.D {
		column := x.Column(c)
		for k, i := range t.index {
			t.values[k*x.D+c] = column[i]
		}
	}
	return t
}

// divide adds the nodes of the rows from first to last in order.
func (t *rowTree) divide(x *kernel.Points, first, last int) {
	at := len(t.nodes)
	t.nodes = append(t.nodes, treeNode{first: first, last: last, column: -1})
	if last-first <= bucketRows {
		return
	}
	column, split, ok := t.widest(x, first, last)
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
	t.divide(x, first, middle)
	t.nodes[at].column, t.nodes[at].split, t.nodes[at].right = column, split, len(t.nodes)
	t.divide(x, middle, last)
}

// widest returns the column in which some of the rows spread the most, and their middle there. It is not
// ok if they are equal.
func (t *rowTree) widest(x *kernel.Points, first, last int) (column int, split float64, ok bool) {
	const most = 31
	width, count := 0.0, min(most, last-first)
	sample := make([]float64, count)
	for c := range x.D {
		values := x.Column(c)
		for k := range sample {
			sample[k] = values[t.index[first+k*(last-first)/count]]
		}
		slices.Sort(sample)
		middle := sample[count/2]
		if middle == sample[0] { // nothing is less: take the next larger one
			middle = sample[count-1]
			for _, v := range sample {
				if v > sample[0] {
					middle = v
					break
				}
			}
		}
		if w := sample[count-1] - sample[0]; w > width {
			column, split, width, ok = c, middle, w, true
		}
	}
	return column, split, ok
}

// near appends the rows that lie within a distance of a point to dst.
func (t *rowTree) near(dst []int, point []float64, distance float64) []int {
	for at := []int{0}; len(at) > 0; {
		k := at[len(at)-1]
		at = at[:len(at)-1]
		node := &t.nodes[k]
		if node.column < 0 {
			dst = t.nearIn(dst, node, point, distance)
			continue
		}
		if v := point[node.column]; v+distance >= node.split {
			at = append(at, node.right)
		}
		if point[node.column]-distance < node.split {
			at = append(at, k+1)
		}
	}
	return dst
}

// nearIn is near for the rows of a leaf.
func (t *rowTree) nearIn(dst []int, node *treeNode, point []float64, distance float64) []int {
	for k := node.first; k < node.last; k++ {
		sum := 0.0
		for c, v := range t.values[k*t.d : (k+1)*t.d] {
			if sum += (v - point[c]) * (v - point[c]); sum > distance*distance {
				break
			}
		}
		if sum <= distance*distance {
			dst = append(dst, t.index[k])
		}
	}
	return dst
}

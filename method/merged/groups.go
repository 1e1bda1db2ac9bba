package merged

import "gpfit/kernel"

// groups are the rows of a table by their inputs.
type groups struct {
	// rows are the rows of each group, ascending, and groups are in the order of their first rows.
	rows [][]int
	// of is the group of each row.
	of []int
}

// groupsOf returns the groups of equal points.
func groupsOf(x *kernel.Points) *groups {
	g := &groups{x.Places(), make([]int, x.N)}
	for k, rows := range g.rows {
		for _, i := range rows {
			g.of[i] = k
		}
	}
	return g
}

// n and u return the number of rows and of groups.
func (g *groups) n() int { return len(g.of) }
func (g *groups) u() int { return len(g.rows) }

// single reports whether no group has several rows.
func (g *groups) single() bool { return g.n() == g.u() }

// points returns one point of each group.
func (g *groups) points(x *kernel.Points) *kernel.Points {
	if g.single() {
		return x
	}
	first := make([]int, g.u())
	for k, rows := range g.rows {
		first[k] = rows[0]
	}
	return x.Pick(first)
}

// sums returns the sum of each column of b, of n rows, over each group: with the weights of points
// as b, the weights of the points of the groups.
func (g *groups) sums(b []float64) []float64 {
	n, u := g.n(), g.u()
	out := make([]float64, len(b)/max(n, 1)*u)
	for c := range len(b) / max(n, 1) {
		own := out[c*u : (c+1)*u]
		for i, v := range b[c*n : (c+1)*n] {
			own[g.of[i]] += v
		}
	}
	return out
}

// spread writes to the rows of every column of dst the number of their group.
func (g *groups) spread(dst, b []float64) {
	n, u := g.n(), g.u()
	for c := range len(b) / max(u, 1) {
		own := b[c*u : (c+1)*u]
		for i := range n {
			dst[c*n+i] = own[g.of[i]]
		}
	}
}

// folds returns the ends of folds of groups for the ends of folds of rows, and whether no fold divides
// a group. Groups are in the order of their first rows, so the groups of a fold follow each other.
func (g *groups) folds(ends []int) (own []int, whole bool) {
	k := 0
	for _, end := range ends {
		for ; k < g.u() && g.rows[k][0] < end; k++ {
			if rows := g.rows[k]; rows[len(rows)-1] >= end {
				return nil, false
			}
		}
		own = append(own, k)
	}
	return own, true
}

package layers

import (
	"math/bits"
	"slices"

	"gonum.org/v1/gonum/graph/simple"
	"gonum.org/v1/gonum/graph/topo"
)

// Arrangement is an order of files with few references upwards.
type Arrangement struct {
	// Floors lists the files from the top down. A file is below all files that
	// refer to it, except for the references in Up.
	Floors [][]string
	// Up are the references to a file of the same or a higher floor.
	Up []Reference
}

// mostFiles is the number of files up to which a ring of references is put in order, in
// 2^mostFiles steps.
const mostFiles = 20

// Arrange orders files so that as few references as possible go up. Files that refer to each
// other in a ring cannot all be in order. A ring of more than 20 files keeps the given order.
func Arrange(files []string, refs []Reference) Arrangement {
	index := map[string]int{}
	g := simple.NewDirectedGraph()
	for i, f := range files {
		index[f] = i
		g.AddNode(simple.Node(i))
	}
	uses := make([][]int, len(files))
	for _, r := range refs {
		from, to := index[r.From], index[r.To]
		uses[from] = append(uses[from], to)
		g.SetEdge(simple.Edge{F: simple.Node(from), T: simple.Node(to)})
	}
	var order []int
	rings := topo.TarjanSCC(g) // referenced files come first
	for _, nodes := range slices.Backward(rings) {
		ring := make([]int, len(nodes))
		for i, n := range nodes {
			ring[i] = int(n.ID())
		}
		slices.Sort(ring)
		order = append(order, orderRing(ring, uses)...)
	}
	return arrangement(files, refs, index, order)
}

// orderRing orders the files of a ring of references from the top down.
func orderRing(ring []int, uses [][]int) []int {
	if len(ring) > mostFiles {
		return ring
	}
	local := make([]uint64, len(ring)) // bit j of local[i]: i uses j
	for i, v := range ring {
		for j, w := range ring {
			if slices.Contains(uses[v], w) {
				local[i] |= 1 << j
			}
		}
	}
	out := make([]int, len(ring))
	for at, i := range bestOrder(local) {
		out[at] = ring[i]
	}
	return out
}

// bestOrder finds the optimal order by dynamic programming: the minimal number of
// upward references in a set of files, placed on top of all others, follows from
// the minima of the set without its lowest file.
func bestOrder(uses []uint64) []int {
	n := len(uses)
	least := make([]int16, 1<<n)
	lowest := make([]int8, 1<<n)
	for set := 1; set < 1<<n; set++ {
		least[set] = -1
		for rest := uint64(set); rest != 0; rest &= rest - 1 {
			last := bits.TrailingZeros64(rest)
			above := set &^ (1 << last)
			up := least[above] + int16(bits.OnesCount64(uses[last]&uint64(above)))
			if least[set] < 0 || up < least[set] {
				least[set], lowest[set] = up, int8(last)
			}
		}
	}
	order := make([]int, n)
	for set, at := 1<<n-1, n-1; at >= 0; at-- {
		order[at] = int(lowest[set])
		set &^= 1 << lowest[set]
	}
	return order
}

// arrangement builds floors from an order: a file is one floor below the lowest
// file above it that refers to it.
func arrangement(files []string, refs []Reference, index map[string]int, order []int) Arrangement {
	place := make([]int, len(files))
	for at, i := range order {
		place[i] = at
	}
	floor := make([]int, len(files))
	var a Arrangement
	for _, i := range order {
		for _, r := range refs {
			if from := index[r.From]; r.To == files[i] && place[from] < place[i] {
				floor[i] = max(floor[i], floor[from]+1)
			}
		}
		for len(a.Floors) <= floor[i] {
			a.Floors = append(a.Floors, nil)
		}
		a.Floors[floor[i]] = append(a.Floors[floor[i]], files[i])
	}
	for _, r := range refs {
		if place[index[r.From]] > place[index[r.To]] {
			a.Up = append(a.Up, r)
		}
	}
	for _, f := range a.Floors {
		slices.Sort(f)
	}
	return a
}

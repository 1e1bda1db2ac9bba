package hyperopt

import (
	"math/rand/v2"
	"slices"
)

// order is the rows of a table in random order, those of a group next to each other.
type order struct {
	rows []int
	// ends are the numbers of rows after each group.
	ends []int
}

// Streams of random numbers: the stages, and the half of start 0.
const (
	coarseStream = 0x636f61727365
	halfStream   = 0x68616c66 << 16
)

// order returns the random order of a stream.
func (t *tuner) order(stream uint64) order {
	rng := rand.New(rand.NewPCG(t.Seed, stream))
	if t.groups == nil {
		return order{rows: rng.Perm(t.rows)}
	}
	var o order
	for _, g := range rng.Perm(len(t.groups)) {
		o.rows = append(o.rows, t.groups[g]...)
		o.ends = append(o.ends, len(o.rows))
	}
	return o
}

// first returns the first m rows, ascending, and the others of the last one's group.
// Larger subsets contain smaller ones.
func (o order) first(m int) []int {
	if i, _ := slices.BinarySearch(o.ends, m); i < len(o.ends) {
		m = o.ends[i]
	}
	return slices.Sorted(slices.Values(o.rows[:m]))
}

// grouped lists the rows of each group; nil if every row is on its own.
func grouped(labels []int) [][]int {
	if labels == nil {
		return nil
	}
	out := make([][]int, slices.Max(labels)+1)
	for row, g := range labels {
		out[g] = append(out[g], row)
	}
	return out
}

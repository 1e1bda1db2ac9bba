package spread

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"gpfit/internal/matrixrows"
	"gpfit/kernel"
)

// Rows at the same place tell noise from signal. A random half of the rows parts most of them and
// then no longer shows how much noise there is; so they stay together in every subset.

// twinShare is the largest distance of two near-repeated rows, in units of the distance that
// neighbours of as many evenly spread points would have. At a tenth, a tenth of evenly spread
// points on a line have such a neighbour by chance, and hardly any in more dimensions.
const twinShare = 0.1

// largestGroup is the largest group as a share of the rows. If a table has only few
// places, its subsets need some rows of each.
const largestGroup = 0.05

// treeRounding is more than the relative rounding error of a distance.
const treeRounding = 1e-9

// Groups returns the number of the group of each row, from 0: rows that lie within a small distance of the
// first row of their group. It is nil if every row is on its own.
func Groups(x *kernel.Points) []int {
	radius := twinShare * MedianDistance(x, kernel.Columns(x.D)) * math.Pow(float64(x.N), -1/float64(x.D))
	along, columns := projected(x), kernel.Columns(x.D)
	order, place := matrixrows.All(x.N), make([]int, x.N)
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(along[a], along[b]) })
	for a, i := range order {
		place[i] = a
	}
	group, most := slices.Repeat([]int{-1}, x.N), max(2, int(largestGroup*float64(x.N)))
	tree, point, near := newRowTree(x), make([]float64, x.D), []int(nil)
	reach := radius * (1 + treeRounding)
	alone, groups := tree.alone(reach), 0
	for a, i := range order {
		if group[i] >= 0 {
			continue
		}
		group[i] = groups
		groups++
		if alone[i] {
			continue
		}
		for c := range point {
			point[c] = x.Column(c)[i]
		}
		near = tree.near(near[:0], point, reach)
		slices.SortFunc(near, func(a, b int) int { return cmp.Compare(place[a], place[b]) })
		size := 1
		for _, j := range near {
			if size == most {
				break
			}
			if place[j] > a && group[j] < 0 && math.Sqrt(squaredDistance(x, columns, i, j)) <= radius {
				group[j] = group[i]
				size++
			}
		}
	}
	if groups == x.N {
		return nil
	}
	return group
}

// projected returns the points along a random direction of length 1: two points are at
// least as far from each other as their projections.
func projected(x *kernel.Points) []float64 {
	rng := rand.New(rand.NewPCG(3, 4))
	along, norm := make([]float64, x.N), 0.0
	for c := range x.D {
		w := rng.NormFloat64()
		norm += w * w
		for i, v := range x.Column(c) {
			along[i] += w * v
		}
	}
	for i := range along {
		along[i] /= math.Sqrt(norm)
	}
	return along
}

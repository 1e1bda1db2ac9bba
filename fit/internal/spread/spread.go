// Package spread says how the rows of a table lie: their distances and ranges, and which of them are near
// one another.
package spread

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"

	"gpfit/kernel"
)

// SmallestRange returns the smallest nonzero range of the columns, or 1 if there is none.
func SmallestRange(x *kernel.Points, dims []int) float64 {
	best := math.Inf(1)
	for _, c := range dims {
		if size := floats.Max(x.Column(c)) - floats.Min(x.Column(c)); size > 0 {
			best = min(best, size)
		}
	}
	if math.IsInf(best, 0) {
		return 1
	}
	return best
}

// RootMeanNorm returns the root of the mean of Σ_c x_c² over all points.
func RootMeanNorm(x *kernel.Points, dims []int) float64 {
	sum := 0.0
	for _, c := range dims {
		for _, v := range x.Column(c) {
			sum += v * v
		}
	}
	if !(sum > 0) {
		return 1
	}
	return math.Sqrt(sum / float64(x.N))
}

// NearestDistance returns the median, over at most 500 rows, of the distance to the
// nearest other point over the given columns. It ignores points at distance zero.
func NearestDistance(x *kernel.Points, dims []int) float64 {
	const rows = 500
	var squares []float64
	count, all := min(x.N, rows), make([]float64, x.N)
	for k := range count {
		i, best := k*x.N/count, math.Inf(1)
		clear(all)
		for _, c := range dims {
			col := x.Column(c)
			own := col[i]
			for j, v := range col {
				all[j] += (own - v) * (own - v)
			}
		}
		for _, sum := range all {
			if sum > 0 && sum < best {
				best = sum
			}
		}
		if !math.IsInf(best, 1) {
			squares = append(squares, best)
		}
	}
	return rootOfMedian(squares)
}

// MedianDistance returns the median Euclidean distance of pairs of points over the given columns,
// from at most 4,000 pairs drawn with a fixed seed. It ignores pairs at distance zero.
func MedianDistance(x *kernel.Points, dims []int) float64 {
	const pairs = 4000
	rng := rand.New(rand.NewPCG(1, 1))
	squares := make([]float64, 0, pairs)
	for range pairs {
		if square := squaredDistance(x, dims, rng.IntN(x.N), rng.IntN(x.N)); square > 0 {
			squares = append(squares, square)
		}
	}
	return rootOfMedian(squares)
}

// PartOf returns the share of a distance over the columns of a lengthscale that it is compared with: a column's if each
// has distances of its own.
func PartOf(p kernel.Param) float64 {
	if !p.Apart {
		return 1
	}
	return 1 / math.Sqrt(float64(len(p.Dims)))
}

// squaredDistance returns the squared Euclidean distance of two points over columns.
func squaredDistance(x *kernel.Points, dims []int, i, j int) float64 {
	sum := 0.0
	for _, c := range dims {
		column := x.Column(c)
		sum += (column[i] - column[j]) * (column[i] - column[j])
	}
	return sum
}

// rootOfMedian returns the root of the median, 1 for no values. It sorts them.
func rootOfMedian(values []float64) float64 {
	if len(values) == 0 {
		return 1
	}
	slices.Sort(values)
	return math.Sqrt(values[len(values)/2])
}

package spread

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gpfit/kernel"
)

// TestRowTree compares the rows near a point with the rows that a search through all rows finds. Many columns
// have equal values, and many rows are equal.
func TestRowTree(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 29))
	for range 60 {
		n, d := 1+rng.IntN(300), 1+rng.IntN(6)
		x := &kernel.Points{N: n, D: d, X: make([]float64, n*d)}
		for i := range x.X {
			x.X[i] = rng.NormFloat64()
			if rng.IntN(2) == 0 {
				x.X[i] = float64(rng.IntN(3))
			}
		}
		for c := range d { // some rows are equal
			for i := range n / 3 {
				x.X[c*n+i] = x.X[c*n]
			}
		}
		tree := newRowTree(x)
		for range 20 {
			i, radius := rng.IntN(n), math.Exp(rng.NormFloat64())
			if rng.IntN(3) == 0 {
				radius = 0
			}
			point, want := make([]float64, d), []int(nil)
			for c := range point {
				point[c] = x.Column(c)[i]
			}
			for j := range n {
				if squaredDistance(x, kernel.Columns(d), i, j) <= radius*radius {
					want = append(want, j)
				}
			}
			got := tree.near(nil, point, radius)
			slices.Sort(got)
			if alone := tree.alone(radius)[i]; alone != (len(want) == 1) {
				t.Fatalf("n = %d, d = %d: row %d is alone: %v, with %d rows at most %v away", n, d, i, alone, len(want), radius)
			}
			if !slices.Equal(got, want) {
				t.Fatalf("n = %d, d = %d: rows near row %d at most %v away are %v, want %v", n, d, i, radius, got, want)
			}
		}
	}
}

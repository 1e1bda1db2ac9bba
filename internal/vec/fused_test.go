package vec

import (
	"fmt"
	"math"
	"testing"
)

// TestExpDistances compares the fused routines with the bits of the routines that they replace.
func TestExpDistances(t *testing.T) {
	lengths(t, func(d data, n int) {
		for _, dims := range []int{0, 1, 2, 3, 7, 8, 26}[:2+n%6] {
			x, w, y, stride, index := d.points(n, dims)
			by := d.normal(n)
			for _, weights := range [][]float64{nil, w} {
				want, dst := make([]float64, n), d.output(n)
				SquaredDistances(want, x, weights, y, stride, index)
				ExpScaled(want, want, -0.3, 1.7)
				ExpDistances(dst, x, weights, y, stride, index, -0.3, 1.7)
				same := func(what string) {
					t.Helper()
					d.near(fmt.Sprintf("%s, %d columns", what, dims), dst, func(j int) float64 { return want[j] }, func(int) float64 { return 0 })
				}
				same("ExpDistances")
				SquaredDistances(want, x, weights, y, stride, index)
				ExpScaled(want, want, -0.3, 1)
				sum := Dot(by, want)
				Mul(want, want, by)
				got := ExpDistancesTimes(dst, by, x, weights, y, stride, index, -0.3)
				same("ExpDistancesTimes")
				if got != sum {
					d.t.Fatalf("ExpDistancesTimes, length %d, %d columns: sum %v, want %v", n, dims, got, sum)
				}
			}
		}
	})
}

// TestExpDistancesOfBadPoints checks that NaN and Inf propagate, and only within their elements.
func TestExpDistancesOfBadPoints(t *testing.T) {
	forVariants(t, func(t *testing.T) {
		for n := 1; n < 40; n++ {
			for bad := range n {
				y, by := make([]float64, n), make([]float64, n)
				for j := range by {
					by[j] = 1
				}
				dst := make([]float64, n)
				y[bad] = math.NaN()
				if sum := ExpDistancesTimes(dst, by, []float64{0}, nil, y, n, []int{0}, -1); sum == sum {
					t.Fatalf("a sum of %d with NaN at %d is %v", n, bad, sum)
				}
				for j, v := range dst {
					if (j == bad) != math.IsNaN(v) {
						t.Fatalf("NaN at %d of %d: element %d is %v", bad, n, j, v)
					}
				}
				y[bad] = math.Inf(1)
				if ExpDistances(dst, []float64{0}, nil, y, n, []int{0}, -1, 2); dst[bad] != 0 {
					t.Fatalf("Inf at %d of %d: %v", bad, n, dst[bad])
				}
			}
		}
	})
}

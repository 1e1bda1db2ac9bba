package vec

import (
	"fmt"
	"math"
	"math/big"
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

// TestWaves compares turned waves and their sums with sums in higher precision and with
// the Go functions.
func TestWaves(t *testing.T) {
	lengths(t, func(d data, n int) {
		cos, sin, turnCos, turnSin, y := d.normal(Waves*n), d.normal(Waves*n), d.normal(n), d.normal(n), d.normal(n)
		cosGo, sinGo := append([]float64(nil), cos...), append([]float64(nil), sin...)
		turnWavesGo(cosGo, sinGo, turnCos, turnSin)
		before := append([]float64(nil), cos...)
		size := func(j int) float64 {
			return 3 * eps * (math.Abs(before[j]) + math.Abs(sin[j]) + 1) * (math.Abs(turnCos[j/Waves]) + math.Abs(turnSin[j/Waves]) + 1)
		}
		TurnWaves(cos, sin, turnCos, turnSin)
		d.near("TurnWaves, cosines", cos, func(j int) float64 { return cosGo[j] }, size)
		d.near("TurnWaves, sines", sin, func(j int) float64 { return sinGo[j] }, size)
		var sums, again [5][Waves]float64
		WaveSums(&sums, cos, sin, y)
		waveSumsGo(&again, cos, sin, y)
		for k := range Waves {
			var want [5]big.Float
			var scale [5]float64
			for i, v := range y {
				c, s := cos[Waves*i+k], sin[Waves*i+k]
				for j, pair := range [5][2]float64{{c, v}, {s, v}, {c, c}, {s, s}, {c, s}} {
					term := new(big.Float).Mul(big.NewFloat(pair[0]).SetPrec(120), big.NewFloat(pair[1]))
					want[j].SetPrec(120).Add(&want[j], term)
					scale[j] += math.Abs(pair[0] * pair[1])
				}
			}
			for j := range sums {
				exact, _ := want[j].Float64()
				tol := float64(n+2) * eps * scale[j]
				if math.Abs(sums[j][k]-exact) > tol || math.Abs(again[j][k]-exact) > tol {
					d.t.Fatalf("length %d: sum %d of wave %d is %v and %v, want %v", n, j, k, sums[j][k], again[j][k], exact)
				}
			}
		}
	})
}

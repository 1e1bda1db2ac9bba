package vec

import (
	"math"
	"math/big"
	"testing"
)

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

package main

import (
	"math"
	"math/rand/v2"
)

// These tables were made later, to measure choices; tides then served for one, too.

// friedman is Friedman's first function (Annals of Statistics 19, 1991) with five columns
// that have no effect.
func friedman(rng *rand.Rand, n int) (x [][]float64, y []float64) {
	for range n {
		at := make([]float64, 10)
		for c := range at {
			at[c] = rng.Float64()
		}
		y = append(y, 10*math.Sin(math.Pi*at[0]*at[1])+20*(at[2]-0.5)*(at[2]-0.5)+10*at[3]+5*at[4]+rng.NormFloat64())
		x = append(x, at)
	}
	return x, y
}

// clusters has points in groups, with a fine structure within and a coarse one between.
func clusters(rng *rand.Rand, n int) (x [][]float64, y []float64) {
	var center []float64
	for i := range n {
		if i%15 == 0 {
			center = []float64{10 * rng.Float64(), 10 * rng.Float64()}
		}
		at := []float64{center[0] + 0.2*rng.NormFloat64(), center[1] + 0.2*rng.NormFloat64()}
		y = append(y, math.Sin(0.7*at[0])+math.Cos(0.5*at[1])+0.3*math.Sin(9*(at[0]-at[1]))+0.05*rng.NormFloat64())
		x = append(x, at)
	}
	return x, y
}

// chirp is a wave whose frequency rises.
func chirp(rng *rand.Rand, n int) (x [][]float64, y []float64) {
	for range n {
		at := rng.Float64()
		y = append(y, math.Sin(40*at*at*at)+0.1*rng.NormFloat64())
		x = append(x, []float64{at})
	}
	return x, y
}

// levels has columns with few values, so that many rows repeat, and one that is rarely
// other than zero.
func levels(rng *rand.Rand, n int) (x [][]float64, y []float64) {
	for range n {
		at := []float64{float64(rng.IntN(4)), float64(rng.IntN(3)), float64(rng.IntN(5)), 0}
		if rng.IntN(12) == 0 {
			at[3] = 1
		}
		y = append(y, at[0]*at[1]+2*at[3]+math.Sin(2*at[2])+0.15*rng.NormFloat64())
		x = append(x, at)
	}
	return x, y
}

// correlated has eight columns that are mixtures of three.
func correlated(rng *rand.Rand, n int) (x [][]float64, y []float64) {
	var mix [8][3]float64
	for c := range mix {
		for k := range mix[c] {
			mix[c][k] = rng.NormFloat64()
		}
	}
	for range n {
		f := [3]float64{rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()}
		at := make([]float64, len(mix))
		for c := range at {
			at[c] = mix[c][0]*f[0] + mix[c][1]*f[1] + mix[c][2]*f[2] + 0.1*rng.NormFloat64()
		}
		y = append(y, math.Tanh(f[0])+f[1]*f[2]+0.5*f[1]+0.2*rng.NormFloat64())
		x = append(x, at)
	}
	return x, y
}

// tides has two periods that are close to each other, and a trend.
func tides(rng *rand.Rand, n int) (x [][]float64, y []float64) {
	for i := range n {
		at := 30 * (float64(i) + rng.Float64()) / float64(n)
		y = append(y, math.Sin(2*math.Pi*at/1.03)+0.6*math.Sin(2*math.Pi*at/2.4)+0.002*at*at+0.15*rng.NormFloat64())
		x = append(x, []float64{at})
	}
	return x, y
}

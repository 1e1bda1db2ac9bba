// Package psis judges importance sampling by the tail of its ratios: the shape k̂ of the generalized
// Pareto distribution that fits them says how many of their moments exist (Vehtari, Simpson,
// Gelman, Yao & Gabry, Pareto smoothed importance sampling, JMLR 25 (2024), 72).
package psis

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// MostK is the largest k̂ with which averages over a practical number of draws can be trusted
// (section 3.3 of the paper).
const MostK = 0.7

// leastTail is the least number of ratios that determine a tail.
const leastTail = 5

// equal is the range of logarithms of ratios below which they differ only by rounding.
const equal = 1e-6

// K returns k̂ of importance ratios, given their logarithms, −Inf for a ratio of 0. The tail is the
// largest fifth, or 3√n of n if that is less. K is 0 if the tail is one value, and NaN if all ratios
// are 0 or fewer than 5 make the tail.
func K(logRatios []float64) float64 {
	sorted := slices.Sorted(slices.Values(logRatios))
	n := len(sorted)
	tail := int(math.Ceil(min(float64(n)/5, 3*math.Sqrt(float64(n)))))
	if tail < leastTail || math.IsInf(sorted[n-1], -1) {
		return math.NaN()
	}
	largest, cut := sorted[n-1], sorted[n-1-tail]
	if largest-cut < equal {
		return 0
	}
	var above []float64
	for _, v := range sorted[n-tail:] {
		if d := math.Exp(v-largest) - math.Exp(cut-largest); d > 0 {
			above = append(above, d)
		}
	}
	if len(above) < leastTail {
		return math.NaN()
	}
	return Shape(above)
}

// The prior of a shape, which matters for short tails: weight draws of the value mean (appendix C of
// the paper).
const priorWeight, priorMean = 10, 0.5

// Shape returns the shape k of a generalized Pareto distribution with the density
// (1 + kx/σ)^(−1/k − 1)/σ, by the empirical Bayes estimate of Zhang & Stephens (A new and efficient
// estimation method for the generalized Pareto distribution, Technometrics 51 (2009), 316–325, whose
// k has the other sign), and a weak prior. The excesses are positive and ascend.
func Shape(excesses []float64) float64 {
	n := len(excesses)
	quarter, largest := excesses[int(float64(n)/4+0.5)-1], excesses[n-1]
	at := func(b float64) float64 { // the shape of greatest likelihood for b = −k/σ
		sum := 0.0
		for _, x := range excesses {
			sum += math.Log1p(-b * x)
		}
		return sum / float64(n)
	}
	grid := 30 + int(math.Sqrt(float64(n)))
	b, logs := make([]float64, grid), make([]float64, grid)
	for j := range grid {
		b[j] = 1/largest + (1-math.Sqrt(float64(grid)/(float64(j)+0.5)))/(3*quarter)
		k := at(b[j])
		logs[j] = float64(n) * (math.Log(-b[j]/k) - k - 1)
	}
	mean, total := 0.0, floats.LogSumExp(logs)
	for j, l := range logs {
		mean += b[j] * math.Exp(l-total)
	}
	return (float64(n)*at(mean) + priorWeight*priorMean) / (float64(n) + priorWeight)
}

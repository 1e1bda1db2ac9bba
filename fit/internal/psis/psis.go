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
	_, k := Smoothed(logRatios)
	return k
}

// Smoothed returns weights that sum to 1 for importance ratios, as [K] takes them, and k̂. The ratios of the tail are
// replaced, in their order, by quantiles of the distribution that fits them, up to the largest ratio (the paper's
// section 2.2). Without a tail they stay.
func Smoothed(logRatios []float64) (weights []float64, k float64) {
	n := len(logRatios)
	order := make([]int, n)
	sorted := slices.Clone(logRatios)
	floats.ArgsortStable(sorted, order)
	tail := int(math.Ceil(min(float64(n)/5, 3*math.Sqrt(float64(n)))))
	if tail < leastTail || math.IsInf(sorted[n-1], -1) {
		return nil, math.NaN()
	}
	largest, cut := sorted[n-1], sorted[n-1-tail]
	weights = make([]float64, n)
	for i, v := range logRatios {
		weights[i] = math.Exp(v - largest)
	}
	if largest-cut >= equal {
		k = smoothTail(weights, order[n-tail:], math.Exp(cut-largest))
	}
	floats.Scale(1/floats.Sum(weights), weights)
	return weights, k
}

// smoothTail replaces the weights at positions tail, which ascend, where they exceed cut. It returns k̂, NaN if too few do.
func smoothTail(weights []float64, tail []int, cut float64) float64 {
	var above []float64
	var at []int
	for _, i := range tail {
		if d := weights[i] - cut; d > 0 {
			above, at = append(above, d), append(at, i)
		}
	}
	if len(above) < leastTail {
		return math.NaN()
	}
	k, scale := fit(above)
	for j, i := range at {
		p := (float64(j) + 0.5) / float64(len(at))
		quantile := -scale * math.Log1p(-p)
		if k != 0 {
			quantile = scale * math.Expm1(-k*math.Log1p(-p)) / k
		}
		weights[i] = min(cut+quantile, 1)
	}
	return k
}

// The prior of a shape, which matters for short tails: weight draws of the value mean (appendix C of
// the paper).
const priorWeight, priorMean = 10, 0.5

// fit returns the shape k and the scale σ of a generalized Pareto distribution with the density
// (1 + kx/σ)^(−1/k − 1)/σ, by the empirical Bayes estimate of Zhang & Stephens (A new and efficient
// estimation method for the generalized Pareto distribution, Technometrics 51 (2009), 316–325, whose
// k has the other sign), and a weak prior. The excesses are positive and ascend.
func fit(excesses []float64) (k, scale float64) {
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
	k = at(mean)
	return (float64(n)*k + priorWeight*priorMean) / (float64(n) + priorWeight), -k / mean
}

package markov

import (
	"math"

	"gpfit/kernel/vec"
)

// This file has what depends on a gap for the Matérn kernels of at most three states, in closed form.

// maxOrder is the largest order of the kernel matern.
const maxOrder = 10

// longest is the time after which e^−τ counts as 0, before τᵏ·e^−τ becomes ∞·0.
const longest = 745

// seriesEnd is the time from which the covariance of the noise is Π − AΠAᵀ. Before, it is an integral
// of powers, whose sum cancels for long times, as the difference does for short ones.
const seriesEnd = 3

// lastIntegral computes I_2p = ∫₀^τ u^2p·e^−2u du for a kernel matern of order p + ½, p ≤ 2.
type lastIntegral struct {
	// Before end it is e^−2τ·τ^(2p+1) times the series of the incomplete gamma function, in which all terms are
	// positive. From there on it is long(τ, e^−2τ), by parts.
	end    float64
	series []float64
	long   func(tau, e float64) float64
}

// lastIntegrals holds the integrals by p.
var lastIntegrals = [...]lastIntegral{
	{1, gammaSeries(0, 1), func(_, e float64) float64 { return (1 - e) / 2 }},
	{1, gammaSeries(2, 1), func(tau, e float64) float64 { return (1 - e*(1+2*tau*(1+tau))) / 4 }},
	{seriesEnd, gammaSeries(4, seriesEnd), func(tau, e float64) float64 {
		return 0.75 - e*(0.75+tau*(1.5+tau*(1.5+tau*(1+tau/2))))
	}},
}

// gammaSeries returns the coefficients 2ʲ/((k+1)…(k+1+j)) of τʲ, as many as count before end.
func gammaSeries(k int, end float64) (out []float64) {
	term, size, sum := 1/float64(k+1), 1.0, 0.0
	for j := k + 2; term*size > 0x1p-56*sum; j++ {
		out, sum = append(out, term), sum+term*size
		term, size = term*2/float64(j), size*end
	}
	return out
}

// of returns the integral for a sum of the series.
func (l *lastIntegral) of(p int, tau, e, sum float64) float64 {
	if !(tau < l.end) {
		return l.long(tau, e)
	}
	square := tau * tau
	sum *= e * tau
	for range p {
		sum *= square
	}
	return sum
}

// at returns the integral for e^−τ, which is 0 for an infinite time.
func (l *lastIntegral) at(p int, tau, decay float64) float64 {
	if decay == 0 {
		return l.long(0, 0)
	}
	sum := 0.0
	if tau < l.end {
		for j := l.terms(tau) - 1; j >= 0; j-- {
			sum = sum*tau + l.series[j]
		}
	}
	return l.of(p, tau, decay*decay, sum)
}

// terms returns how many terms of the series count: the terms after k are below (2τ)ᵏ/k! of the first.
func (l *lastIntegral) terms(tau float64) int {
	switch {
	case tau < 0.01:
		return min(10, len(l.series))
	case tau < 0.2:
		return min(16, len(l.series))
	}
	return len(l.series)
}

// decayOf returns e^−τ, 0 for a time after longest.
func decayOf(tau float64) float64 {
	if !(tau <= longest) {
		return 0
	}
	return math.Exp(-tau)
}

// wait writes e^−τ and the integral of the gaps before the rows first … last−1, for a kernel matern of order p + ½.
func (f *filter) wait(p, first, last int) {
	l, rate := &lastIntegrals[p], f.rate()
	var buffer [256]float64
	for i := max(1, first); i < last; i += len(buffer) {
		end := min(i+len(buffer), last)
		times, decay, integral := buffer[:end-i], f.decay[i:end], f.integral[i:end]
		for k := range times {
			times[k] = f.gap(i+k) * rate
		}
		vec.ExpScaled(decay, times, -1, 1)
		vec.Polynomial(integral, times, l.series)
		for k, tau := range times {
			if !(tau <= longest) {
				decay[k], integral[k] = 0, l.long(0, 0)
				continue
			}
			integral[k] = l.of(p, tau, decay[k]*decay[k], integral[k])
		}
	}
}

// noises are the elements of Q for a gap, for unit variance.
type noises struct{ q00, q01, q02, q11, q12, q22 float64 }

// noises1 returns Q = 1 − e^−2τ of matern12.
func noises1(integral float64) float64 { return 2 * integral }

// noises2 returns Q of matern32, whose Π is the unit matrix: with I = ∫₀^τ u²e^−2u du it is
// 4(I, ½τ²e^−2τ; ·, τe^−2τ + I).
func noises2(tau, decay, integral float64) noises {
	if decay == 0 {
		return noises{q00: 1, q11: 1}
	}
	e := decay * decay
	return noises{q00: 4 * integral, q01: 2 * tau * tau * e, q11: 4 * (tau*e + integral)}
}

// turn2 returns A, e^−τ(1+τ, τ; −τ, 1−τ).
func turn2(tau, e float64) (a00, a01, a11 float64) {
	if e == 0 {
		return 0, 0, 0
	}
	return e + e*tau, e * tau, e - e*tau
}

// noises3 returns Q = 16/3·∫φφᵀ of matern52, φ(u) = e^−u(½u², u − ½u², 1 − 2u + ½u²), from the integrals I_k of
// powers, of which the last one is given: I_(k−1) = (2I_k + τᵏe^−2τ)/k. Elements of φ that are each other's derivatives
// have simpler ones.
func noises3(tau, decay, i4 float64) noises {
	if decay == 0 {
		return noises{q00: 1, q02: -1.0 / 3, q11: 1.0 / 3, q22: 1}
	}
	const q = 16.0 / 3
	e, t2 := decay*decay, tau*tau
	i3 := (2*i4 + e*t2*t2) / 4
	i2 := (2*i3 + e*t2*tau) / 3
	i1 := (2*i2 + e*t2) / 2
	i0 := 2*i1 + e*tau
	f0, f1 := decay*t2/2, decay*(tau-t2/2)
	n := noises{q00: q * i4 / 4, q01: q * f0 * f0 / 2, q11: q * (i2 - i3 + i4/4), q12: q * f1 * f1 / 2, q22: q * (i0 - 4*i1 + 5*i2 - 2*i3 + i4/4)}
	n.q02 = q*f0*f1 - n.q11
	return n
}

// turn3 returns A of matern52.
func turn3(tau, e float64) (a [9]float64) {
	if e == 0 {
		return a
	}
	half := tau * tau / 2
	return [9]float64{
		e * (1 + tau + half), e * (tau + 2*half), e * half,
		-e * half, e * (1 + tau - 2*half), e * (tau - half),
		e * (half - tau), e * (2*half - 3*tau), e * (1 - 2*tau + half),
	}
}

// powerIntegrals writes I_k = ∫₀^τ uᵏ·e^(−2u) du for every k: the last by the series of the incomplete
// gamma function, the others by I_(k−1) = (2I_k + τᵏe^(−2τ))/k. All terms are positive.
func powerIntegrals(out []float64, tau float64) {
	last := len(out) - 1
	decay := math.Exp(-2 * tau)
	out[last] = powerIntegral(last, tau, decay)
	var powers [2*maxOrder + 1]float64
	powers[0] = decay
	for k := range last {
		powers[k+1] = powers[k] * tau
	}
	for k := last; k > 0; k-- {
		out[k-1] = (2*out[k] + powers[k]) / float64(k)
	}
}

// powerIntegral returns I_k = e^(−2τ)·τ^(k+1)·Σ_j (2τ)ʲ/((k+1)…(k+1+j)).
func powerIntegral(k int, tau, decay float64) float64 {
	if tau == 0 {
		return 0
	}
	term := 1 / float64(k+1)
	sum := term
	for j := k + 2; term > 0x1p-56*sum; j++ {
		term *= 2 * tau / float64(j)
		sum += term
	}
	for range k + 1 {
		sum *= tau
	}
	return decay * sum
}

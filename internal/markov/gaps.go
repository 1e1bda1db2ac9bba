package markov

import "math"

// This file has what depends on a gap for the Matérn kernels of at most three states, in closed form.

// cacheBits is the logarithm of the number of gaps whose results are kept. Regular times have few gaps,
// which differ by rounding.
const cacheBits = 7

// maxOrder is the largest order of the kernel matern.
const maxOrder = 10

// longest is the time after which e^−τ counts as 0, before τᵏ·e^−τ becomes ∞·0.
const longest = 745

// seriesEnd is the time from which the covariance of the noise is Π − AΠAᵀ. Before, it is an integral
// of powers, whose sum cancels for long times, as the difference does for short ones.
const seriesEnd = 3

// noises are the elements of Q for a gap, for unit variance, by its bits. Regular times have few gaps.
type noises struct {
	bits   uint64
	filled bool
	// decay is e^−τ.
	decay                        float64
	q00, q01, q02, q11, q12, q22 float64
}

// gapCache keeps noises of gaps.
type gapCache [1 << cacheBits]noises

// of returns the noises of a gap for λ. fill computes them from τ.
func (c *gapCache) of(gap, rate float64, fill func(n *noises, tau float64)) *noises {
	bits := math.Float64bits(gap)
	n := &c[bits*0x9E3779B97F4A7C15>>(64-cacheBits)]
	if !n.filled || n.bits != bits {
		n.bits, n.filled = bits, true
		fill(n, gap*rate)
	}
	return n
}

// noises1 computes e^−τ and Q = 1 − e^−2τ of matern12.
func noises1(n *noises, tau float64) {
	n.decay, n.q00 = math.Exp(-tau), -math.Expm1(-2*tau)
}

// noises2 computes e^−τ and Q of matern32, whose Π is the unit matrix: with I = ∫₀^τ u²e^−2u du it is
// 4(I, ½τ²e^−2τ; ·, τe^−2τ + I).
func noises2(n *noises, tau float64) {
	if !(tau <= longest) {
		*n = noises{bits: n.bits, filled: true, q00: 1, q11: 1}
		return
	}
	n.decay = math.Exp(-tau)
	e := n.decay * n.decay
	integral := 0.0
	if tau < 1 {
		integral = powerIntegral(2, tau, e)
	} else {
		integral = (1 - e*(1+2*tau*(1+tau))) / 4
	}
	n.q00, n.q01, n.q11 = 4*integral, 2*tau*tau*e, 4*(tau*e+integral)
}

// turn2 returns A, e^−τ(1+τ, τ; −τ, 1−τ).
func turn2(tau, e float64) (a00, a01, a11 float64) {
	if e == 0 {
		return 0, 0, 0
	}
	return e + e*tau, e * tau, e - e*tau
}

// noises3 computes e^−τ and Q = 16/3·∫φφᵀ of matern52, φ(u) = e^−u(½u², u − ½u², 1 − 2u + ½u²), from
// the integrals of powers. Elements of φ that are each other's derivatives have simpler ones.
func noises3(n *noises, tau float64) {
	if !(tau <= longest) {
		*n = noises{bits: n.bits, filled: true, q00: 1, q02: -1.0 / 3, q11: 1.0 / 3, q22: 1}
		return
	}
	n.decay = math.Exp(-tau)
	const q = 16.0 / 3
	i0, i1, i2, i3, i4 := integrals3(tau, n.decay*n.decay)
	f0, f1 := n.decay*tau*tau/2, n.decay*(tau-tau*tau/2)
	n.q00, n.q11, n.q22 = q*i4/4, q*(i2-i3+i4/4), q*(i0-4*i1+5*i2-2*i3+i4/4)
	n.q01, n.q12 = q*f0*f0/2, q*f1*f1/2
	n.q02 = q*f0*f1 - n.q11
}

// integrals3 returns I₀, …, I₄ as powerIntegrals does, and I₄ of long times by parts.
func integrals3(tau, e float64) (i0, i1, i2, i3, i4 float64) {
	t2 := tau * tau
	if tau < seriesEnd {
		i4 = powerIntegral(4, tau, e)
	} else {
		i4 = 0.75 - e*(0.75+tau*(1.5+tau*(1.5+tau*(1+tau/2))))
	}
	i3 = (2*i4 + e*t2*t2) / 4
	i2 = (2*i3 + e*t2*tau) / 3
	i1 = (2*i2 + e*t2) / 2
	return 2*i1 + e*tau, i1, i2, i3, i4
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

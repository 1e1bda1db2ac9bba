package markov

import (
	"math"
	"sync"
)

// maternStates are the constants of the Matérn process of order p + ½ with unit variance, in the
// states f, f′/λ, …, f⁽ᵖ⁾/λᵖ and the time τ = λ·t, λ = √(2p+1)/ℓ. Its characteristic polynomial is
// (1 + z)^(p+1) (Hartikainen & Särkkä 2010, eq. 11–13).
type maternStates struct {
	size int
	// drift is F, the companion matrix, and powers[k] is Nᵏ/k! for N = F + I, which is nilpotent, so
	// that exp(Fτ) = e^−τ Σ_k τᵏ Nᵏ/k!.
	drift  []float64
	powers [][]float64
	// stationary is Π, FΠ + ΠFᵀ + q·eeᵀ = 0 for the last unit vector e. noise is q.
	stationary []float64
	noise      float64
	// squares are the coefficients of q·φφᵀ·e^(2u) as polynomials in u, for the lower triangle.
	squares []float64
}

// materns holds the constants by order.
var materns = sync.OnceValue(func() (all [maxOrder + 1]*maternStates) {
	for p := range all {
		all[p] = newMatern(p)
	}
	return all
})

func factorial(n int) float64 {
	out := 1.0
	for i := 2; i <= n; i++ {
		out *= float64(i)
	}
	return out
}

// newMatern computes the constants. The numbers μ_m = (2m)!(2p−2m)!p!/(m!(p−m)!(2p)!) of Π are the
// moments of the spectral density, and q = 2^(2p+1)(p!)²/(2p)!.
func newMatern(p int) *maternStates {
	s := p + 1
	m := &maternStates{size: s, drift: make([]float64, s*s), stationary: make([]float64, s*s)}
	for i := range p {
		m.drift[i*s+i+1] = 1
	}
	for j := range s {
		m.drift[p*s+j] = -factorial(s) / (factorial(j) * factorial(s-j))
	}
	shifted := make([]float64, s*s)
	copy(shifted, m.drift)
	for i := range s {
		shifted[i*s+i]++
	}
	power := make([]float64, s*s)
	for i := range s {
		power[i*s+i] = 1
	}
	for k := range s {
		scaled := make([]float64, s*s)
		for i, v := range power {
			scaled[i] = v / factorial(k)
		}
		m.powers = append(m.powers, scaled)
		power = product(power, shifted, s)
	}
	for i := range s {
		for j := range s {
			if (i+j)%2 == 0 {
				h := (i + j) / 2
				mu := factorial(2*h) * factorial(2*p-2*h) * factorial(p) / (factorial(h) * factorial(p-h) * factorial(2*p))
				m.stationary[i*s+j] = mu * float64(1-2*((j+h)%2))
			}
		}
	}
	m.noise = math.Exp2(float64(2*p+1)) * factorial(p) * factorial(p) / factorial(2*p)
	for i := range s {
		for j := range i + 1 {
			c := make([]float64, 2*s-1)
			for k, one := range m.powers {
				for l, other := range m.powers {
					c[k+l] += m.noise * one[i*s+p] * other[j*s+p]
				}
			}
			m.squares = append(m.squares, c...)
		}
	}
	return m
}

// product returns a·b for square matrices.
func product(a, b []float64, s int) []float64 {
	out := make([]float64, s*s)
	for i := range s {
		for k := range s {
			for j := range s {
				out[i*s+j] += a[i*s+k] * b[k*s+j]
			}
		}
	}
	return out
}

// turn writes A = exp(Fτ) to a, for e^−τ.
func (m *maternStates) turn(a []float64, tau, factor float64) {
	clear(a)
	if factor == 0 {
		return
	}
	switch m.size {
	case 1:
		a[0] = factor
	case 2:
		a[0], a[1], a[3] = turn2(tau, factor)
		a[2] = -a[1]
	case 3:
		*(*[9]float64)(a) = turn3(tau, factor)
	default:
		for _, power := range m.powers {
			for i, v := range power {
				a[i] += factor * v
			}
			factor *= tau
		}
	}
}

// noises writes the covariance Q of the noise during τ to q, for A in a and e^−τ.
func (m *maternStates) noises(a, q []float64, tau, decay float64) {
	integral := 0.0
	if p := m.size - 1; p < len(lastIntegrals) {
		integral = lastIntegrals[p].at(p, tau, decay)
	}
	switch {
	case m.size == 1:
		q[0] = noises1(integral)
	case m.size == 2:
		n := noises2(tau, decay, integral)
		q[0], q[1], q[2], q[3] = n.q00, n.q01, n.q01, n.q11
	case m.size == 3:
		n := noises3(tau, decay, integral)
		q[0], q[1], q[2], q[3], q[4], q[5], q[6], q[7], q[8] = n.q00, n.q01, n.q02, n.q01, n.q11, n.q12, n.q02, n.q12, n.q22
	case tau < seriesEnd:
		m.integrate(q, tau)
	default:
		m.subtract(a, q)
	}
}

// subtract writes Π − AΠAᵀ to q.
func (m *maternStates) subtract(a, q []float64) {
	s := m.size
	var half square
	for i := range s {
		for j := range s {
			for k := range s {
				half[i*s+j] += a[i*s+k] * m.stationary[k*s+j]
			}
		}
	}
	for i := range s {
		for j := range i + 1 {
			sum := m.stationary[i*s+j]
			for k := range s {
				sum -= half[i*s+k] * a[j*s+k]
			}
			q[i*s+j], q[j*s+i] = sum, sum
		}
	}
}

// integrate writes q·∫₀^τ φ(u)φ(u)ᵀ du with φ(u) = exp(Fu)e = e^−u Σ_k uᵏ·Nᵏe/k!.
func (m *maternStates) integrate(q []float64, tau float64) {
	s := m.size
	var integrals [2*maxOrder + 1]float64
	powerIntegrals(integrals[:2*s-1], tau)
	at := 0
	for i := range s {
		for j := range i + 1 {
			sum := 0.0
			for k, c := range m.squares[at : at+2*s-1] {
				sum += c * integrals[k]
			}
			q[i*s+j], q[j*s+i] = sum, sum
			at += 2*s - 1
		}
	}
}

// slopes writes the derivatives of A and Q by the logarithm of the lengthscale: −τFA and −τq·φφᵀ
// with φ = Ae, the last column of A.
func (m *maternStates) slopes(da, dq, a []float64, tau float64) {
	s := m.size
	clear(da)
	clear(dq)
	if !(tau <= longest) {
		return
	}
	for i := range s {
		for j := range s {
			sum := 0.0
			for k := range s {
				sum += m.drift[i*s+k] * a[k*s+j]
			}
			da[i*s+j] = -tau * sum
			dq[i*s+j] = -tau * m.noise * a[i*s+s-1] * a[j*s+s-1]
		}
	}
}

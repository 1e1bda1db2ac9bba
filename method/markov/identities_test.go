package markov

import (
	"math"
	"testing"
)

// TestStationary checks FΠ + ΠFᵀ + q·eeᵀ = 0 and the known constants for every order.
func TestStationary(t *testing.T) {
	for p, m := range materns() {
		s := m.size
		left := product(m.drift, m.stationary, s)
		for i := range s {
			for j := range s {
				want := 0.0
				if i == p && j == p {
					want = -m.noise
				}
				if got := left[i*s+j] + left[j*s+i]; !(math.Abs(got-want) <= 1e-12*(1+math.Abs(left[i*s+j]))) {
					t.Errorf("order %d: (FΠ + ΠFᵀ)[%d,%d] = %v, want %v", p, i, j, got, want)
				}
			}
		}
	}
}

// TestTransitions checks A(τ+υ) = A(υ)A(τ) and Q(τ+υ) = A(υ)Q(τ)A(υ)ᵀ + Q(υ) on both sides of the
// series' end, and derivatives by central differences.
func TestTransitions(t *testing.T) {
	for p, m := range materns() {
		s := m.size
		at := func(tau float64) (a, q []float64) {
			a, q = make([]float64, s*s), make([]float64, s*s)
			m.turn(a, tau, decayOf(tau))
			m.noises(a, q, tau, decayOf(tau))
			return a, q
		}
		for _, pair := range [][2]float64{{1e-6, 2e-6}, {0.01, 0.3}, {0.4, 1.7}, {2.9, 0.2}, {2.5, 4}, {30, 1}, {800, 1}} {
			a1, q1 := at(pair[0])
			a2, q2 := at(pair[1])
			a, q := at(pair[0] + pair[1])
			sides, turned := product(a2, a1, s), product(a2, q1, s)
			for i := range s {
				for j := range s {
					sum := q2[i*s+j]
					for k := range s {
						sum += turned[i*s+k] * a2[j*s+k]
					}
					scale := math.Sqrt(q[i*s+i]*q[j*s+j]) + 1e-300
					if !(math.Abs(sum-q[i*s+j]) <= 1e-9*scale) || !(math.Abs(sides[i*s+j]-a[i*s+j]) <= 1e-10*float64(1+p*p*p)) {
						t.Errorf("order %d, τ = %v: A %v and %v, Q %v and %v at %d, %d", p, pair, a[i*s+j], sides[i*s+j], q[i*s+j], sum, i, j)
					}
				}
			}
			checkSlopes(t, p, m, pair[0]+pair[1])
		}
	}
}

func checkSlopes(t *testing.T, p int, m *maternStates, tau float64) {
	t.Helper()
	s := m.size
	a, da, dq := make([]float64, s*s), make([]float64, s*s), make([]float64, s*s)
	m.turn(a, tau, decayOf(tau))
	m.slopes(da, dq, a, tau)
	const h = 1e-5
	var ends [2][2][]float64
	for k, sign := range []float64{-1, 1} {
		e, q := make([]float64, s*s), make([]float64, s*s)
		moved := tau * math.Exp(-sign*h)
		m.turn(e, moved, decayOf(moved))
		m.noises(e, q, moved, decayOf(moved))
		ends[k] = [2][]float64{e, q}
	}
	for i := range da {
		for part, slope := range [][]float64{da, dq} {
			difference := (ends[1][part][i] - ends[0][part][i]) / (2 * h)
			if !(math.Abs(difference-slope[i]) <= 1e-6*float64(1+p*p)) {
				t.Errorf("order %d, τ = %v: slope %d of part %d is %v, difference %v", p, tau, i, part, slope[i], difference)
			}
		}
	}
}

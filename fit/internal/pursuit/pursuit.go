// Package pursuit finds rows that do not fit, by relevance pursuit: such a row gets a noise
// variance of its own (Ament, Santorella, Eriksson, Letham, Balandat & Bakshy, Robust Gaussian
// processes via relevance pursuit, NeurIPS 2024).
package pursuit

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// Suspects are candidates among the N rows of a table, at fixed parameters:
//
//	Σ = K + noise + diag(Variance),  f = ½ Σ_t y_tᵀPy_t + ½T log|Σ|
//
// P is Σ⁻¹, or Σ⁻¹ − Σ⁻¹H(HᵀΣ⁻¹H)⁻¹HᵀΣ⁻¹ if generalized least squares finds the mean.
type Suspects struct {
	N int
	// Inverse and Projected are the blocks of Σ⁻¹ and P for the m candidates, m×m.
	Inverse, Projected []float64
	// Alpha holds the candidates' elements of Py_t, m numbers for each of the T targets.
	Alpha [][]float64
	// Variance holds the m variances of their own, 0 for rows without.
	Variance []float64
}

// NegLogPrior returns the negative logarithm of the prior probability that a given set of k of n
// rows does not fit, up to a constant: k/(n/5) for their number, whose prior is exponential
// with a mean of a fifth of the rows, and log C(n, k), because all sets of k rows are alike.
func NegLogPrior(k, n int) float64 {
	choose := func(m int) float64 { v, _ := math.Lgamma(float64(m + 1)); return v }
	return 5*float64(k)/float64(n) + choose(n) - choose(k) - choose(n-k)
}

// Gain returns by how much a variance of its own for one row lowers f at best, for κ = (Σ⁻¹)ᵢᵢ,
// p = Pᵢᵢ and a = Σ_t (Py_t)ᵢ²; 0 if none does. The derivative of f by the variance is ½(Tκ − a).
func Gain(kappa, p, a float64, targets int) float64 {
	return -change(kappa, p, a, targets, max(0, optimum(kappa, p, a, targets)))
}

// change returns the difference of f if the variance of one row grows by d.
func change(kappa, p, a float64, targets int, d float64) float64 {
	return (float64(targets)*math.Log1p(d*kappa) - d*a/(1+d*p)) / 2
}

// optimum returns the d at the minimum of change, the larger root of Tκ(1+dp)² = a(1+dκ), or −∞
// if change has no minimum. For P = Σ⁻¹ and one target it is (a − κ)/κ².
func optimum(kappa, p, a float64, targets int) float64 {
	k := float64(targets) * kappa
	square, linear, constant := k*p*p, 2*k*p-a*kappa, k-a
	root := linear*linear - 4*square*constant
	if root < 0 {
		return math.Inf(-1)
	}
	if root = math.Sqrt(root); linear > 0 {
		return -2 * constant / (linear + root)
	}
	return (root - linear) / (2 * square)
}

// Share returns the probability that a new row does not fit if k of n rows do not, by Laplace's rule of succession; 0 if
// all fit, because nothing is known of rows that do not.
func Share(k, n int) float64 {
	if k == 0 {
		return 0
	}
	return float64(k+1) / float64(n+2)
}

// farOff is the share of the other variance in a row's variance from which the row surely does not fit.
const farOff = 1e-8

// least is the gain in nats that is worth a step.
const least = 1e-3

// Pursue changes Variance, and with it the blocks and Alpha, one row at a time, always the row by
// which f and the prior gain most: a new row, a better variance, or a row that no longer
// needs its own. At most half of all rows have one. It returns the gain in nats.
func (r *Suspects) Pursue() (gain float64) {
	count := r.count()
	for range 100 * len(r.Variance) {
		row, by, best := -1, 0.0, least
		for i := range r.Variance {
			if d, g := r.step(i, count); g > best {
				row, by, best = i, d, g
			}
		}
		if row < 0 {
			break
		}
		before := r.Variance[row]
		r.add(row, by)
		switch {
		case before == 0:
			count++
		case r.Variance[row] == 0:
			count--
		}
		gain += best
	}
	return gain
}

// count returns how many rows have a variance of their own.
func (r *Suspects) count() (k int) {
	for _, v := range r.Variance {
		if v > 0 {
			k++
		}
	}
	return k
}

// Weakest returns the row that needs its variance least, by what f and the prior gain without it; −1 if no row has one.
func (r *Suspects) Weakest() (row int, gain float64) {
	row, gain, count := -1, math.Inf(-1), r.count()
	for i, own := range r.Variance {
		if own == 0 {
			continue
		}
		if g := r.gone(i, count); row < 0 || g > gain {
			row, gain = i, g
		}
	}
	return row, gain
}

// gone returns the gain if a row, of count that have one, has no more a variance of its own.
func (r *Suspects) gone(i, count int) float64 {
	m, t, own := len(r.Variance), len(r.Alpha), r.Variance[i]
	kappa, p := r.Inverse[i*m+i], r.Projected[i*m+i]
	if 1-own*kappa < farOff { // the difference has no digits, and the row is very far off
		return math.Inf(-1)
	}
	return NegLogPrior(count, r.N) - NegLogPrior(count-1, r.N) - change(kappa, p, r.square(i), t, -own)
}

// square returns Σ_t (Py_t)ᵢ².
func (r *Suspects) square(i int) (a float64) {
	for _, alpha := range r.Alpha {
		a += alpha[i] * alpha[i]
	}
	return a
}

// step returns the best change of one row's variance while count rows have one, and its gain.
func (r *Suspects) step(i, count int) (d, gain float64) {
	m, t, own := len(r.Variance), len(r.Alpha), r.Variance[i]
	kappa, p, a := r.Inverse[i*m+i], r.Projected[i*m+i], r.square(i)
	d = optimum(kappa, p, a, t)
	if own == 0 {
		if !(d > 0) || 2*(count+1) > r.N {
			return 0, 0
		}
		return d, NegLogPrior(count, r.N) - NegLogPrior(count+1, r.N) - change(kappa, p, a, t, d)
	}
	gone := r.gone(i, count)
	if math.IsInf(gone, -1) || d > -own {
		if g := -change(kappa, p, a, t, d); g >= gone {
			return d, g
		}
	}
	return -own, gone
}

// add raises the variance of row i by d. Both inverses change by a matrix of rank one (Sherman &
// Morrison 1950).
func (r *Suspects) add(i int, d float64) {
	m := len(r.Variance)
	r.Variance[i] += d
	column := r.Projected[i*m : (i+1)*m]
	for _, alpha := range r.Alpha {
		own := alpha[i]
		floats.AddScaled(alpha, -d/(1+d*column[i])*own, column)
		alpha[i] = own / (1 + d*column[i]) // the difference would cancel if d is large
	}
	downdate(r.Projected, i, m, d)
	if &r.Projected[0] != &r.Inverse[0] {
		downdate(r.Inverse, i, m, d)
	}
}

// downdate turns a block of A⁻¹ into the block of (A + d·eᵢeᵢᵀ)⁻¹.
func downdate(block []float64, i, m int, d float64) {
	column := slices.Clone(block[i*m : (i+1)*m])
	for k, v := range column {
		floats.AddScaled(block[k*m:(k+1)*m], -d*v/(1+d*column[i]), column)
	}
	for k, v := range column { // differences here would cancel
		block[k*m+i], block[i*m+k] = v/(1+d*column[i]), v/(1+d*column[i])
	}
}

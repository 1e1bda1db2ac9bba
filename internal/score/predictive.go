// Package score scores predictions against observations: [Predictive] is the predictive density
// of an observation, and [Tally] adds up what all commands print.
package score

import (
	"cmp"
	"math"

	"gonum.org/v1/gonum/mathext"

	"gpfit/internal/transform"
)

// Normal is a normal distribution, or the distribution of a variable whose transformed value is
// normal.
type Normal struct {
	Mean, Std float64
	// Of is the transform; nil without.
	Of *transform.Map
	// Weight is its weight in a mixture; 0 counts as 1.
	Weight float64
}

// LogRootTwoPi is ½ log 2π.
var LogRootTwoPi = math.Log(2*math.Pi) / 2

// NegLogNormal returns the negative logarithm of the density of a normal distribution of n dimensions,
// ½(rᵀΣ⁻¹r + log|Σ| + n log 2π), for the square rᵀΣ⁻¹r and log|Σ| (Rasmussen and Williams 2006, A.23).
func NegLogNormal(square, logDet float64, n int) float64 {
	return (square+logDet)/2 + float64(n)*LogRootTwoPi
}

// NegLog returns the negative logarithm of the density at y. Without variance it is −∞ at
// the mean and +∞ elsewhere.
func (d Normal) NegLog(y float64) float64 {
	if d.Of != nil {
		if !d.Of.Contains(y) {
			return math.Inf(1)
		}
		return Normal{Mean: d.Mean, Std: d.Std}.NegLog(d.Of.Forward(y)) - d.Of.LogSlope(y)
	}
	miss, std := y-d.Mean, d.Std
	switch {
	case std > 0:
		z := miss / std
		return NegLogNormal(z*z, 2*math.Log(std), 1)
	case miss != 0:
		return math.Inf(1)
	}
	return math.Inf(-1)
}

// value returns y, or its transformed value.
func (d Normal) value(y float64) float64 {
	if d.Of != nil {
		return d.Of.Forward(y)
	}
	return y
}

// standardized returns how many standard deviations the value of y is above the mean.
func (d Normal) standardized(y float64) float64 { return (d.value(y) - d.Mean) / d.Std }

// quantile is the inverse of standardized.
func (d Normal) quantile(z float64) float64 {
	if d.Of != nil {
		return d.Of.Inverse(d.Mean + z*d.Std)
	}
	return d.Mean + z*d.Std
}

// Z95 is the 97.5 % point of the standard normal distribution.
const Z95 = 1.959963984540054

// CentralQuantile returns z such that a standard normal variable lies in [−z, z] with the
// given probability, for example 1.96 for 0.95.
func CentralQuantile(probability float64) float64 { return math.Sqrt2 * math.Erfinv(probability) }

// weight returns the weight in a mixture.
func (d Normal) weight() float64 { return cmp.Or(d.Weight, 1) }

// Predictive is the predictive density of an observation: a normal distribution, or the mixture
// of several, one for each draw of the parameters (Gelman et al. 2013,
// Bayesian data analysis, eq. 1.4 with the integral as an average over draws), and of observations that
// fit and that do not.
type Predictive []Normal

// total returns the sum of the weights.
func (d Predictive) total() (sum float64) {
	for _, part := range d {
		sum += part.weight()
	}
	return sum
}

// NegLog returns −log (Σ_k w_k N(y; μ_k, σ_k²) / Σ_k w_k), without underflow (log-sum-exp: Blanchard,
// Higham & Higham 2021, Accurately computing the log-sum-exp and softmax functions, eq. 1.3).
func (d Predictive) NegLog(y float64) float64 {
	if len(d) == 1 {
		return d[0].NegLog(y)
	}
	least := math.Inf(1)
	for _, part := range d {
		least = min(least, part.NegLog(y))
	}
	if math.IsInf(least, 0) {
		return least
	}
	sum := 0.0
	for _, part := range d {
		sum += part.weight() * math.Exp(least-part.NegLog(y))
	}
	return least - math.Log(sum/d.total())
}

// Interval returns the bounds of the central interval that holds an observation with the
// given probability, between 0 and 1.
func (d Predictive) Interval(probability float64) (lower, upper float64) {
	if len(d) == 1 {
		z := CentralQuantile(probability)
		return d[0].quantile(-z), d[0].quantile(z)
	}
	return d.quantile((1 - probability) / 2), d.quantile((1 + probability) / 2)
}

// quantile finds the quantile of a mixture between the smallest and the largest quantile of the
// parts, by Newton's method, and by bisection where that would leave the bracket (Press et al. 2007,
// Numerical recipes, section 9.4).
func (d Predictive) quantile(probability float64) float64 {
	z := math.Sqrt2 * math.Erfinv(2*probability-1)
	low, high, narrow := math.Inf(1), math.Inf(-1), math.Inf(1)
	for _, part := range d {
		q := part.quantile(z)
		low, high = min(low, q), max(high, q)
		if part.Weight > 0 { // one of the parts may be far wider than the others
			narrow = min(narrow, math.Abs(q-part.quantile(0)))
		}
	}
	const near = 1e-9 // of the bracket, from where the next step would be below rounding
	width, y, total := min(high-low, narrow), low+(high-low)/2, d.total()
	for range 200 {
		excess, slope := d.tail(y, 1)-probability*total, 0.0
		for _, part := range d {
			slope += part.weight() * math.Exp(-part.NegLog(y))
		}
		if excess < 0 {
			low = y
		} else {
			high = y
		}
		if step := excess / slope; y-step > low && y-step < high {
			if y -= step; math.Abs(step) <= near*width {
				return y
			}
			continue
		}
		if y = low + (high-low)/2; y <= low || y >= high {
			return y
		}
	}
	return y
}

// tail returns the weighted sum over the parts of the probability below y, or above it if side is −1.
func (d Predictive) tail(y, side float64) float64 {
	sum := 0.0
	for _, part := range d {
		sum += part.weight() * 0.5 * math.Erfc(side*(part.Mean-part.value(y))/(part.Std*math.Sqrt2))
	}
	return sum
}

// Standardized returns Φ⁻¹(F(y)) for the distribution function F, which is (y − μ)/σ for a
// normal distribution. It is standard normal if the density is right (Dunn & Smyth 1996,
// Randomized quantile residuals), and its size is at most [CentralQuantile] of a probability
// just where y is in the interval of that probability.
func (d Predictive) Standardized(y float64) float64 {
	if len(d) == 1 {
		return d[0].standardized(y)
	}
	total := d.total()
	below, above := d.tail(y, 1)/total, d.tail(y, -1)/total
	switch least := min(below, above); {
	case least > 0 && below <= above:
		return mathext.NormalQuantile(below)
	case least > 0:
		return -mathext.NormalQuantile(above)
	}
	// So far out, the nearest part decides.
	nearest := math.Inf(1)
	for _, part := range d {
		if z := part.standardized(y); math.Abs(z) < math.Abs(nearest) {
			nearest = z
		}
	}
	return nearest
}

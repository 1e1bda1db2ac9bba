package gp

import "math"

// CentralQuantile returns z such that a standard normal variable lies in [−z, z]
// with the given probability, for example 1.96 for 0.95.
func CentralQuantile(probability float64) float64 { return math.Sqrt2 * math.Erfinv(probability) }

// Interval returns the bounds of the central interval that holds a new
// observation with the given probability (between 0 and 1).
func (p *Prediction) Interval(probability float64) (lower, upper []float64) {
	if p.Parts != nil {
		for i := range p.Mean {
			lower = append(lower, p.quantile(i, (1-probability)/2))
			upper = append(upper, p.quantile(i, (1+probability)/2))
		}
		return lower, upper
	}
	z := CentralQuantile(probability)
	lower, upper = make([]float64, len(p.Mean)), make([]float64, len(p.Mean))
	for i, mean := range p.Mean {
		lower[i], upper[i] = mean-z*p.Std[i], mean+z*p.Std[i]
	}
	return lower, upper
}

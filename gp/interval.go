package gp

import "gpfit/internal/score"

// Density returns the predictive density of a new observation at row i.
func (p *Prediction) Density(i int) score.Predictive {
	if p.Parts == nil {
		return score.Predictive{{Mean: p.Mean[i], Std: p.Std[i]}}
	}
	d := make(score.Predictive, len(p.Parts))
	for k, part := range p.Parts {
		d[k] = score.Normal{Mean: part.Mean[i], Std: part.Std[i]}
	}
	return d
}

// Interval returns the bounds of the central interval that holds a new
// observation with the given probability (between 0 and 1).
func (p *Prediction) Interval(probability float64) (lower, upper []float64) {
	lower, upper = make([]float64, len(p.Mean)), make([]float64, len(p.Mean))
	for i := range p.Mean {
		lower[i], upper[i] = p.Density(i).Interval(probability)
	}
	return lower, upper
}

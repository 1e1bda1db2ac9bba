package gp

import (
	"math"
	"slices"

	"gpfit/internal/score"
)

// Outlying describes new observations that do not fit, as some training rows of a robust fit: each has the
// probability Share, and noise of a larger variance about the same mean.
type Outlying struct {
	Share float64
	// Fitting and Off are the standard deviations of an observation that fits and of one that does not, of the
	// transformed target if there is a transform.
	Fitting, Off []float64
}

// mixed returns the prediction with the share of observations that do not fit, if the model has one.
func (p *Prediction) mixed(m *Model) *Prediction {
	share := m.Noise.OutlyingShare
	if share == 0 {
		return p
	}
	own := math.Sqrt(score.Mean(m.Noise.OutlyingVariances)) * m.Scaling.YScale
	fitting := p.Std
	if p.Transformed != nil {
		fitting = p.Transformed.Std
	} else {
		p.Std = make([]float64, len(fitting))
	}
	p.Outlying = &Outlying{share, fitting, make([]float64, len(fitting))}
	for i, std := range fitting {
		p.Outlying.Off[i] = math.Hypot(std, own)
		if p.Transformed == nil {
			p.Std[i] = math.Hypot(std, math.Sqrt(share)*own)
		}
	}
	p.Lower95, p.Upper95 = p.Interval(0.95)
	return p
}

// densities returns the distribution of an observation at row i for the distribution of one that fits.
func (o *Outlying) densities(fits score.Normal, i int) score.Predictive {
	off := fits
	off.Std = o.Off[i]
	fits.Weight, off.Weight = 1-o.Share, o.Share
	return score.Predictive{fits, off}
}

// Fitting returns the predictive density at row i of a new observation that fits.
func (p *Prediction) Fitting(i int) score.Predictive {
	if p.Parts == nil {
		return score.Predictive{p.normal(i)}
	}
	d := make(score.Predictive, 0, len(p.Parts))
	for _, part := range p.Parts {
		d = append(d, part.normal(i))
	}
	return d
}

// withoutOwn subtracts from variances of the observations of training rows the variances that rows have of
// their own. Where the difference cancels, the least noise of a training row is left.
func (z *Noise) withoutOwn(variances, noise []float64) {
	least := slices.Min(noise)
	for k, i := range z.Outlying {
		variances[i] = max(variances[i]-z.OutlyingVariances[k], least)
	}
}

package experts

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"gpfit/device"
)

// Parameters says whether experts have the same parameters.
type Parameters string

// The choices.
const (
	// Shared gives all experts the same parameters, tuned on the sum of their likelihoods.
	Shared Parameters = "shared"
	// Separate tunes the parameters of each expert on its own rows.
	Separate Parameters = "separate"
)

// ParameterChoices lists the choices, the default first.
func ParameterChoices() []Parameters { return []Parameters{Shared, Separate} }

// Check returns an error for an unknown choice.
func (p Parameters) Check() error {
	if slices.Contains(ParameterChoices(), p) {
		return nil
	}
	return fmt.Errorf("%q: must be shared or separate", string(p))
}

// Each calls do with the index and the workspace of each expert of a workspace of
// [Partition.On], for experts with parameters of their own. It calls some at the same time,
// and returns the first error in the order of the experts. The methods of ws itself compute
// with one set of parameters.
func Each(ctx context.Context, ws device.Workspace, do func(k int, own device.Workspace) error) error {
	w, ok := ws.(*workspace)
	if !ok {
		return errors.New("experts: the workspace has no experts")
	}
	return w.each(ctx, cube, func(_ int, e *expert) error { return do(e.index, e.ws) })
}

// Opinion is what an expert with parameters of its own says about the function, without
// noise, at m points in scaled units: means, m×T column-major, and m variances, before and
// after its rows.
type Opinion struct {
	PriorMean, PriorVariance, Mean, Variance []float64
}

// Combined returns the mean, m×T column-major, and the variance of the function at m points by
// the rule [RBCM] for experts with parameters of their own. A point belongs to the expert
// own[i]. Each expert counts by what its rows add to what it says before them (the form of
// Deisenroth and Ng 2015, eq. 20 and 21, with the prior of each expert in place of a common
// one): for its means m_k and μ_k and its variances s_k² and σ_k² before and after its rows,
// and m₀ and σ₀² of the point's own expert before its rows,
//
//	1/σ² = (Σ_k β_k (1/σ_k² − 1/s_k²))/T + 1/σ₀²
//	μ = m₀ + (Σ_k β_k ((μ_k − m₀)/σ_k² − (m_k − m₀)/s_k²)) / (Σ_k β_k (1/σ_k² − 1/s_k²) + 1/σ₀²)
//	β_k = ½(log s_k² − log σ_k²)
//
// which is the rule for common parameters if all experts have the same. Noise takes no part,
// so that its variances may differ.
func (p *Partition) Combined(own []int, all []Opinion) (mean, variance []float64) {
	mean, sums := p.combine(own, all)
	for i := range sums {
		sums[i].temperature = p.temperature()
		variance = append(variance, sums[i].variance())
	}
	return mean, variance
}

// combine returns the means at the points and the committees, at the temperature 1.
func (p *Partition) combine(own []int, all []Opinion) (mean []float64, sums []committee) {
	m := len(own)
	mean = make([]float64, len(all[0].Mean))
	for i, home := range own {
		c := committee{prior: all[home].PriorVariance[i], temperature: 1}
		for _, o := range all {
			factor, before := c.add(o.PriorVariance[i], o.Variance[i])
			for at := i; at < len(mean); at += m {
				base := all[home].PriorMean[at]
				mean[at] += factor*(o.Mean[at]-base) - before*(o.PriorMean[at]-base)
			}
		}
		for at := i; at < len(mean); at += m {
			mean[at] = all[home].PriorMean[at] + c.mean(mean[at])
		}
		sums = append(sums, c)
	}
	return mean, sums
}

// CalibrationRows returns the training rows with which [Partition.Calibrated] works, of n.
func (p *Partition) CalibrationRows(n int) []int { return calibrationSample(n, p.Seed) }

// Calibrated returns the partition with Temperature and Scores, for experts with parameters
// of their own. all are their opinions at training rows that belong to the experts own, from
// which the own expert leaves the row out. observed are the targets and noise the variances
// of their noise. See [Calibrate].
func (p *Partition) Calibrated(own []int, all []Opinion, observed, noise []float64) *Partition {
	out, m := *p, len(own)
	left := &leftOut{rows: m, targets: len(observed) / m, residual: observed, noise: noise}
	left.means, left.committee = p.combine(own, all)
	left.own = opinion{make([]float64, len(observed)), make([]float64, m)}
	for i, home := range own {
		left.own.reductions[i] = all[home].PriorVariance[i] - all[home].Variance[i]
		for at := i; at < len(observed); at += m {
			left.own.means[at] = all[home].Mean[at]
		}
	}
	out.calibrate(left)
	return &out
}

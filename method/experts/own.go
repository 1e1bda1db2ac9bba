package experts

import (
	"context"
	"errors"
	"math"
	"slices"

	"gpfit/device"
	"gpfit/internal/matrixrows"
)

// Each calls do with the index and the workspace of each expert of a workspace of [Partition.On],
// for experts with parameters of their own. It calls some at the same time, and returns the first
// error in the order of the experts. The methods of ws itself compute with one set of parameters.
func Each(ctx context.Context, ws device.Workspace, do func(k int, own device.Workspace) error) error {
	w, ok := ws.(*workspace)
	if !ok {
		return errors.New("experts: the workspace has no experts")
	}
	return w.each(ctx, cube, func(_ int, e *expert) error { return do(e.index, e.ws) })
}

// Combined returns the mean, m×T column-major, and the variance of the function at m points by
// the rule [RBCM] for experts with parameters of their own. A point belongs to the expert
// h = own[i], whose Trust has the weight w and the temperature T. Each expert counts by what
// its rows add to what it says before them. Its means m_k and μ_k and variances s_k² and σ_k²
// hold before and after its rows:
//
//	1/σ² = (Σ_k β_k (1/σ_k² − 1/s_k²))/T + 1/s_h²
//	μ = m_h + (Σ_k β_k ((μ_k − m_h)/σ_k² − (m_k − m_h)/s_k²)) / (Σ_k β_k (1/σ_k² − 1/s_k²) + 1/s_h²)
//	β_k = w ½(log s_k² − log σ_k²), and for h also + 1 − w
//
// If all experts have the same parameters and w = 1, this is the rule of Deisenroth and Ng
// 2015. With w = 0 and T = 1 it is the prediction of the expert h. Noise takes no part, so
// that its variances may differ; a new observation has the noise of h.
func (p *Partition) Combined(own []int, all []Opinion) (mean, variance []float64) {
	mean, sums := combine(own, all, p.Trust)
	for i := range sums {
		variance = append(variance, sums[i].variance())
	}
	return mean, variance
}

// trustRows is the number of training rows for each expert with which to find its Trust, on
// average.
const trustRows = 100

// CalibrationRows returns the training rows with which [Partition.Calibrated] works, of n.
func (p *Partition) CalibrationRows(n int) []int {
	return calibrationSample(n, max(calibrationRows, trustRows*len(p.Centres)), p.Seed)
}

// Calibrated returns the partition with Trust and Scores, for experts with parameters of
// their own. all are their opinions at training rows that belong to the experts own, from
// which the own expert leaves the row out. observed are the targets and noise the variances
// of their noise. The Trust of an expert has the smallest NLPD on its rows; see [Calibrate].
func (p *Partition) Calibrated(own []int, all []Opinion, observed, noise []float64) *Partition {
	out := *p
	out.Trust = make([]Trust, len(p.Centres))
	for k := range out.Trust {
		var rows []int
		for i, home := range own {
			if home == k {
				rows = append(rows, i)
			}
		}
		opinions := make([]Opinion, len(all))
		for q, o := range all {
			opinions[q] = o.pick(rows, len(own))
		}
		out.Trust[k] = trustOf(k, opinions, matrixrows.Rows(observed, rows, len(own), 1), matrixrows.Rows(noise, rows, len(own), 1))
	}
	out.judge(newLeftOut(own, all, observed, noise, out.Trust).scores())
	return &out
}

// trustOf returns the trust of expert k, from rows that belong to it.
func trustOf(k int, all []Opinion, observed, noise []float64) Trust {
	if len(noise) == 0 {
		return Trust{0, 1}
	}
	own, trust := slices.Repeat([]int{k}, len(noise)), make([]Trust, len(all))
	best, least := Trust{0, 1}, math.Inf(1)
	for _, weight := range []float64{0, 0.25, 0.5, 0.75, 1} {
		trust[k] = Trust{weight, 1}
		left := newLeftOut(own, all, observed, noise, trust)
		temperature := max(1, left.temperature())
		left.heat(temperature)
		if score := left.score(RBCM); score.NLPD < least {
			best, least = Trust{weight, temperature}, score.NLPD
		}
	}
	return best
}

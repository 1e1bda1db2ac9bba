// Package residual compares predictions with observations: [Of] has the differences, and [Scores] what a
// report and the page of a model say of them.
package residual

import (
	"math"
	"slices"

	"gpfit/fit/summary"
	"gpfit/gp"
	"gpfit/internal/score"
)

// roundingError is the largest relative difference of a prediction that counts as none.
const roundingError = 1e-12

// Of compares predictions with the observations that are there, in the form of leave-one-out,
// whose scores are the same. at are the rows that have one.
func Of(p *gp.Prediction, observed []float64) (out *gp.LeaveOneOut, at []int) {
	out = &gp.LeaveOneOut{}
	for i, y := range observed {
		if math.IsNaN(y) {
			continue
		}
		at = append(at, i)
		miss, density := y-p.Mean[i], p.Density(i)
		z, off, nlpd := density.Standardized(y), p.Fitting(i).Standardized(y), density.NegLog(y)
		if math.Abs(miss) <= roundingError*math.Abs(y) {
			z, off, nlpd = 0, 0, density.NegLog(p.Mean[i]) // also where the prediction is certain, as at training rows without noise
		}
		out.Target, out.Mean, out.Std = append(out.Target, y), append(out.Mean, p.Mean[i]), append(out.Std, p.Std[i])
		out.Residual, out.Standardized = append(out.Residual, miss), append(out.Standardized, z)
		out.LogDensity, out.Deviations = append(out.LogDensity, -nlpd), append(out.Deviations, off)
	}
	return out, at
}

// Scores scores predictions by m of its training rows, left out, or of new rows. scale is the standard
// deviation of the training targets. A robust fit has scores of the rows that fit, too; another one counts the others.
func Scores(rows *gp.LeaveOneOut, m *gp.Model, scale float64, robust, training bool) *summary.TestScores {
	var all, fitting score.Tally
	for i, z := range rows.Standardized {
		miss, nlpd, within := rows.Residual[i], -rows.LogDensity[i], math.Abs(z) <= score.Z95
		all.Add(miss, nlpd, within)
		fits := m.Noise.Fits(rows.Deviations[i], m.N())
		if robust && training {
			fits = !slices.Contains(m.Noise.Outlying, i)
		}
		if fits {
			fitting.Add(miss, nlpd, within)
		}
	}
	s := tallied(&all, scale)
	s.Calibration = summary.NewCalibration(s.Coverage95, s.N)
	switch {
	case !robust:
		s.Far = all.N - fitting.N
	case 0 < fitting.N && fitting.N < all.N:
		s.Fitting = tallied(&fitting, scale)
	}
	return s
}

func tallied(sum *score.Tally, scale float64) *summary.TestScores {
	return &summary.TestScores{
		N: sum.N, RMSE: sum.RMSE(), RMSEStandardized: sum.RMSE() / scale, Coverage95: sum.Coverage(0),
		NLPD: summary.Number(sum.NLPD()), NLPDStandardized: summary.Number(sum.NLPD() - math.Log(scale)),
	}
}

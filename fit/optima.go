package fit

import (
	"context"
	"fmt"
	"math"
	"strconv"

	"gpfit/fit/problem"
	"gpfit/fit/summary"
	"gpfit/fit/tuning"
	"gpfit/gp"
	"gpfit/hyperopt"
	"gpfit/hyperopt/descent"
)

const (
	// scoredOptima is the largest number of optima whose predictions are scored; each
	// takes one more evaluation.
	scoredOptima = 10
	// nearNats is the difference of two objectives with which the data hardly choose between two
	// optima: a Bayes factor of 20 at most, if the widths of the optima are alike.
	nearNats = 3
	// Two optima predict differently if their leave-one-out predictions differ, as root
	// mean square, by more than differentMeans of the error of the better optimum, or if
	// their NLPD differ by more than differentNLPD per row.
	differentMeans, differentNLPD = 0.2, 0.05
)

// optimumScores are scores of the predictions at an optimum.
type optimumScores struct {
	loo   *summary.LeaveOneOutScore
	means [][]float64 // of leave-one-out, by target; nil if undefined
	tests []*summary.TestScores
}

// scoreOptima scores the optima that starts reached, except the best, which the session evaluates
// last. Elements are empty for dropped starts and where the scores are undefined.
func scoreOptima(ctx context.Context, s *tuning.Placement, ev *descent.Oracle, optima []hyperopt.Optimum) ([]optimumScores, error) {
	out := make([]optimumScores, len(optima))
	for i, o := range optima {
		if i == 0 || o.Dropped || i >= scoredOptima {
			continue
		}
		if f, err := ev.Value(ctx, o.Z); err != nil || math.IsInf(f, 1) {
			if err != nil {
				return out, fmt.Errorf("scores of the optima: %w", err)
			}
			continue
		}
		posterior, err := s.Posterior(ctx, s.Model(o.Z, ""))
		if err != nil {
			return out, err
		}
		if out[i], err = scoreOptimum(ctx, s, posterior, o.Z); err != nil {
			return out, err
		}
	}
	return out, nil
}

// scoreOptimum scores the point that the session evaluated last.
func scoreOptimum(ctx context.Context, s *tuning.Placement, p *gp.Posterior, z []float64) (optimumScores, error) {
	var out optimumScores
	var err error
	if out.loo, err = unaskedScore(ctx, s, z); err != nil {
		return out, err
	}
	if out.loo != nil {
		for t := range s.Job.Sample.T() {
			left, err := p.Target(t).LeaveOneOut(ctx)
			if err != nil {
				out.means = nil
				break // the covariance is too close to singular
			}
			out.means = append(out.means, left.Mean)
		}
	}
	out.tests, err = scoreHeldOut(ctx, s.Job, p)
	return out, err
}

// difference returns the root mean square difference of two optima's leave-one-out predictions,
// in units of the targets' standard deviation, pooled over targets; NaN if it is not known.
func (a optimumScores) difference(b optimumScores, s *problem.Sample) float64 {
	if a.means == nil || b.means == nil {
		return math.NaN()
	}
	sum := 0.0
	for t, means := range a.means {
		scale := s.TargetScale(t)
		for i, m := range means {
			d := (m - b.means[t][i]) / scale
			sum += d * d
		}
	}
	return math.Sqrt(sum / float64(len(s.Targets)))
}

// listed returns the optima that the report of a fit lists: all with restarts, none without.
func listed(j *tuning.Job, t *hyperopt.Result) []hyperopt.Optimum {
	if j.Options.Settings.Restarts == 0 {
		return nil
	}
	return t.Optima
}

// addOptima adds the scores of the optima.
func addOptima(r *summary.Report, j *tuning.Job, t *hyperopt.Result, scores []optimumScores) {
	if len(listed(j, t)) == 0 {
		return
	}
	for i := range r.Optima {
		if i < len(scores) {
			r.Optima[i].LeaveOneOut = scores[i].loo
			addOptimumTests(&r.Optima[i], scores[i].tests)
		}
	}
	for i := 1; i < len(scores); i++ {
		compareOptima(r, j, i, scores)
	}
}

// addOptimumTests adds the scores of held-out rows, for each target.
func addOptimumTests(o *summary.OptimumReport, tests []*summary.TestScores) {
	if len(tests) == 1 {
		o.Test = tests[0]
	} else {
		o.Tests = tests
	}
}

// compareOptima adds a warning if optimum i is hardly worse than the best and predicts differently.
func compareOptima(r *summary.Report, j *tuning.Job, i int, scores []optimumScores) {
	a, b := scores[0], scores[i]
	gap := r.Optima[i].Objective - r.Optima[0].Objective
	if a.loo == nil || b.loo == nil || !(gap <= nearNats) || r.Optima[i].Dropped {
		return
	}
	rms := a.difference(b, j.Sample)
	apart := rms > differentMeans*min(a.loo.RMSEStandardized, b.loo.RMSEStandardized)
	if !apart && math.Abs(a.loo.NLPD-b.loo.NLPD) <= differentNLPD {
		return
	}
	text := fmt.Sprintf("optima 0 and %d differ by %.2g nats and predict differently", i, gap)
	if apart {
		text += fmt.Sprintf(" (leave-one-out predictions by %.2g standard deviations of the target)", rms)
	}
	text += fmt.Sprintf(": leave-one-out NLPD %.4g and %.4g", a.loo.NLPD, b.loo.NLPD)
	for t := range a.tests {
		text += fmt.Sprintf(", held-out NLPD %.4g and %.4g", a.tests[t].NLPD, b.tests[t].NLPD)
	}
	r.Warnings = append(r.Warnings, text+"; the data hardly choose between them: a prior (option prior) or bounds (option bounds) can, and option set starts a fit at the other one")
}

// The limits of noise and errors of interpolators, in units of the targets' standard deviation.
// Kin40k, a simulation of a robot arm without noise, has errors of 0.064 (36,000 rows, matern32),
// tables with noise that an interpolator fits 0.3 and more.
const (
	interpolatorNoise = 1e-3
	interpolatorError = 0.1
	// interpolatorFloor is the advised floor, as a share of the leave-one-out error.
	interpolatorFloor = 0.1
)

// interpolation examines a fit at z, whose factor the session holds; score is its leave-one-out
// score or nil. The result is nil unless all noise variances are estimated and tiny.
func interpolation(ctx context.Context, s *tuning.Placement, at []descent.Bound, z []float64, score *summary.LeaveOneOutScore) (*summary.Interpolation, error) {
	j := s.Job
	noise, bounded := estimatedNoise(j.Prepared, at, z)
	if j.Sample.Data.NoiseVariance != nil || !tiny(j.Prepared, noise) {
		return nil, nil
	}
	out := &summary.Interpolation{NoiseVariance: noise, AtBound: bounded, Condition: s.Condition, LeaveOneOut: score}
	if score == nil {
		var err error
		if out.LeaveOneOut, err = unaskedScore(ctx, s, z); err != nil {
			return nil, err
		}
	}
	if l := out.LeaveOneOut; l != nil && l.RMSEStandardized > interpolatorError {
		out.Degenerate = true
		floor := interpolatorFloor * l.RMSEStandardized * deviation(j.Prepared)
		out.NoiseFloor = oneDigit(floor * floor)
	}
	return out, nil
}

// deviation returns the standard deviation of the scaled targets.
func deviation(j *problem.Prepared) float64 {
	if j.Sample.Scalings[0].Transform != nil {
		return math.Sqrt(problem.MeanSquare(j.Sample.Targets))
	}
	return j.Sample.TargetScale(0) / j.Sample.Scalings[0].YScale
}

// tiny reports whether an estimated noise variance is as small as with an interpolator. A
// negative number stands for none.
func tiny(j *problem.Prepared, noise float64) bool {
	return noise >= 0 && math.Sqrt(noise) <= interpolatorNoise*deviation(j)
}

// oneDigit rounds v to one significant decimal digit.
func oneDigit(v float64) float64 {
	out, err := strconv.ParseFloat(strconv.FormatFloat(v, 'e', 0, 64), 64)
	if err != nil || !(out > 0) {
		return v
	}
	return out
}

// warning says what an interpolator is and what to do.
func warning(i *summary.Interpolation) string {
	where := fmt.Sprintf("noise_variance is %.3g", i.NoiseVariance)
	if i.AtBound {
		where = fmt.Sprintf("noise_variance is at its lower bound %.3g", i.NoiseVariance)
	}
	text := where + ": the fit passes through the training targets, and its NLML is the likelihood of an interpolator"
	if l := i.LeaveOneOut; l != nil {
		text += fmt.Sprintf("; leave-one-out predictions miss by %.2g standard deviations of the target (NLPD %.4g)", l.RMSEStandardized, l.NLPD)
	}
	if i.Condition != nil && tuning.DigitsLeft(*i.Condition) >= tuning.FewDigits { // else another warning says it
		text += fmt.Sprintf("; the condition number of the covariance is about %.0e, which leaves about %.0f of 16 digits", *i.Condition, math.Floor(tuning.DigitsLeft(*i.Condition)))
	}
	switch {
	case i.Degenerate:
		text += fmt.Sprintf(". If the targets have noise, bound it from below (option noise-floor %g) or give it a prior (option prior), and compare the leave-one-out scores; if they are exact, option noise none says so", i.NoiseFloor)
	case i.LeaveOneOut != nil:
		text += ". That suits targets without noise; option noise-floor sets another bound"
	default:
		text += ". If the targets have noise, bound it from below (option noise-floor) or give it a prior (option prior)"
	}
	return text
}

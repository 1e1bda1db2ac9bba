package fit

import (
	"context"
	"fmt"
	"math"
	"strconv"

	"gpfit/fit/problem"
	"gpfit/fit/summary"
	"gpfit/graph"
	"gpfit/hyperopt/descent"
	"gpfit/internal/tuning"
)

// The limits of noise and errors of interpolators, as standard deviations in units of the
// targets' standard deviation. Kin40k, a simulation of a robot arm without noise, has
// errors of 0.064 (36,000 rows, matern32). Tables with noise that an interpolator fits have
// errors of 0.3 and more.
const (
	interpolatorNoise = 1e-3
	interpolatorError = 0.1
	// interpolatorFloor is the advised floor, as a share of the leave-one-out error.
	interpolatorFloor = 0.1
)

// interpolation examines a fit at z, whose factor the session holds; score is its
// leave-one-out score, nil if it is not known yet. The result is nil unless all estimated
// noise variances are tiny, and if the job has other noise.
func interpolation(ctx context.Context, s *tuning.Placement, at []descent.Bound, z []float64, score *summary.LeaveOneOutScore) (*summary.Interpolation, error) {
	j := s.Job
	noise, bounded := estimatedNoise(j.Prepared, at, z)
	if j.Sample.Noise.Known != nil || !tiny(j.Prepared, noise) {
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
	return j.Sample.TargetScale(0) / j.Sample.Scalings[0].YScale
}

// tiny reports whether an estimated noise variance is as small as with an interpolator. A
// negative number stands for none.
func tiny(j *problem.Prepared, noise float64) bool {
	return noise >= 0 && math.Sqrt(noise) <= interpolatorNoise*deviation(j)
}

// estimatedNoise returns the largest estimated noise variance at z, −1 without one, and
// whether it is at its lower bound.
func estimatedNoise(j *problem.Prepared, at []descent.Bound, z []float64) (noise float64, bounded bool) {
	noise = -1
	values := j.Params.Values(z)
	for i, e := range j.Params.All {
		if e.Group == graph.NoiseVariance && values[i] > noise && !j.Params.Free[e.Index].Fixed {
			noise, bounded = values[i], false
			for _, b := range at {
				bounded = bounded || b.Index == e.Index && b.Side == descent.Lower
			}
		}
	}
	return noise, bounded
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
func warning(i *summary.Interpolation, optima []summary.OptimumReport) string {
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
	if i.Better != nil {
		o := optima[*i.Better]
		text += fmt.Sprintf("; optimum %d, %.3g nats worse, does not interpolate and has the better leave-one-out score (NLPD %.4g)", *i.Better, o.Objective-optima[0].Objective, o.LeaveOneOut.NLPD)
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

package fit

import (
	"context"
	"fmt"
	"math"

	"gpfit/device"
	"gpfit/fit/problem"
	"gpfit/fit/summary"
	"gpfit/hyperopt/descent"
	"gpfit/internal/tuning"
)

// CrossValidate scores a job's model by K-fold cross-validation (Rasmussen & Williams
// 2006, §5.3). parameters are natural values of the scaled problem by name, as in a
// report; nil means the start values. Scaling and bounds remain those from all
// training rows. The folds are a random partition that depends on the seed, on K and
// on the number of rows; their sizes differ by at most one. With Options.Blocks they are
// blocks of consecutive rows. With Data.Group they keep groups together: the groups go,
// from the largest to the smallest, to the fold with the fewest rows so far, and the seed
// decides the order of groups of one size. Only one workspace is
// open at a time. The cost is K·(n(1−1/K))³/3 operations, plus the fits if cv.Refit.
// Errors: [*problem.OptionError] if the number of folds does not suit the rows, and the
// errors of evaluations.
func CrossValidate(ctx context.Context, j *tuning.Job, b device.Backend, parameters map[string]float64, cv problem.CrossValidation) (*summary.CrossValidationScores, error) {
	if err := j.SharedParameters("predictions of folds"); err != nil {
		return nil, err
	}
	n := j.N()
	folds, err := j.Sample.Divide(cv, j.Options.Blocks)
	if err != nil {
		return nil, err
	}
	z, err := j.Params.At(parameters)
	if err != nil {
		return nil, err
	}
	out := &summary.CrossValidationScores{Seed: cv.Seed, Blocks: j.Options.Blocks, Group: j.Sample.Data.GroupColumn, Refit: cv.Refit}
	for k, held := range folds {
		if cv.OnFold != nil {
			cv.OnFold(k, len(folds))
		}
		scores, err := scoreWithout(ctx, j, b, z, held, cv.Refit)
		if err != nil {
			return nil, fmt.Errorf("fold %d of %d: %w", k+1, len(folds), err)
		}
		for _, w := range scores.Warnings {
			out.Warnings = append(out.Warnings, fmt.Sprintf("fold %d of the cross-validation: %s", k+1, w))
		}
		out.Folds = append(out.Folds, *scores)
	}
	pool(out, n, j.Sample)
	out.Warnings = append(out.Warnings, summary.UndefinedWarning(out.NLPD, "cross-validation")...)
	return out, nil
}

// scoreWithout scores the rows held at z, or after a fit of the other rows that starts at
// z. An objective with folds divides the other rows again.
func scoreWithout(ctx context.Context, j *tuning.Job, b device.Backend, z []float64, held []int, refit bool) (*summary.FoldScores, error) {
	sub := j.On(j.Sample.Without(held))
	if j.Options.Objective.LeavesFoldsOut() {
		if refit {
			var err error
			if sub.Sample, err = sub.Sample.InFolds(j.Options.CriterionFolds(), j.Options.Blocks); err != nil {
				return nil, err
			}
		} else {
			sub.Options.Objective, sub.Sample.Fold = problem.NLML, nil
		}
	}
	return scoreFold(ctx, sub, b, z, refit)
}

// scoreFold scores the job's held-out rows at z, or after a fit that starts at z.
func scoreFold(ctx context.Context, j *tuning.Job, b device.Backend, z []float64, refit bool) (*summary.FoldScores, error) {
	s, err := j.Open(ctx, b)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	f := &summary.FoldScores{N: len(j.Sample.TestY) / j.Sample.T()}
	if refit {
		if z, err = tuneAgain(ctx, j, s, b.Capabilities().Precision, z); err != nil {
			return nil, err
		}
		f.Parameters = map[string]float64{}
		for i, v := range j.Params.Values(z) {
			f.Parameters[j.Params.All[i].Name] = v
		}
	}
	if _, err := s.Value(ctx, z); err != nil {
		return nil, err
	}
	posterior, err := s.Posterior(ctx, s.Model(z, ""))
	if err != nil {
		return nil, err
	}
	if f.Tests, err = scoreHeldOut(ctx, j, posterior); err != nil {
		return nil, err
	}
	if len(f.Tests) == 1 {
		f.RMSE = f.Tests[0].RMSE
	}
	for _, test := range f.Tests {
		f.NLPD += test.NLPD / summary.Number(len(f.Tests))
		f.Coverage95 += test.Coverage95 / float64(len(f.Tests))
	}
	f.Warnings = append(s.Warnings, jitterWarning(s)...)
	return f, nil
}

// refit tunes the parameters, starting at z.
func tuneAgain(ctx context.Context, j *tuning.Job, s *tuning.Placement, precision float64, z []float64) ([]float64, error) {
	settings := j.Options.Settings.Descents(j.N())
	settings.Precision = precision
	r, err := descent.Minimize(ctx, descent.Search{
		Objectives: []descent.Func{s}, Parameters: j.Params.List(), Starts: []descent.Start{{Z: z}},
	}, settings)
	if err != nil {
		return nil, err
	}
	return r.X, nil
}

// pool averages the scores over all n rows of a sample.
func pool(s *summary.CrossValidationScores, n int, of *problem.Sample) {
	var parts []summary.TargetScores
	for i := range of.T() {
		p, scale := summary.TargetScores{Name: of.TargetName(i)}, of.TargetScale(i)
		nlpd := make([]summary.Number, len(s.Folds))
		for k, f := range s.Folds {
			w, test := float64(f.N)/float64(n), f.Tests[i]
			p.NLPD += summary.Number(w) * test.NLPD
			p.RMSE += w * test.RMSE * test.RMSE
			p.Coverage95 += w * test.Coverage95
			nlpd[k] = test.NLPD
		}
		p.RMSE = math.Sqrt(p.RMSE)
		p.RMSEStandardized, p.NLPDStandardized = p.RMSE/scale, p.NLPD-summary.Number(math.Log(scale))
		p.NLPDStdError = foldError(nlpd, p.NLPD)
		parts = append(parts, p)
	}
	t := float64(len(parts))
	for _, p := range parts {
		s.NLPD += p.NLPD / summary.Number(t)
		s.NLPDStandardized += p.NLPDStandardized / summary.Number(t)
		s.RMSEStandardized += p.RMSEStandardized * p.RMSEStandardized / t
		s.Coverage95 += p.Coverage95 / t
	}
	s.RMSEStandardized = math.Sqrt(s.RMSEStandardized)
	nlpd := make([]summary.Number, len(s.Folds))
	for k := range s.Folds {
		nlpd[k] = s.Folds[k].NLPD
	}
	s.NLPDStdError = foldError(nlpd, s.NLPD)
	if len(parts) == 1 {
		s.RMSE = parts[0].RMSE
		s.Calibration = summary.NewCalibration(s.Coverage95, n)
		s.Verdict = summary.Verdict(s.Calibration, s.Coverage95, "rows predicted from other folds")
	} else {
		s.Targets = parts
	}
}

// foldError returns the standard error of a mean over folds, from the spread over the
// folds.
func foldError(folds []summary.Number, mean summary.Number) summary.Number {
	spread := 0.0
	for _, v := range folds {
		spread += float64((v - mean) * (v - mean))
	}
	k := float64(len(folds))
	return summary.Number(math.Sqrt(spread / (k * (k - 1))))
}

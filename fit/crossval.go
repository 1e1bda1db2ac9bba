package fit

import (
	"context"
	"fmt"
	"math"

	"gpfit/device"
	"gpfit/hyperopt/descent"
)

// CheckFolds returns an [*OptionError] if the job's rows, or its groups of rows, cannot
// be divided into the folds of cv.
func (j *Prepared) CheckFolds(cv CrossValidation) error {
	_, err := j.sample.divide(cv, j.opts.Blocks)
	return err
}

// CrossValidate scores a job's model by K-fold cross-validation (Rasmussen & Williams
// 2006, §5.3). parameters are natural values of the scaled problem by name, as in a
// report; nil means the start values. Scaling and bounds remain those from all
// training rows. The folds are a random partition that depends on the seed, on K and
// on the number of rows; their sizes differ by at most one. With Options.Blocks they are
// blocks of consecutive rows. With Data.Group they keep groups together: the groups go,
// from the largest to the smallest, to the fold with the fewest rows so far, and the seed
// decides the order of groups of one size. Only one workspace is
// open at a time. The cost is K·(n(1−1/K))³/3 operations, plus the fits if cv.Refit.
// Errors: [*OptionError] if the number of folds does not suit the rows, and the
// errors of evaluations.
func (j *Job) CrossValidate(ctx context.Context, b device.Backend, parameters map[string]float64, cv CrossValidation) (*CrossValidationScores, error) {
	if err := j.sharedParameters("predictions of folds"); err != nil {
		return nil, err
	}
	n := j.N()
	folds, err := j.sample.divide(cv, j.opts.Blocks)
	if err != nil {
		return nil, err
	}
	z, err := j.params.at(parameters)
	if err != nil {
		return nil, err
	}
	out := &CrossValidationScores{Seed: cv.Seed, Blocks: j.opts.Blocks, Group: j.sample.data.GroupColumn, Refit: cv.Refit}
	for k, held := range folds {
		if cv.OnFold != nil {
			cv.OnFold(k, len(folds))
		}
		scores, err := j.scoreWithout(ctx, b, z, held, cv.Refit)
		if err != nil {
			return nil, fmt.Errorf("fold %d of %d: %w", k+1, len(folds), err)
		}
		for _, w := range scores.warnings {
			out.Warnings = append(out.Warnings, fmt.Sprintf("fold %d of the cross-validation: %s", k+1, w))
		}
		out.Folds = append(out.Folds, *scores)
	}
	out.pool(n, j.sample)
	out.Warnings = append(out.Warnings, undefinedWarning(out.NLPD, "cross-validation")...)
	return out, nil
}

// scoreWithout scores the rows held at z, or after a fit of the other rows that starts at
// z. An objective with folds divides the other rows again.
func (j *Job) scoreWithout(ctx context.Context, b device.Backend, z []float64, held []int, refit bool) (*FoldScores, error) {
	sub := j.on(j.sample.without(held))
	if j.opts.Objective.LeavesFoldsOut() {
		if refit {
			var err error
			if sub.sample, err = sub.sample.inFolds(j.opts.folds(), j.opts.Blocks); err != nil {
				return nil, err
			}
		} else {
			sub.opts.Objective, sub.sample.fold = NLML, nil
		}
	}
	return sub.scoreFold(ctx, b, z, refit)
}

// scoreFold scores the job's held-out rows at z, or after a fit that starts at z.
func (j *Job) scoreFold(ctx context.Context, b device.Backend, z []float64, refit bool) (*FoldScores, error) {
	s, err := j.open(ctx, b)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	f := &FoldScores{N: len(j.sample.testY) / j.sample.t()}
	if refit {
		if z, err = j.refit(ctx, s, b.Capabilities().Precision, z); err != nil {
			return nil, err
		}
		f.Parameters = map[string]float64{}
		for i, v := range j.params.values(z) {
			f.Parameters[j.params.elements[i].name] = v
		}
	}
	if _, err := s.Value(ctx, z); err != nil {
		return nil, err
	}
	posterior, err := s.posterior(ctx, s.model(z, ""))
	if err != nil {
		return nil, err
	}
	if f.tests, err = j.score(ctx, posterior); err != nil {
		return nil, err
	}
	if len(f.tests) == 1 {
		f.RMSE = f.tests[0].RMSE
	}
	for _, test := range f.tests {
		f.NLPD += test.NLPD / Number(len(f.tests))
		f.Coverage95 += test.Coverage95 / float64(len(f.tests))
	}
	f.warnings = append(s.warnings, s.jitterWarning()...)
	return f, nil
}

// refit tunes the parameters, starting at z.
func (j *Job) refit(ctx context.Context, s *session, precision float64, z []float64) ([]float64, error) {
	settings := j.opts.Settings.Descents(j.N())
	settings.Precision = precision
	r, err := descent.Minimize(ctx, descent.Search{
		Objectives: []descent.Func{s}, Parameters: j.params.list(), Starts: []descent.Start{{Z: z}},
	}, settings)
	if err != nil {
		return nil, err
	}
	return r.X, nil
}

// pool averages the scores over all n rows of a sample.
func (s *CrossValidationScores) pool(n int, of *sample) {
	var parts []TargetScores
	for i := range of.t() {
		p, scale := TargetScores{Name: of.targetName(i)}, of.targetScale(i)
		nlpd := make([]Number, len(s.Folds))
		for k, f := range s.Folds {
			w, test := float64(f.N)/float64(n), f.tests[i]
			p.NLPD += Number(w) * test.NLPD
			p.RMSE += w * test.RMSE * test.RMSE
			p.Coverage95 += w * test.Coverage95
			nlpd[k] = test.NLPD
		}
		p.RMSE = math.Sqrt(p.RMSE)
		p.RMSEStandardized, p.NLPDStandardized = p.RMSE/scale, p.NLPD-Number(math.Log(scale))
		p.NLPDStdError = foldError(nlpd, p.NLPD)
		parts = append(parts, p)
	}
	t := float64(len(parts))
	for _, p := range parts {
		s.NLPD += p.NLPD / Number(t)
		s.NLPDStandardized += p.NLPDStandardized / Number(t)
		s.RMSEStandardized += p.RMSEStandardized * p.RMSEStandardized / t
		s.Coverage95 += p.Coverage95 / t
	}
	s.RMSEStandardized = math.Sqrt(s.RMSEStandardized)
	nlpd := make([]Number, len(s.Folds))
	for k := range s.Folds {
		nlpd[k] = s.Folds[k].NLPD
	}
	s.NLPDStdError = foldError(nlpd, s.NLPD)
	if len(parts) == 1 {
		s.RMSE = parts[0].RMSE
		s.Calibration = NewCalibration(s.Coverage95, n)
		s.Verdict = verdict(s.Calibration, s.Coverage95, "rows predicted from other folds")
	} else {
		s.Targets = parts
	}
}

// foldError returns the standard error of a mean over folds, from the spread over the
// folds.
func foldError(folds []Number, mean Number) Number {
	spread := 0.0
	for _, v := range folds {
		spread += float64((v - mean) * (v - mean))
	}
	k := float64(len(folds))
	return Number(math.Sqrt(spread / (k * (k - 1))))
}

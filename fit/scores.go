package fit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"gpfit/device"
	"gpfit/fit/internal/pursuit"
	"gpfit/fit/problem"
	"gpfit/fit/residual"
	"gpfit/fit/summary"
	"gpfit/fit/tuning"
	"gpfit/gp"
	"gpfit/graph"
	"gpfit/hyperopt/descent"
	"gpfit/internal/matrixrows"
	"gpfit/internal/score"
)

// scoreHeldOut predicts the held-out rows and scores them, for each target; nil if there are none.
func scoreHeldOut(ctx context.Context, j *tuning.Job, p *gp.Posterior) ([]*summary.TestScores, error) {
	s := j.Sample
	m := len(s.TestY) / s.T()
	if m == 0 {
		return nil, nil
	}
	if p == nil {
		return nil, context.Canceled
	}
	parts, err := gp.Predict(ctx, p, s.TestX, m, s.TestNoise)
	if err != nil {
		return nil, err
	}
	var out []*summary.TestScores
	ahead, err := newForecast(j.Prepared, p.Whole())
	if err != nil {
		return nil, err
	}
	for i, part := range parts {
		rows, _ := residual.Of(part, s.TestY[i*m:(i+1)*m])
		out = append(out, residual.Scores(rows, p.Whole(), s.TargetScale(i), j.Options.Robust, false))
		if ahead != nil {
			naive, misses := ahead.naive(i)
			out[i].Naive, out[i].Horizons = naive, ahead.horizons(rows, misses)
		}
	}
	return out, nil
}

// HeldOut returns the rows that the job holds out, in original units: features, row-major, noise,
// observations of each target, and numbers in the table.
func HeldOut(j *problem.Prepared) (x []float64, noise gp.RowNoise, observed [][]float64, numbers []int) {
	s := j.Sample
	for _, i := range matrixrows.Marked(s.Data.Test, s.Data.N, true) {
		numbers = append(numbers, s.Data.RowNumber(i))
	}
	for y := range slices.Chunk(s.TestY, max(len(numbers), 1)) {
		observed = append(observed, y)
	}
	return s.TestX, s.TestNoise, observed, numbers
}

// scoreLeaveOneOut returns the leave-one-out score at z if it was requested or is the objective;
// nil, with a warning, if a row alone determines a coefficient of the mean.
func scoreLeaveOneOut(ctx context.Context, s *tuning.Placement, z []float64) (*summary.LeaveOneOutScore, error) {
	if o := s.Job.Options; !o.LeaveOneOut && !o.Objective.LeavesOut() {
		return nil, nil
	}
	return leftOutScore(ctx, s, z)
}

// unaskedScore returns the leave-one-out score at z for a judgement; nil, without a warning, if
// it is undefined or the device cannot compute it.
func unaskedScore(ctx context.Context, s *tuning.Placement, z []float64) (*summary.LeaveOneOutScore, error) {
	warnings := len(s.Warnings)
	score, err := leftOutScore(ctx, s, z)
	s.Warnings = s.Warnings[:warnings]
	if _, ok := errors.AsType[*device.UnsupportedError](err); ok {
		return nil, nil
	}
	return score, err
}

// leftOutScore returns the leave-one-out score at z.
func leftOutScore(ctx context.Context, s *tuning.Placement, z []float64) (*summary.LeaveOneOutScore, error) {
	_, left, err := s.LeaveOut(ctx, z)
	if leverage, ok := errors.AsType[*graph.LeverageError](err); ok && !leverage.Fold {
		s.Warnings = append(s.Warnings, fmt.Sprintf("no leave-one-out score: %v", err))
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("leave-one-out: %w", err)
	}
	if problem.NotFinite(left.Density) {
		s.Warnings = append(s.Warnings, "no leave-one-out score: it is not a finite number; raise noise_variance")
		return nil, nil
	}
	return newPredictiveScore(s.Job.Sample, ofTarget(s.Job.Prepared, z, left)), nil
}

// addEvidence adds leave-one-out scores to a report whose verdict rests on them: it has no held-out rows, or too few.
// Without scores, as of a covariance close to singular, the verdict says that there are none. An error is a cancellation.
func addEvidence(ctx context.Context, r *summary.Report, j *tuning.Job, p *gp.Posterior) error {
	asked := j.Options.LeaveOneOut || j.Options.Objective.LeavesOut()
	if len(j.Sample.TestY)/j.Sample.T() >= summary.LeastRows || asked && r.Scores.LeaveOneOut == nil {
		return nil
	}
	if p == nil {
		return context.Canceled
	}
	score, err := leaveOneOut(ctx, j, p)
	switch {
	case problem.IsCancelled(err):
		return err
	case err != nil:
	case asked:
		if r.Scores.LeaveOneOut.Coverage95, r.Scores.LeaveOneOut.Targets = score.Coverage95, score.Targets; j.Options.Robust {
			r.Scores.LeaveOneOut = score
		}
	case !problem.NotFinite(score.Sum) && !problem.NotFinite(score.RMSEStandardized):
		r.Scores.LeaveOneOut = score
	}
	return nil
}

// leaveOneOut returns the leave-one-out scores of a posterior, with the coverage of its intervals.
func leaveOneOut(ctx context.Context, j *tuning.Job, p *gp.Posterior) (*summary.LeaveOneOutScore, error) {
	sum, coverage := graph.LeftOut{Squares: make([]float64, j.Sample.T())}, 0.0
	var targets []*summary.TestScores
	for t, scaling := range j.Sample.Scalings {
		left, err := p.Target(t).LeaveOneOut(ctx)
		if err != nil {
			return nil, fmt.Errorf("leave-one-out: %w", err)
		}
		one := left.Summary()
		sum.Places = one.Places
		sum.Density += (one.NLPD - math.Log(scaling.Unit())) * float64(one.N)
		sum.Squares[t] = one.RMSE * one.RMSE / (scaling.Unit() * scaling.Unit())
		coverage += one.Coverage95 / float64(len(sum.Squares))
		targets = append(targets, residual.Scores(left, p.Whole(), j.Sample.TargetScale(t), j.Options.Robust, true))
	}
	out := newPredictiveScore(j.Sample, sum)
	out.Coverage95 = &coverage
	if len(targets) > 1 || targets[0].Fitting != nil || targets[0].Far > 0 {
		out.Targets = targets
	}
	return out, nil
}

// foldScore returns the scores of the predictions that the objective makes of its folds,
// or nil if it has no folds.
func foldScore(s *tuning.Placement, z []float64) *summary.ObjectiveFolds {
	held, o := s.Objective.FoldScores(), s.Job.Options
	if held.Squares == nil || !o.Objective.LeavesFoldsOut() {
		return nil
	}
	f := &summary.ObjectiveFolds{Folds: len(s.Job.Sample.FoldEnds()), Blocks: o.Blocks, Group: s.Job.Sample.Data.GroupColumn}
	if !o.Blocks {
		f.Seed = o.FoldSeed
	}
	f.LeaveOneOutScore = *newPredictiveScore(s.Job.Sample, ofTarget(s.Job.Prepared, z, held))
	return f
}

// ofTarget returns the scores of left-out rows with the squared errors of a target that has a
// transform, whose mean depends on λ at z and on the variance, in place of the transformed target's.
// Outlying rows do not count in squared errors, which judge the noise of the others. The density takes rows as new
// ones, of which nobody knows whether they fit.
func ofTarget(j *problem.Prepared, z []float64, left graph.LeftOut) graph.LeftOut {
	scaling, y, n := problem.ScalingAt(j.Sample.Scalings[0], j.Params, z), j.Sample.Y, j.Sample.N()
	outlying, own := j.Sample.OutlyingRows()
	fitting := slices.DeleteFunc(matrixrows.All(n), func(i int) bool { return slices.Contains(outlying, i) })
	if scaling.Transform == nil && len(fitting) == n {
		return left
	}
	targets := scaling.Targets(y)
	if len(own) > 0 {
		left.Density += mixtureLoss(j, z, left, own)
	}
	left.Squares = make([]float64, j.Sample.T())
	for t := range left.Squares {
		for _, i := range fitting {
			d := left.Errors[t*n+i]
			if scaling.Transform != nil {
				mean, _ := scaling.Transform.Moments((targets[i]-d)*scaling.YScale+scaling.YMean, math.Sqrt(left.Variances[i])*scaling.YScale)
				d = (y[i] - mean) / scaling.Unit()
			}
			left.Squares[t] += d * d / float64(len(fitting))
		}
	}
	return left
}

// mixtureLoss returns by how much the negative log density of left-out rows grows if nobody knows which of them
// are outlying, some of which have noise variances of their own.
func mixtureLoss(j *problem.Prepared, z []float64, left graph.LeftOut, own []float64) (loss float64) {
	noise, _ := estimatedNoise(j, nil, z) // where the difference of variances cancels
	share, variance := pursuit.Share(len(own), j.Sample.N()), score.Mean(own)
	for k, d := range left.Errors {
		v := left.Variances[k%len(left.Variances)]
		fits := max(v-j.Sample.Outlying[k%j.Sample.N()], noise, v*0x1p-52)
		mixed := score.Predictive{{Std: math.Sqrt(fits), Weight: 1 - share}, {Std: math.Sqrt(fits + variance), Weight: share}}
		loss += mixed.NegLog(d) - score.Normal{Std: math.Sqrt(v)}.NegLog(d)
	}
	return loss
}

// newPredictiveScore returns scores of the rows of a sample from scores of the scaled problem.
func newPredictiveScore(from *problem.Sample, left graph.LeftOut) *summary.LeaveOneOutScore {
	l := &summary.LeaveOneOutScore{Places: left.Places, Sum: left.Density, SumOriginalUnits: left.Density}
	for i, scaling := range from.Scalings {
		l.SumOriginalUnits += float64(from.N()) * math.Log(scaling.Unit())
		rmse := math.Sqrt(left.Squares[i]) * scaling.Unit()
		standardized := rmse / from.TargetScale(i)
		l.RMSEStandardized += standardized * standardized / float64(from.T())
		if from.T() == 1 {
			l.RMSE = rmse
		}
	}
	l.RMSEStandardized = math.Sqrt(l.RMSEStandardized)
	l.NLPD = l.SumOriginalUnits / float64(len(from.Targets))
	l.NLPDStandardized = l.NLPD
	for i := range from.T() {
		l.NLPDStandardized -= math.Log(from.TargetScale(i)) / float64(from.T())
	}
	return l
}

// CrossValidate scores a job's model by K-fold cross-validation (Rasmussen & Williams 2006,
// §5.3). parameters are natural values of the scaled problem by name, as in a report; nil means
// the start values. Scaling and bounds still come from all training rows. The folds are a random
// partition by seed, K and number of rows, of sizes that differ by at most one, blocks of
// consecutive rows with Options.Blocks, and whole groups with Data.Group, each, from the largest
// on, in the fold with the fewest rows so far. One workspace is open at a time on b, and on
// each of further backends, on which other folds run. The cost is K·(n(1−1/K))³/3 operations, plus the
// fits if cv.Refit. Errors: [*problem.OptionError] if the number of folds does not suit the rows, and the
// errors of evaluations.
func CrossValidate(ctx context.Context, j *tuning.Job, b device.Backend, parameters map[string]float64, cv problem.CrossValidation, others ...device.Backend) (*summary.CrossValidationScores, error) {
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
	out.Folds = make([]summary.FoldScores, len(folds))
	var telling sync.Mutex
	err = descent.SideBySide(ctx, len(folds), append([]device.Backend{b}, others...), func(ctx context.Context, b device.Backend, k int) error {
		if cv.OnFold != nil {
			telling.Lock()
			cv.OnFold(k, len(folds))
			telling.Unlock()
		}
		scores, err := scoreWithout(ctx, j, b, z, folds[k], cv.Refit)
		if err != nil {
			return fmt.Errorf("fold %d of %d: %w", k+1, len(folds), err)
		}
		out.Folds[k] = *scores
		return nil
	})
	if err != nil {
		return nil, err
	}
	for k, scores := range out.Folds {
		for _, w := range scores.Warnings {
			out.Warnings = append(out.Warnings, fmt.Sprintf("fold %d of the cross-validation: %s", k+1, w))
		}
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
	w := &tuning.Workplace{Job: j, Backends: []device.Backend{b}}
	defer w.Close()
	if j.Options.Robust {
		var err error
		if z, err = foldRows(ctx, w, z, refit); err != nil {
			return nil, err
		}
		j = w.Job
	}
	s, err := w.First(ctx)
	if err != nil {
		return nil, err
	}
	f := &summary.FoldScores{N: len(j.Sample.TestY) / j.Sample.T()}
	if refit && !j.Options.Robust {
		if z, err = tuneAgain(ctx, j, s, b.Capabilities().Precision, z); err != nil {
			return nil, err
		}
	}
	if refit {
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
		f.RMSE, f.Naive = f.Tests[0].RMSE, f.Tests[0].Naive
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
		p.Fitting = poolFitting(s.Folds, i, scale)
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
		s.RMSE, s.Fitting = parts[0].RMSE, parts[0].Fitting
		s.Calibration = summary.NewCalibration(s.Coverage95, n)
	} else {
		s.Targets = parts
	}
}

// poolFitting returns the scores of the rows of a target that fit, over all folds; nil if all fit.
func poolFitting(folds []summary.FoldScores, target int, scale float64) *summary.TestScores {
	pooled, squares, within, all := &summary.TestScores{}, 0.0, 0.0, 0
	for _, f := range folds {
		test := cmp.Or(f.Tests[target].Fitting, f.Tests[target])
		n := float64(test.N)
		all += f.N
		pooled.N += test.N
		pooled.NLPD += summary.Number(n) * test.NLPD
		squares += n * test.RMSE * test.RMSE
		within += n * test.Coverage95
	}
	if pooled.N == all {
		return nil
	}
	n := float64(pooled.N)
	pooled.RMSE, pooled.Coverage95, pooled.NLPD = math.Sqrt(squares/n), within/n, pooled.NLPD/summary.Number(n)
	pooled.RMSEStandardized, pooled.NLPDStandardized = pooled.RMSE/scale, pooled.NLPD-summary.Number(math.Log(scale))
	return pooled
}

// foldError returns the standard error of a mean over folds, from the spread over the folds.
func foldError(folds []summary.Number, mean summary.Number) summary.Number {
	spread := 0.0
	for _, v := range folds {
		spread += float64((v - mean) * (v - mean))
	}
	k := float64(len(folds))
	return summary.Number(math.Sqrt(spread / (k * (k - 1))))
}

// jitterWarning returns a warning if jitter was added to the diagonal.
func jitterWarning(s *tuning.Placement) []string {
	jitter := s.Objective.Terms().Jitter
	if jitter == 0 {
		return nil
	}
	return []string{fmt.Sprintf("a jitter of %.3g was added to the diagonal, as option max-jitter allows", jitter)}
}

package fit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gpfit/device"
	"gpfit/fit/problem"
	"gpfit/fit/summary"
	"gpfit/gp"
	"gpfit/graph"
	"gpfit/internal/score"
	"gpfit/internal/tuning"
)

// newTestScores scores predictions of held-out targets y; scale is the standard
// deviation of the training targets.
func newTestScores(p *gp.Prediction, y []float64, scale float64) *summary.TestScores {
	var sum score.Tally
	for i, v := range y {
		sum.Add(v-p.Mean[i], p.Density(i).NegLog(v), v >= p.Lower95[i] && v <= p.Upper95[i])
	}
	s := summary.TestScores{
		N: sum.N, RMSE: sum.RMSE(), RMSEStandardized: sum.RMSE() / scale, Coverage95: sum.Coverage(0),
		NLPD: summary.Number(sum.NLPD()), NLPDStandardized: summary.Number(sum.NLPD() - math.Log(scale)),
	}
	s.Calibration = summary.NewCalibration(s.Coverage95, s.N)
	s.Verdict = summary.Verdict(s.Calibration, s.Coverage95, "held-out rows")
	return &s
}

// scoreHeldOut predicts the held-out rows and scores them, for each target; nil if there
// are none.
func scoreHeldOut(ctx context.Context, j *tuning.Job, p *gp.Posterior) ([]*summary.TestScores, error) {
	s := j.Sample
	m := len(s.TestY) / s.T()
	if m == 0 {
		return nil, nil
	}
	parts, err := p.PredictTargets(ctx, s.TestX, m, s.TestNoise)
	if err != nil {
		return nil, err
	}
	var out []*summary.TestScores
	for i, part := range parts {
		out = append(out, newTestScores(part, s.TestY[i*m:(i+1)*m], s.TargetScale(i)))
	}
	return out, nil
}

// HeldOut returns the rows that the job holds out, in original units: their features,
// row-major, their noise, the observations of each target, and their numbers in the table.
// There are none without held-out rows.
func HeldOut(j *problem.Prepared) (x []float64, noise gp.RowNoise, observed [][]float64, numbers []int) {
	s := j.Sample
	for i, held := range s.Data.Test {
		if held {
			if s.Data.Row != nil {
				i = s.Data.Row[i]
			}
			numbers = append(numbers, i)
		}
	}
	for y := range slices.Chunk(s.TestY, max(len(numbers), 1)) {
		observed = append(observed, y)
	}
	return s.TestX, s.TestNoise, observed, numbers
}

// scoreLeaveOneOut returns the leave-one-out score at z if it was requested or is the
// objective. If the score is undefined, because a row alone determines a coefficient
// of the mean, a warning says so and the score is nil.
func scoreLeaveOneOut(ctx context.Context, s *tuning.Placement, z []float64) (*summary.LeaveOneOutScore, error) {
	if o := s.Job.Options; !o.LeaveOneOut && !o.Objective.LeavesOut() {
		return nil, nil
	}
	return leftOutScore(ctx, s, z)
}

// unaskedScore returns the leave-one-out score at z for a judgement that the options did
// not request. It is nil, without a warning, if the score is undefined or the device cannot
// compute it.
func unaskedScore(ctx context.Context, s *tuning.Placement, z []float64) (*summary.LeaveOneOutScore, error) {
	warnings := len(s.Warnings)
	score, err := leftOutScore(ctx, s, z)
	s.Warnings = s.Warnings[:warnings]
	var unsupported *device.UnsupportedError
	if errors.As(err, &unsupported) {
		return nil, nil
	}
	return score, err
}

// leftOutScore returns the leave-one-out score at z.
func leftOutScore(ctx context.Context, s *tuning.Placement, z []float64) (*summary.LeaveOneOutScore, error) {
	sum, err := s.LeaveOneOut(ctx, z)
	var leverage *graph.LeverageError
	if errors.As(err, &leverage) && !leverage.Fold {
		s.Warnings = append(s.Warnings, fmt.Sprintf("no leave-one-out score: %v", err))
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("leave-one-out: %w", err)
	}
	if problem.NotFinite(sum) {
		s.Warnings = append(s.Warnings, "no leave-one-out score: it is not a finite number; raise noise_variance")
		return nil, nil
	}
	return newPredictiveScore(s.Job.Sample, sum, s.Objective.LeftOutSquares()), nil
}

// foldScore returns the scores of the predictions that the objective makes of its folds,
// or nil if it has no folds.
func foldScore(s *tuning.Placement) *summary.ObjectiveFolds {
	sum, squares := s.Objective.FoldScores()
	if squares == nil {
		return nil
	}
	o := s.Job.Options
	f := &summary.ObjectiveFolds{Folds: len(s.Job.Sample.FoldEnds()), Blocks: o.Blocks, Group: s.Job.Sample.Data.GroupColumn}
	if !o.Blocks {
		f.Seed = o.FoldSeed
	}
	f.LeaveOneOutScore = *newPredictiveScore(s.Job.Sample, sum, squares)
	return f
}

// newPredictiveScore returns scores of the rows of a sample from the negative log
// predictive density of the scaled problem and the mean squared error of each target.
func newPredictiveScore(from *problem.Sample, sum float64, squares []float64) *summary.LeaveOneOutScore {
	l := &summary.LeaveOneOutScore{Sum: sum, SumOriginalUnits: sum}
	for i, scaling := range from.Scalings {
		l.SumOriginalUnits += float64(from.N()) * math.Log(scaling.YScale)
		rmse := math.Sqrt(squares[i]) * scaling.YScale
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

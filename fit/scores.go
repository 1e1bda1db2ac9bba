package fit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gpfit/device"
	"gpfit/gp"
	"gpfit/graph"
	"gpfit/internal/score"
)

// newTestScores scores predictions of held-out targets y; scale is the standard
// deviation of the training targets.
func newTestScores(p *gp.Prediction, y []float64, scale float64) *TestScores {
	var sum score.Tally
	for i, v := range y {
		sum.Add(v-p.Mean[i], p.Density(i).NegLog(v), v >= p.Lower95[i] && v <= p.Upper95[i])
	}
	s := TestScores{
		N: sum.N, RMSE: sum.RMSE(), RMSEStandardized: sum.RMSE() / scale, Coverage95: sum.Coverage(0),
		NLPD: Number(sum.NLPD()), NLPDStandardized: Number(sum.NLPD() - math.Log(scale)),
	}
	s.Calibration = NewCalibration(s.Coverage95, s.N)
	s.Verdict = verdict(s.Calibration, s.Coverage95, "held-out rows")
	return &s
}

// score predicts the held-out rows and scores them, for each target; nil if there
// are none.
func (j *Job) score(ctx context.Context, p *gp.Posterior) ([]*TestScores, error) {
	s := j.sample
	m := len(s.testY) / s.t()
	if m == 0 {
		return nil, nil
	}
	parts, err := p.PredictTargets(ctx, s.testX, m, s.testNoise)
	if err != nil {
		return nil, err
	}
	var out []*TestScores
	for i, part := range parts {
		out = append(out, newTestScores(part, s.testY[i*m:(i+1)*m], s.targetScale(i)))
	}
	return out, nil
}

// HeldOut returns the rows that the job holds out, in original units: their features,
// row-major, their noise, the observations of each target, and their numbers in the table.
// There are none without held-out rows.
func (j *Prepared) HeldOut() (x []float64, noise gp.RowNoise, observed [][]float64, numbers []int) {
	s := j.sample
	for i, held := range s.data.Test {
		if held {
			if s.data.Row != nil {
				i = s.data.Row[i]
			}
			numbers = append(numbers, i)
		}
	}
	for y := range slices.Chunk(s.testY, max(len(numbers), 1)) {
		observed = append(observed, y)
	}
	return s.testX, s.testNoise, observed, numbers
}

// scoreLeaveOneOut returns the leave-one-out score at z if it was requested or is the
// objective. If the score is undefined, because a row alone determines a coefficient
// of the mean, a warning says so and the score is nil.
func (s *session) scoreLeaveOneOut(ctx context.Context, z []float64) (*LeaveOneOutScore, error) {
	if o := s.job.opts; !o.LeaveOneOut && !o.Objective.LeavesOut() {
		return nil, nil
	}
	return s.leftOutScore(ctx, z)
}

// unaskedScore returns the leave-one-out score at z for a judgement that the options did
// not request. It is nil, without a warning, if the score is undefined or the device cannot
// compute it.
func (s *session) unaskedScore(ctx context.Context, z []float64) (*LeaveOneOutScore, error) {
	warnings := len(s.warnings)
	score, err := s.leftOutScore(ctx, z)
	s.warnings = s.warnings[:warnings]
	var unsupported *device.UnsupportedError
	if errors.As(err, &unsupported) {
		return nil, nil
	}
	return score, err
}

// leftOutScore returns the leave-one-out score at z.
func (s *session) leftOutScore(ctx context.Context, z []float64) (*LeaveOneOutScore, error) {
	sum, err := s.leaveOneOut(ctx, z)
	var leverage *graph.LeverageError
	if errors.As(err, &leverage) && !leverage.Fold {
		s.warnings = append(s.warnings, fmt.Sprintf("no leave-one-out score: %v", err))
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("leave-one-out: %w", err)
	}
	if notFinite(sum) {
		s.warnings = append(s.warnings, "no leave-one-out score: it is not a finite number; raise noise_variance")
		return nil, nil
	}
	return newPredictiveScore(s.job.sample, sum, s.obj.LeftOutSquares()), nil
}

// foldScore returns the scores of the predictions that the objective makes of its folds,
// or nil if it has no folds.
func (s *session) foldScore() *ObjectiveFolds {
	sum, squares := s.obj.FoldScores()
	if squares == nil {
		return nil
	}
	o := s.job.opts
	f := &ObjectiveFolds{Folds: len(s.job.sample.foldEnds()), Blocks: o.Blocks, Group: s.job.sample.data.GroupColumn}
	if !o.Blocks {
		f.Seed = o.FoldSeed
	}
	f.LeaveOneOutScore = *newPredictiveScore(s.job.sample, sum, squares)
	return f
}

// newPredictiveScore returns scores of the rows of a sample from the negative log
// predictive density of the scaled problem and the mean squared error of each target.
func newPredictiveScore(from *sample, sum float64, squares []float64) *LeaveOneOutScore {
	l := &LeaveOneOutScore{Sum: sum, SumOriginalUnits: sum}
	for i, scaling := range from.scalings {
		l.SumOriginalUnits += float64(from.n()) * math.Log(scaling.YScale)
		rmse := math.Sqrt(squares[i]) * scaling.YScale
		standardized := rmse / from.targetScale(i)
		l.RMSEStandardized += standardized * standardized / float64(from.t())
		if from.t() == 1 {
			l.RMSE = rmse
		}
	}
	l.RMSEStandardized = math.Sqrt(l.RMSEStandardized)
	l.NLPD = l.SumOriginalUnits / float64(len(from.targets))
	l.NLPDStandardized = l.NLPD
	for i := range from.t() {
		l.NLPDStandardized -= math.Log(from.targetScale(i)) / float64(from.t())
	}
	return l
}

package fit

import (
	"context"
	"errors"
	"fmt"
	"math"

	"gpfit/gp"
	"gpfit/graph"
)

// newTestScores scores predictions of held-out targets y; scale is the standard
// deviation of the training targets.
func newTestScores(p *gp.Prediction, y []float64, scale float64) *TestScores {
	s := TestScores{N: len(y)}
	nlpd := 0.0
	for i, v := range y {
		err, std := v-p.Mean[i], p.Std[i]
		s.RMSE += err * err
		switch {
		case std > 0:
			nlpd += 0.5*math.Log(2*math.Pi*std*std) + err*err/(2*std*std)
		case err != 0:
			nlpd = math.Inf(1) // no density at the target
		default:
			nlpd -= math.Inf(1)
		}
		if v >= p.Lower95[i] && v <= p.Upper95[i] {
			s.Coverage95++
		}
	}
	n := float64(s.N)
	nlpd /= n
	s.RMSE, s.NLPD, s.Coverage95 = math.Sqrt(s.RMSE/n), Number(nlpd), s.Coverage95/n
	s.Calibration = newCalibration(s.Coverage95, s.N)
	s.Verdict = verdict(s.Calibration, s.Coverage95, "held-out rows")
	s.RMSEStandardized = s.RMSE / scale
	s.NLPDStandardized = Number(nlpd - math.Log(scale))
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

// scoreLeaveOneOut returns the leave-one-out score at z if it was requested or is the
// objective. If the score is undefined, because a row alone determines a coefficient
// of the mean, a warning says so and the score is nil.
func (s *session) scoreLeaveOneOut(ctx context.Context, z []float64) (*LeaveOneOutScore, error) {
	if o := s.job.opts; !o.LeaveOneOut && !o.Objective.LeavesOut() {
		return nil, nil
	}
	return s.leftOutScore(ctx, z)
}

// leftOutScore returns the leave-one-out score at z, requested or not.
func (s *session) leftOutScore(ctx context.Context, z []float64) (*LeaveOneOutScore, error) {
	sum, err := s.leaveOneOut(ctx, z)
	var leverage *graph.LeverageError
	if errors.As(err, &leverage) {
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
	from := s.job.sample
	l := &LeaveOneOutScore{Sum: sum, SumOriginalUnits: sum}
	squares := s.obj.LeftOutSquares()
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
	return l, nil
}

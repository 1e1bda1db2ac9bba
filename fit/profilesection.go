package fit

import (
	"context"
	"math"
	"slices"

	"gpfit/fit/summary"
	"gpfit/fit/tuning"
)

// halfChiSquare is half the 95 % point of χ² with one degree of freedom: the largest
// decrease of the log likelihood within the interval of a profile likelihood.
const halfChiSquare = 1.920729410347062

// findLowest finds the lowest point and the minima of a section with these points.
func findLowest(s *summary.ProfileSection, points []*gridPoint) {
	s.Lowest = -1
	full := 2 * len(s.Axes)
	for k := range s.Points {
		f := s.Points[k].F
		if !math.IsInf(f, 1) && (s.Lowest < 0 || f < s.Points[s.Lowest].F) {
			s.Lowest = k
		}
		higher := func(n int) bool { return s.Points[n-points[0].index].F > f }
		if around := points[k].around; len(around) == full && !slices.ContainsFunc(around, func(n int) bool { return !higher(n) }) {
			s.Minima = append(s.Minima, k)
		}
	}
}

// findInterval finds the 95 % interval of a profile likelihood.
func findInterval(s *summary.ProfileSection, j *tuning.Job) {
	if s.Lowest < 0 {
		return
	}
	limit := s.Points[s.Lowest].F + halfChiSquare
	within := func(p summary.ProfilePoint) bool { return p.F <= limit }
	lower := slices.IndexFunc(s.Points, within)
	upper := lower
	s.Interval95 = &summary.ProfileInterval{}
	for k, p := range s.Points {
		if within(p) {
			s.Interval95.Gaps = s.Interval95.Gaps || k > upper+1
			upper = k
		}
	}
	axis := &s.Axes[0]
	q := j.Params.Free[axis.Index]
	// crossing returns the value between two points at which a line meets the limit.
	crossing := func(in, out int) *float64 {
		if out < 0 || out >= len(s.Points) || math.IsInf(s.Points[out].F, 1) {
			return nil
		}
		a, b := &s.Points[in], &s.Points[out]
		t := (limit - a.F) / (b.F - a.F)
		v := q.Natural(a.Z[axis.Index]*(1-t) + b.Z[axis.Index]*t)
		return &v
	}
	s.Interval95.Lower, s.Interval95.Upper = crossing(lower, lower-1), crossing(upper, upper+1)
}

// alongPoints is the number of inputs of a prediction along a column, and alongBeyond the
// share of the column's range by which they go beyond it.
const (
	alongPoints = 121
	alongBeyond = 0.05
)

// alongColumn predicts along the only column in use at z, which the session evaluated last.
func alongColumn(ctx context.Context, s *tuning.Placement, z []float64) (*summary.ProfilePrediction, error) {
	from := s.Job.Sample
	posterior, err := s.Posterior(ctx, s.Model(z, ""))
	if err != nil {
		return nil, err
	}
	lo, hi := slices.Min(from.X), slices.Max(from.X)
	room := alongBeyond * (hi - lo)
	out := &summary.ProfilePrediction{}
	var rows []float64
	for k := range alongPoints {
		t := float64(k) / (alongPoints - 1)
		at := (lo-room)*(1-t) + (hi+room)*t
		row := from.FirstRows(1) // the other columns are constant
		row[from.Columns[0]] = at
		out.Inputs, rows = append(out.Inputs, at), append(rows, row...)
	}
	prediction, err := posterior.Predict(ctx, rows, alongPoints)
	if err != nil {
		return nil, err
	}
	out.Mean, out.Lower95, out.Upper95 = prediction.Mean, prediction.Lower95, prediction.Upper95
	return out, nil
}

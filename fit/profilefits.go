package fit

import (
	"context"
	"slices"

	"gpfit/fit/summary"
	"gpfit/internal/tuning"
)

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

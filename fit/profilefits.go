package fit

import (
	"context"
	"slices"
)

// alongPoints is the number of inputs of a prediction along a column, and alongBeyond the
// share of the column's range by which they go beyond it.
const (
	alongPoints = 121
	alongBeyond = 0.05
)

// alongColumn predicts along the only column in use at z, which the session evaluated last.
func (s *session) alongColumn(ctx context.Context, z []float64) (*ProfilePrediction, error) {
	from := s.job.sample
	posterior, err := s.posterior(ctx, s.model(z, ""))
	if err != nil {
		return nil, err
	}
	lo, hi := slices.Min(from.x), slices.Max(from.x)
	room := alongBeyond * (hi - lo)
	out := &ProfilePrediction{}
	var rows []float64
	for k := range alongPoints {
		t := float64(k) / (alongPoints - 1)
		at := (lo-room)*(1-t) + (hi+room)*t
		row := from.firstRows(1) // the other columns are constant
		row[from.columns[0]] = at
		out.Inputs, rows = append(out.Inputs, at), append(rows, row...)
	}
	prediction, err := posterior.Predict(ctx, rows, alongPoints)
	if err != nil {
		return nil, err
	}
	out.Mean, out.Lower95, out.Upper95 = prediction.Mean, prediction.Lower95, prediction.Upper95
	return out, nil
}

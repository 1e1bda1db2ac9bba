package summary

import "slices"

// RobustReport lists the rows that do not fit the model, which option robust found.
type RobustReport struct {
	Rows []OutlyingRow `json:"rows"`
	// NegLogPrior is the negative logarithm of the prior of the set of rows, up to a constant; the
	// search minimizes its sum with the objective.
	NegLogPrior float64 `json:"neg_log_prior"`
	// Share is the probability with which predictions expect a new row that does not fit, and NoiseVariance the mean of
	// the rows' own variances, which it then has in addition; both are 0 without such rows.
	Share         float64 `json:"share"`
	NoiseVariance float64 `json:"noise_variance"`
}

// OutlyingRow is a row with a noise variance of its own.
type OutlyingRow struct {
	// Row is the number of the row in its table, from 0.
	Row int `json:"row"`
	// Deviations are the differences of its targets from their leave-one-out predictions, in
	// standard deviations of an observation with the noise of the other rows.
	Deviations []float64 `json:"deviations"`
	// NoiseVariance is its own, which the model adds, in scaled units.
	NoiseVariance float64 `json:"noise_variance"`
}

// Farthest returns the rows with the largest deviations first.
func (r *RobustReport) Farthest() []OutlyingRow {
	size := func(o OutlyingRow) float64 { return max(slices.Max(o.Deviations), -slices.Min(o.Deviations)) }
	rows := slices.Clone(r.Rows)
	slices.SortStableFunc(rows, func(a, b OutlyingRow) int {
		if size(a) > size(b) {
			return -1
		}
		return 1
	})
	return rows
}

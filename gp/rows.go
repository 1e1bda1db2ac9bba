package gp

import "fmt"

// scaledRows picks the columns in use from n rows of features, row-major with
// one column for every name in FeatureNames, and scales them: n×len(Columns).
func (m *Model) scaledRows(rows []float64, n int) ([]float64, error) {
	all, d := len(m.FeatureNames), len(m.Columns)
	if len(rows) != n*all {
		return nil, fmt.Errorf("gp: %d numbers for %d rows of %d features", len(rows), n, all)
	}
	used := make([]float64, n*d)
	for i := range n {
		for q, c := range m.Columns {
			used[i*d+q] = rows[i*all+c]
		}
	}
	return m.Scaling.Inputs(used), nil
}

// means returns the mean function at n scaled rows, in scaled units.
func (m *Model) means(scaled []float64, n int) []float64 {
	d := len(m.Columns)
	out := make([]float64, n)
	for i := range n {
		out[i] = m.MeanConstant
		for q, w := range m.MeanLinear {
			out[i] += w * scaled[i*d+q]
		}
	}
	return out
}

// meanSlopes adds the derivatives of the mean function at n scaled rows by their
// coordinates to grad, n×len(Columns), in scaled units.
func (m *Model) meanSlopes(_, grad []float64) {
	d := len(m.Columns)
	if len(m.MeanLinear) == 0 {
		return
	}
	for i := range grad {
		grad[i] += m.MeanLinear[i%d]
	}
}

// noises returns the noise variance of a new observation at n scaled rows, in
// scaled units.
func (m *Model) noises(n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = m.NoiseVariance
	}
	return out
}

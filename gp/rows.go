package gp

import "fmt"

// scaledRows selects the columns in use from n rows of features, row-major with one
// column for every name in FeatureNames, and scales them. The result is
// n×len(Columns).
func (m *Model) scaledRows(rows []float64, n int) ([]float64, error) {
	all, d := len(m.FeatureNames), len(m.Columns)
	if len(rows) != n*all {
		return nil, fmt.Errorf("gp: got %d numbers for %d rows of %d features", len(rows), n, all)
	}
	used := make([]float64, n*d)
	for i := range n {
		for q, c := range m.Columns {
			used[i*d+q] = rows[i*all+c]
		}
	}
	return m.Scaling.Inputs(used), nil
}

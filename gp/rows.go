package gp

import "fmt"

// ShapeError reports rows whose length does not match the features of a model.
type ShapeError struct {
	// Numbers is the number of values given for Rows rows of Features features.
	Numbers, Rows, Features int
}

func (e *ShapeError) Error() string {
	return fmt.Sprintf("gp: got %d numbers for %d rows of %d features", e.Numbers, e.Rows, e.Features)
}

// scaledRows selects the columns in use from n rows of features, row-major with one
// column for every name in FeatureNames, and scales them. The result is
// n×len(Columns). Errors are [*ShapeError].
func (m *Model) scaledRows(rows []float64, n int) ([]float64, error) {
	all, d := len(m.FeatureNames), len(m.Columns)
	if n < 0 || len(rows) != n*all {
		return nil, &ShapeError{Numbers: len(rows), Rows: n, Features: all}
	}
	used := make([]float64, n*d)
	for i := range n {
		for q, c := range m.Columns {
			used[i*d+q] = rows[i*all+c]
		}
	}
	return m.Scaling.Inputs(used), nil
}

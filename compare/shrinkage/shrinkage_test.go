package shrinkage

import (
	"testing"

	"gpfit/fit/problem"
	"gpfit/gp"
	"gpfit/internal/testcheck"
)

// TestRidgeOfOneColumn compares a path with the weight of one column, Sxy/(Sxx + λ), and the degrees of freedom,
// 1 + Sxx/(Sxx + λ) (ESL, eq. 3.44 and 3.50).
func TestRidgeOfOneColumn(t *testing.T) {
	data := problem.Data{N: 5, D: 1, X: []float64{-2, -1, 0, 1, 2}, Y: []float64{1, 0, 4, 3, 7}, FeatureNames: []string{"x"}, TargetName: "y"}
	const sxx, sxy, mean = 10, 15, 3
	r := testcheck.Get(Run(t.Context(), data, problem.Options{Standardize: gp.StandardizeNone}, Options{Penalty: Ridge, Lambdas: []float64{40, 10, 0}}))(t)
	for i, lambda := range []float64{40, 10, 0} {
		testcheck.Within(t, r.Lambdas[i], lambda, 0, "λ %d", i)
		testcheck.Within(t, r.Weights[i][0], sxy/(sxx+lambda), 1e-14, "weight for λ = %g", lambda)
		testcheck.Within(t, r.Intercepts[i], mean, 1e-14, "intercept for λ = %g", lambda)
		testcheck.Within(t, r.Freedom[i], 1+sxx/(sxx+lambda), 1e-14, "degrees of freedom for λ = %g", lambda)
	}
}

package baseline_test

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"gpfit/compare/baseline"
	"gpfit/internal/testcheck"
)

// lassoConditions bounds violations of the conditions of Karush, Kuhn and Tucker of columns around 1.
const lassoConditions = 1e-8

// checkConditions computes the conditions of the minimum from the weights, intercept and
// data alone, for a lasso without scaling, and compares the reported violations.
func checkConditions(t *testing.T, path *baseline.Path, x *mat.Dense, y []float64) {
	t.Helper()
	n, d := x.Dims()
	for i, lambda := range path.Lambdas {
		residual := slices.Clone(y)
		floats.AddConst(-path.Intercepts[i], residual)
		for c, w := range path.Weights[i] {
			floats.AddScaled(residual, -w, mat.Col(nil, c, x))
		}
		if sum := floats.Sum(residual); math.Abs(sum) > lassoConditions*float64(n) {
			t.Errorf("λ %d: residuals sum to %v", i, sum)
		}
		worst := 0.0
		for c := range d {
			gradient := floats.Dot(mat.Col(nil, c, x), residual) / float64(n)
			if w := path.Weights[i][c]; w != 0 {
				worst = max(worst, math.Abs(gradient-math.Copysign(lambda, w)))
			} else {
				worst = max(worst, math.Abs(gradient)-lambda)
			}
		}
		if worst > lassoConditions || path.Violations[i] > lassoConditions {
			t.Errorf("λ %d = %v violates its conditions by %v, reported %v", i, lambda, worst, path.Violations[i])
		}
	}
}

// TestLassoOrthogonal compares with the closed form for orthogonal columns, the soft
// threshold of least squares (ESL, table 3.4).
func TestLassoOrthogonal(t *testing.T) {
	x := mat.NewDense(4, 3, []float64{1, 1, 1, 1, -1, -1, -1, 1, -1, -1, -1, 1}) // xᵀx = 4I, centred
	y := []float64{4, 1, -2, 0}
	for _, lambda := range []float64{0, 0.3, 0.6, 1, 3} {
		m := learn(t, baseline.Lasso{Lambdas: []float64{lambda}}, x, y).(*baseline.LassoModel)
		want := testcheck.Slice(3, func(c int) float64 {
			ols := floats.Dot(mat.Col(nil, c, x), y) / 4
			return math.Copysign(max(0, math.Abs(ols)-lambda), ols)
		})
		near(t, "weights", m.Weights, want, 1e-14)
		near(t, "intercept", []float64{m.Intercept}, []float64{0.75}, 1e-15)
	}
}

// TestLassoChoice checks the cross-validation against one by separate fits.
func TestLassoChoice(t *testing.T) {
	x, y := example(10, 5, 8)
	lambdas := []float64{1, 0.3, 0.1, 0.03, 0.01}
	m := learn(t, baseline.Lasso{Lambdas: lambdas, Seed: 3}, x, y).(*baseline.LassoModel)
	best := math.Inf(1)
	for i, lambda := range lambdas {
		// The folds of one row each do not depend on the seed.
		sum := byLeavingOut(t, baseline.Lasso{Lambdas: []float64{lambda}}, x, y)
		near(t, "cross-validated error", []float64{m.Path.Errors[i]}, []float64{sum}, 1e-9)
		if sum < best {
			best = sum
			if i == m.Chosen && m.Lambda != lambda {
				t.Errorf("λ = %v, index %d", m.Lambda, m.Chosen)
			}
		}
	}
	if *m.Error != m.Path.Errors[m.Chosen] || math.Abs(*m.Error-best) > 1e-9 {
		t.Errorf("error %v, smallest %v", *m.Error, best)
	}
}

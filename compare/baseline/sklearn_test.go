package baseline_test

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"gpfit/compare/baseline"
	"gpfit/internal/testcheck"
)

// reference is testdata/sklearn.json, which make_sklearn.py beside it writes.
type reference struct {
	X, New, Wide [][]float64
	Y            []float64
	WideY        []float64 `json:"wide_y"`
	Ridge        struct {
		Lambda, Intercept float64
		Weights           []float64
	}
	RidgeCV struct {
		Lambdas, Errors []float64
		Chosen          float64
	} `json:"ridge_cv"`
	Bayes struct {
		Noise, Prior, Evidence float64
		Weights, Mean, Std     []float64
	}
	Lasso []struct {
		Table   string
		Lambdas []float64
		Weights [][]float64
	}
}

func sklearn(t *testing.T) reference {
	t.Helper()
	text := testcheck.Get(os.ReadFile("testdata/sklearn.json"))(t)
	var r reference
	testcheck.Do(t, json.Unmarshal(text, &r))
	return r
}

func dense(rows [][]float64) *mat.Dense {
	out := mat.NewDense(len(rows), len(rows[0]), nil)
	for i, row := range rows {
		out.SetRow(i, row)
	}
	return out
}

// standardized returns a with the columns of x at mean 0 and deviation 1.
func standardized(a, x *mat.Dense) *mat.Dense {
	m, d := a.Dims()
	out := mat.NewDense(m, d, nil)
	for c := range d {
		mean, variance := stat.PopMeanVariance(mat.Col(nil, c, x), nil)
		for i := range m {
			out.Set(i, c, (a.At(i, c)-mean)/math.Sqrt(variance))
		}
	}
	return out
}

func centred(y []float64) []float64 {
	out := slices.Clone(y)
	floats.AddConst(-stat.Mean(y, nil), out)
	return out
}

// sameAsSklearn is the bound on differences from scikit-learn's numbers by direct solutions;
// pathAsSklearn is the bound for the lasso, whose iterations end there by a duality gap.
const (
	sameAsSklearn = 1e-8
	pathAsSklearn = 1e-6
)

var raw = baseline.Design{Unscaled: true}

func TestRidgeSklearn(t *testing.T) {
	r := sklearn(t)
	m := learn(t, baseline.Ridge{Design: raw, Lambdas: []float64{r.Ridge.Lambda}}, dense(r.X), r.Y).(*baseline.LinearModel)
	near(t, "weights", m.Weights, r.Ridge.Weights, sameAsSklearn)
	near(t, "intercept", []float64{m.Intercept}, []float64{r.Ridge.Intercept}, sameAsSklearn)
	m = learn(t, baseline.Ridge{Design: raw, Lambdas: r.RidgeCV.Lambdas}, dense(r.X), r.Y).(*baseline.LinearModel)
	if m.Lambda != r.RidgeCV.Chosen {
		t.Errorf("λ = %v, scikit-learn chooses %v", m.Lambda, r.RidgeCV.Chosen)
	}
	for i, lambda := range r.RidgeCV.Lambdas {
		// Two equal penalties are two choices, so that there is an error to compare.
		m := learn(t, baseline.Ridge{Design: raw, Lambdas: []float64{lambda, lambda}}, dense(r.X), r.Y).(*baseline.LinearModel)
		near(t, "leave-one-out error", []float64{*m.Error}, r.RidgeCV.Errors[i:i+1], sameAsSklearn)
	}
}

func TestBayesianLinearSklearn(t *testing.T) {
	r := sklearn(t)
	x, y := standardized(dense(r.X), dense(r.X)), centred(r.Y)
	how := baseline.Design{NoIntercept: true, Unscaled: true}
	given := learn(t, baseline.BayesianLinear{Design: how, Noise: r.Bayes.Noise, PriorScale: r.Bayes.Prior}, x, y).(*baseline.BayesianModel)
	chosen := learn(t, baseline.BayesianLinear{Design: how}, x, y).(*baseline.BayesianModel)
	near(t, "noise", []float64{*chosen.Noise}, []float64{r.Bayes.Noise}, 1e-6) // flat: the root of rounding
	near(t, "prior", []float64{chosen.PriorScale}, []float64{r.Bayes.Prior}, 1e-6)
	for _, m := range []*baseline.BayesianModel{given, chosen} {
		tolerance := sameAsSklearn
		if m == chosen {
			tolerance = 1e-6
		}
		near(t, "weights", m.Weights, r.Bayes.Weights, tolerance)
		p := predict(t, m, standardized(dense(r.New), dense(r.X)))
		near(t, "means", p.Mean, r.Bayes.Mean, tolerance)
		near(t, "deviations", roots(p.Variance), r.Bayes.Std, tolerance)
		near(t, "evidence", []float64{m.LogEvidence}, []float64{r.Bayes.Evidence}, sameAsSklearn)
	}
}

// TestLassoSklearn compares the default path with scikit-learn's, its penalties too, for correlated
// columns and for more columns than rows, and checks the conditions of the minimum along it.
func TestLassoSklearn(t *testing.T) {
	r := sklearn(t)
	for _, want := range r.Lasso {
		x, y, m := dense(r.X), r.Y, baseline.Lasso{Design: raw}
		switch want.Table {
		case "scaled":
			x = standardized(x, x)
		case "wide":
			x, y = standardized(dense(r.Wide), dense(r.Wide)), r.WideY
		}
		path := testcheck.Get(m.Path(x, y))(t)
		near(t, want.Table+": penalties", path.Lambdas, want.Lambdas, 1e-12)
		for i, weights := range want.Weights {
			near(t, want.Table+": weights", path.Weights[i], weights, pathAsSklearn)
		}
		checkConditions(t, path, x, y)
	}
}

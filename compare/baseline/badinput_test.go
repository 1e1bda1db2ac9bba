package baseline_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"gpfit/compare/baseline"
)

// all are the methods with defaults.
var all = map[string]baseline.Method{
	"ridge": baseline.Ridge{}, "bayes": baseline.BayesianLinear{}, "lasso": baseline.Lasso{}, "spline": baseline.Spline{},
	"kernel ridge": baseline.KernelRidge{},
	"polynomial":   baseline.Basis{}, "gaussians": baseline.Basis{Expansion: baseline.Gaussians{}},
}

// given are the methods with their penalties given, which need only one row.
var given = map[string]baseline.Method{
	"ridge": baseline.Ridge{Lambdas: []float64{0.1}}, "least squares": baseline.Ridge{Lambdas: []float64{0}}, "bayes": baseline.BayesianLinear{Noise: 1, PriorScale: 1},
	"lasso": baseline.Lasso{Lambdas: []float64{0.1}}, "spline": baseline.Spline{Lambdas: []float64{1}}, "spline without penalty": baseline.Spline{Lambdas: []float64{0}},
}

func TestNotFinite(t *testing.T) {
	for name, method := range all {
		for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			x, y := example(12, 2, 1)
			x.Set(3, 1, bad)
			if _, err := method.Fit(x, y); err == nil || !strings.Contains(err.Error(), "row 3, column 1 is ") {
				t.Errorf("%s: %v in a column: %v", name, bad, err)
			}
			x, y = example(12, 2, 1)
			y[5] = bad
			if _, err := method.Fit(x, y); err == nil || !strings.Contains(err.Error(), "row 5, target is ") {
				t.Errorf("%s: %v in the target: %v", name, bad, err)
			}
			x, y = example(12, 2, 1)
			model := learn(t, method, x, y)
			x.Set(2, 0, bad)
			if _, err := model.Predict(x); err == nil || !strings.Contains(err.Error(), "row 2, column 0 is ") {
				t.Errorf("%s: %v to predict for: %v", name, bad, err)
			}
		}
	}
}

func TestShapes(t *testing.T) {
	x, y := example(12, 2, 1)
	for name, method := range all {
		for _, bad := range []struct {
			x    mat.Matrix
			y    []float64
			want string
		}{{nil, y, "no rows"}, {&mat.Dense{}, nil, "0 rows"}, {x, y[:11], "11 targets for 12 rows"}} {
			if _, err := method.Fit(bad.x, bad.y); err == nil || !strings.Contains(err.Error(), bad.want) {
				t.Errorf("%s: error %v, want %q", name, err, bad.want)
			}
		}
		if _, err := learn(t, method, x, y).Predict(mat.NewDense(1, 3, nil)); err == nil || !strings.Contains(err.Error(), "3 columns for a model of 2 columns") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// TestMistakes checks errors about fields, which name the field and what to do.
func TestMistakes(t *testing.T) {
	x, y := example(12, 2, 1)
	for _, c := range []struct {
		method baseline.Method
		want   string
	}{
		{baseline.Ridge{Lambdas: []float64{1, -1}}, "Lambdas[1] is -1"},
		{baseline.BayesianLinear{Noise: -1}, "Noise is -1"},
		{baseline.BayesianLinear{PriorScale: math.NaN()}, "PriorScale is NaN"},
		{baseline.Spline{Knots: [][]float64{{1}}}, "1 lists for 2 columns"},
		{baseline.Spline{Knots: [][]float64{{1}, {math.NaN()}}}, "Knots[1]"},
		{baseline.Basis{Expansion: baseline.Polynomial{Degree: -1}}, "Degree is -1"},
		{baseline.Basis{Expansion: baseline.Gaussians{Count: -1}}, "Count is -1"},
	} {
		if _, err := c.method.Fit(x, y); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%#v: error %v, want %q", c.method, err, c.want)
		}
	}
}

// TestOneRow checks that one row with a given penalty predicts its target.
func TestOneRow(t *testing.T) {
	x, y := mat.NewDense(1, 2, []float64{3, 4}), []float64{5}
	for name, method := range given {
		near(t, name, predict(t, learn(t, method, x, y), x).Mean, y, 1e-15)
	}
	for name, method := range all {
		if model, err := method.Fit(x, y); err == nil { // the lasso has one penalty, and kernel ridge a zero
			near(t, name, predict(t, model, x).Mean, y, 1e-15)
		}
	}
}

// sameFit is the bound on differences between fits of a method that are the same by theory.
func sameFit(method baseline.Method) float64 {
	if _, ok := method.(baseline.KernelRidge); ok {
		return 1e-2 // where the simplex ends depends on rounding
	}
	return 1e-6
}

// TestConstantColumns checks that constant columns change nothing.
func TestConstantColumns(t *testing.T) {
	x, y := example(20, 2, 1)
	more := mat.NewDense(20, 4, nil)
	for i := range 20 {
		more.SetRow(i, []float64{x.At(i, 0), 0.1, x.At(i, 1), -1e9})
	}
	for name, method := range all {
		near(t, name, predict(t, learn(t, method, more, y), more).Mean, predict(t, learn(t, method, x, y), x).Mean, sameFit(method))
	}
}

// TestOnlyConstantColumns checks tables without information: the mean is the prediction.
func TestOnlyConstantColumns(t *testing.T) {
	x, y := mat.NewDense(4, 2, []float64{1, 2, 1, 2, 1, 2, 1, 2}), []float64{1, 2, 3, 6}
	for name, method := range all {
		near(t, name, predict(t, learn(t, method, x, y), x).Mean, []float64{3, 3, 3, 3}, 1e-12)
	}
}

// TestConstantTarget checks that constant targets are predicted, or said to have no best likelihood.
func TestConstantTarget(t *testing.T) {
	x, _ := example(20, 3, 1)
	y := slices.Repeat([]float64{0.1}, 20)
	for name, method := range all {
		model, err := method.Fit(x, y)
		if err != nil {
			if !strings.Contains(err.Error(), "the targets do not vary") {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		near(t, name, predict(t, model, x).Mean, y, 1e-14)
	}
}

// TestMoreColumns checks d > n.
func TestMoreColumns(t *testing.T) {
	x, y := example(8, 30, 1)
	for name, method := range all {
		if spline, ok := method.(baseline.Spline); ok { // no penalty acts on its lines
			if _, err := spline.Fit(x, y); err == nil || !strings.Contains(err.Error(), "give one penalty") {
				t.Errorf("%s: error %v", name, err)
			}
			spline.Lambdas = []float64{1}
			method = spline
		}
		p := predict(t, learn(t, method, x, y), x)
		if slices.ContainsFunc(append(p.Mean, p.Variance...), notFinite) {
			t.Errorf("%s predicts %v ± %v", name, p.Mean, p.Variance)
		}
	}
}

func notFinite(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) }

// TestExtremeNumbers checks that numbers near the ends of the range give a model or an
// error, never numbers that are not finite.
func TestExtremeNumbers(t *testing.T) {
	for _, unit := range []float64{1e-300, 1e-160, 1e160, 1e300} {
		for _, what := range []string{"columns", "target"} {
			x, y := example(12, 2, 1)
			if what == "columns" {
				x.Scale(unit, x)
			} else {
				floats.Scale(unit, y)
			}
			for name, method := range all {
				model, err := method.Fit(x, y)
				if err != nil {
					continue
				}
				if mean := predict(t, model, x).Mean; slices.ContainsFunc(mean, notFinite) {
					t.Errorf("%s, %s times %v: predicts %v", name, what, unit, mean)
				}
			}
		}
	}
}

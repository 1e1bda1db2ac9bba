package baseline_test

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"gpfit"
	"gpfit/compare/baseline"
	"gpfit/gp"
	"gpfit/internal/testcheck"
)

// TestPolynomial compares the default expansion with columns made by hand.
func TestPolynomial(t *testing.T) {
	x, y := example(40, 2, 11)
	m := learn(t, baseline.Basis{}, x, y).(*baseline.BasisModel)
	if want := []string{"x1", "x2", "x1^2", "x1*x2", "x2^2"}; !slices.Equal(m.Functions.Names(), want) {
		t.Errorf("functions %v, want %v", m.Functions.Names(), want)
	}
	hand, scaled := mat.NewDense(40, 5, nil), standardized(x, x)
	for i := range 40 {
		a, b := scaled.At(i, 0), scaled.At(i, 1)
		hand.SetRow(i, []float64{a, b, a * a, a * b, b * b})
		values := make([]float64, 5)
		m.Functions.Values(values, x.RawRowView(i))
		near(t, "values", values, hand.RawRowView(i), 1e-13)
	}
	want := learn(t, baseline.BayesianLinear{}, hand, y)
	near(t, "means", predict(t, m, x).Mean, predict(t, want, hand).Mean, sameModel)
	if _, err := (baseline.Polynomial{Degree: 9}).Expand(mat.NewDense(1, 40, make([]float64, 40))); err == nil {
		t.Error("no error about too many terms")
	}
}

// quadratic returns the features of the kernel s·(c + x·x′)² for two columns.
func quadratic(x *mat.Dense, c float64) *mat.Dense {
	n, _ := x.Dims()
	out, linear := mat.NewDense(n, 6, nil), math.Sqrt(2*c)
	for i := range n {
		a, b := x.At(i, 0), x.At(i, 1)
		out.SetRow(i, []float64{c, linear * a, linear * b, a * a, math.Sqrt2 * a * b, b * b})
	}
	return out
}

// TestQuadraticFeatures checks that Bayesian linear regression on the features of a
// quadratic kernel is the Gaussian process with that kernel.
func TestQuadraticFeatures(t *testing.T) {
	const noise, offset, variance = 0.09, 0.7, 0.02
	x, y := example(40, 2, 12)
	at, _ := example(10, 2, 13)
	want := process(t, x, y, at, gpfit.Options{Mean: "zero", Kernel: "poly", Standardize: gp.StandardizeNone, Fix: fixed("signal_variance", variance, "noise_variance", noise, "offset", offset)})
	method := baseline.BayesianLinear{Design: baseline.Design{NoIntercept: true, Unscaled: true}, PriorScale: variance, Noise: noise}
	got := predict(t, learn(t, method, quadratic(x, offset), y), quadratic(at, offset))
	near(t, "mean", got.Mean, want.Mean, sameModel)
	near(t, "deviation", roots(got.Variance), want.Std, sameModel)
}

// TestGaussians checks values, the choice of centres and the default width.
func TestGaussians(t *testing.T) {
	x := mat.NewDense(5, 1, []float64{0, 1, 2, 3, 4})
	f := testcheck.Get(baseline.Gaussians{Count: 3}.Expand(x))(t)
	out := make([]float64, 3)
	f.Values(out, []float64{2}) // centres 2, 0, 4 and width 4, in deviations that cancel
	near(t, "values", out, []float64{1, math.Exp(-0.125), math.Exp(-0.125)}, 1e-15)
	same := mat.NewDense(3, 1, []float64{5, 5, 5})
	if f = testcheck.Get(baseline.Gaussians{}.Expand(same))(t); len(f.Names()) > 1 {
		t.Errorf("equal rows: %v", f.Names())
	}
	// The default follows a curve.
	curved, y := curve(100, 7)
	m := learn(t, baseline.Basis{Expansion: baseline.Gaussians{}}, curved, y)
	at, truth := curve(200, 8)
	if rmse := floats.Distance(predict(t, m, at).Mean, truth, 2) / math.Sqrt(200); rmse > 0.16 {
		t.Errorf("RMSE %v, noise 0.1", rmse)
	}
}

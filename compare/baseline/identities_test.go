package baseline_test

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"

	"gpfit"
	"gpfit/compare/baseline"
	"gpfit/fit/problem"
	"gpfit/gp"
	"gpfit/internal/testcheck"
)

// sameModel is the bound on differences between models that are the same by theory: the
// rounding of their solutions, some hundred ε for these well-conditioned tables, with room.
const sameModel = 1e-10

// example returns n rows of d columns in different units, correlated, and targets with noise.
func example(n, d int, seed uint64) (*mat.Dense, []float64) {
	rng := rand.New(rand.NewPCG(seed, 1))
	x, y := mat.NewDense(n, d, nil), make([]float64, n)
	for i := range n {
		shared := rng.NormFloat64()
		for c := range d {
			v := rng.NormFloat64() + 0.7*shared
			x.Set(i, c, float64(c+1)*v+float64(3*c))
			y[i] += v / float64(c+1)
		}
		y[i] = 5 + y[i] + 0.3*rng.NormFloat64() + 0.5*math.Sin(x.At(i, 0))
	}
	return x, y
}

// learn fits and fails the test on an error.
func learn(t rapid.TB, m baseline.Method, x mat.Matrix, y []float64) baseline.Model {
	t.Helper()
	return testcheck.Get(m.Fit(x, y))(t)
}

func predict(t rapid.TB, m baseline.Model, x mat.Matrix) baseline.Prediction {
	t.Helper()
	return testcheck.Get(m.Predict(x))(t)
}

// near compares vectors, relative to the largest element of want.
func near(t rapid.TB, what string, got, want []float64, tolerance float64) {
	t.Helper()
	testcheck.Near(t, what, got, want, 0, tolerance*floats.Norm(want, math.Inf(1)))
}

// roots returns the square roots of numbers.
func roots(v []float64) []float64 {
	return testcheck.Slice(len(v), func(i int) float64 { return math.Sqrt(v[i]) })
}

func rows(x *mat.Dense) [][]float64 {
	n, _ := x.Dims()
	return testcheck.Slice(n, x.RawRowView)
}

// process fits a Gaussian process with fixed parameters and predicts.
func process(t *testing.T, x *mat.Dense, y []float64, at *mat.Dense, opts gpfit.Options) *gpfit.Prediction {
	t.Helper()
	m := testcheck.Get(gpfit.Fit(context.Background(), rows(x), y, opts))(t)
	defer m.Close()
	return testcheck.Get(m.Predict(context.Background(), rows(at)))(t)
}

func fixed(values ...any) (out []problem.Assignment) {
	for i := 0; i < len(values); i += 2 {
		out = append(out, problem.Assignment{Name: values[i].(string), Value: values[i+1].(float64), Given: true})
	}
	return out
}

// TestLinearProcess checks that a Gaussian process with a linear kernel is Bayesian linear
// regression, and its mean ridge regression with λ = σ²/τ²: of columns
// without an intercept, and with one whose coefficient least squares finds.
func TestLinearProcess(t *testing.T) {
	const noise, prior = 0.09, 0.8
	for _, size := range [][2]int{{60, 4}, {20, 30}} {
		x, y := example(size[0], size[1], 3)
		at, _ := example(15, size[1], 4)
		for _, intercept := range []bool{false, true} {
			opts := gpfit.Options{Mean: "zero", Kernel: "linear", Standardize: gp.StandardizeNone, Fix: fixed("signal_variance", prior, "noise_variance", noise)}
			if intercept {
				opts.Mean, opts.MeanFit = "constant", problem.MeanGLS
			}
			want := process(t, x, y, at, opts)
			design := baseline.Design{NoIntercept: !intercept, Unscaled: true}
			ridge := learn(t, baseline.Ridge{Design: design, Lambdas: []float64{noise / prior}}, x, y)
			near(t, "mean of ridge", predict(t, ridge, at).Mean, want.Mean, sameModel)
			bayes := learn(t, baseline.BayesianLinear{Design: design, PriorScale: prior, Noise: noise}, x, y)
			got := predict(t, bayes, at)
			near(t, "mean of Bayesian linear regression", got.Mean, want.Mean, sameModel)
			near(t, "deviation of Bayesian linear regression", roots(got.Variance), want.Std, sameModel)
			near(t, "weights", bayes.(*baseline.BayesianModel).Weights, ridge.(*baseline.LinearModel).Weights, sameModel)
		}
	}
}

// TestKernelRidgeProcess checks that kernel ridge regression is a process's mean with λ = σ².
func TestKernelRidgeProcess(t *testing.T) {
	x, y := example(50, 3, 5)
	at, _ := example(15, 3, 6)
	got := learn(t, baseline.KernelRidge{}, x, y).(*baseline.KernelModel)
	opts := gpfit.Options{Mean: "zero", Kernel: "rbf", Standardize: gp.StandardizeX, Fix: fixed("lengthscale", got.Theta[0], "signal_variance", got.Theta[1], "noise_variance", got.Lambda)}
	want := process(t, x, centred(y), at, opts).Mean
	floats.AddConst(got.Intercept, want)
	near(t, "mean", predict(t, got, at).Mean, want, sameModel)
}

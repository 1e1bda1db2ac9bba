package baseline_test

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"gpfit"
	"gpfit/gp"
	"gpfit/internal/baseline"
)

// TestPolynomial compares the default expansion with columns made by hand.
func TestPolynomial(t *testing.T) {
	x, y := example(40, 2, 11)
	m := learn(t, baseline.Basis{Expansion: baseline.Polynomial{Unscaled: true}, Method: baseline.Ridge{Lambdas: []float64{0.1}}}, x, y).(*baseline.BasisModel)
	if want := []string{"x1", "x2", "x1^2", "x1*x2", "x2^2"}; !slices.Equal(m.Functions.Names, want) {
		t.Errorf("functions %v, want %v", m.Functions.Names, want)
	}
	hand := mat.NewDense(40, 5, nil)
	for i := range 40 {
		a, b := x.At(i, 0), x.At(i, 1)
		hand.SetRow(i, []float64{a, b, a * a, a * b, b * b})
	}
	want := learn(t, baseline.Ridge{Lambdas: []float64{0.1}}, hand, y)
	near(t, "means", predict(t, m, x).Mean, predict(t, want, hand).Mean, 1e-13)
	separate, err := baseline.Polynomial{Degree: 3, Separate: true}.Expand(x)
	if err != nil || !slices.Equal(separate.Names, []string{"x1", "x2", "x1^2", "x2^2", "x1^3", "x2^3"}) {
		t.Errorf("separate: %v, %v", separate, err)
	}
	if _, err := (baseline.Polynomial{Degree: 9}).Expand(mat.NewDense(1, 40, make([]float64, 40))); err == nil {
		t.Error("no error about too many terms")
	}
}

// quadratic are the features of the kernel s·(c + x·x′)² for two columns.
type quadratic struct{ c float64 }

func (q quadratic) Expand(mat.Matrix) (*baseline.Functions, error) {
	return &baseline.Functions{D: 2, Names: []string{"1", "x1", "x2", "x1^2", "x1*x2", "x2^2"}, Values: func(out, row []float64) {
		a, b := row[0], row[1]
		linear := math.Sqrt(2 * q.c)
		copy(out, []float64{q.c, linear * a, linear * b, a * a, math.Sqrt2 * a * b, b * b})
	}}, nil
}

// TestQuadraticFeatures checks that Bayesian linear regression on the features of a
// quadratic kernel is the Gaussian process with that kernel.
func TestQuadraticFeatures(t *testing.T) {
	const noise, offset, variance = 0.09, 0.7, 0.02
	x, y := example(40, 2, 12)
	at, _ := example(10, 2, 13)
	want := process(t, x, y, at, gpfit.Options{Kernel: "poly", Standardize: gp.StandardizeNone, Fix: fixed("signal_variance", variance, "noise_variance", noise, "offset", offset)})
	method := baseline.BayesianLinear{Design: baseline.Design{NoIntercept: true, Unscaled: true}, PriorScale: variance, Noise: noise}
	got := predict(t, learn(t, baseline.Basis{Expansion: quadratic{offset}, Method: method}, x, y), at)
	near(t, "mean", got.Mean, want.Mean, sameModel)
	for i := range got.Variance {
		got.Variance[i] = math.Sqrt(got.Variance[i])
	}
	near(t, "deviation", got.Variance, want.Std, sameModel)
}

// TestGaussians checks values, the choice of centres and the default width.
func TestGaussians(t *testing.T) {
	x := mat.NewDense(5, 1, []float64{0, 1, 2, 3, 4})
	f, err := baseline.Gaussians{Unscaled: true, Count: 3}.Expand(x)
	if err != nil {
		t.Fatal(err)
	}
	out := make([]float64, 3)
	f.Values(out, []float64{2}) // centres 2, 0, 4 and width 4
	near(t, "values", out, []float64{1, math.Exp(-0.125), math.Exp(-0.125)}, 1e-15)
	f, err = baseline.Gaussians{Unscaled: true, Centres: mat.NewDense(1, 1, []float64{1}), Width: 0.5}.Expand(x)
	if err != nil {
		t.Fatal(err)
	}
	f.Values(out[:1], []float64{2})
	near(t, "value", out[:1], []float64{math.Exp(-2)}, 1e-15)
	same := mat.NewDense(3, 1, []float64{5, 5, 5})
	if f, err = (baseline.Gaussians{}).Expand(same); err != nil || len(f.Names) > 1 {
		t.Errorf("equal rows: %v, %v", f, err)
	}
	// The default follows a curve.
	curved, y := curve(100, 7)
	m := learn(t, baseline.Basis{Expansion: baseline.Gaussians{}}, curved, y)
	at, truth := curve(200, 8)
	sum := 0.0
	for i, v := range predict(t, m, at).Mean {
		sum += (v - truth[i]) * (v - truth[i]) / 200
	}
	if math.Sqrt(sum) > 0.16 {
		t.Errorf("RMSE %v, noise 0.1", math.Sqrt(sum))
	}
}

// TestPrior checks a prior covariance of the weights, singular ones too, against the
// posterior by formula (RW, eq. 2.8 and 2.9) and its dual form.
func TestPrior(t *testing.T) {
	x, y := example(30, 3, 14)
	full := mat.NewSymDense(3, []float64{2, 0.5, -0.3, 0.5, 1, 0.2, -0.3, 0.2, 0.7})
	const noise = 0.2
	var a, precision mat.Dense
	if err := precision.Inverse(full); err != nil {
		t.Fatal(err)
	}
	a.Mul(x.T(), x)
	a.Scale(1/noise, &a)
	a.Add(&a, &precision)
	var cov mat.Dense
	if err := cov.Inverse(&a); err != nil {
		t.Fatal(err)
	}
	var w mat.VecDense
	w.MulVec(x.T(), mat.NewVecDense(30, y))
	w.MulVec(&cov, &w)
	w.ScaleVec(1/noise, &w)
	how := baseline.Design{NoIntercept: true, Unscaled: true}
	for _, form := range []baseline.Form{baseline.Primal, baseline.Dual} {
		m := learn(t, baseline.BayesianLinear{Design: how, Prior: full, PriorScale: 1, Noise: noise, Form: form}, x, y).(*baseline.BayesianModel)
		near(t, "weights", m.Weights, w.RawVector().Data, 1e-11)
		near(t, "covariance", mat.DenseCopyOf(m.Covariance()).RawMatrix().Data, cov.RawMatrix().Data, 1e-10)
		p := predict(t, m, x)
		for i, v := range p.Variance {
			row := mat.NewVecDense(3, x.RawRowView(i))
			near(t, "variance", []float64{v}, []float64{noise + mat.Inner(row, &cov, row)}, 1e-11)
		}
	}
	// Weight 2 must equal weight 1 and weight 3 must be 0.
	singular := mat.NewSymDense(3, []float64{1, 1, 0, 1, 1, 0, 0, 0, 0})
	m := learn(t, baseline.BayesianLinear{Prior: singular}, x, y).(*baseline.BayesianModel)
	scaled := []float64{m.Weights[0] * deviation(x, 0), m.Weights[1] * deviation(x, 1)}
	if math.Abs(scaled[0]-scaled[1]) > 1e-12 || math.Abs(m.Weights[2]) > 1e-12 || m.Weights[0] == 0 {
		t.Errorf("weights %v", m.Weights)
	}
	if _, err := (baseline.BayesianLinear{Prior: mat.NewSymDense(3, []float64{1, 2, 0, 2, 1, 0, 0, 0, 1})}).Fit(x, y); err == nil {
		t.Error("no error about a prior that is not semidefinite")
	}
}

func deviation(x *mat.Dense, c int) float64 {
	column := centred(mat.Col(nil, c, x))
	return mat.Norm(mat.NewVecDense(len(column), column), 2) / math.Sqrt(float64(len(column)))
}

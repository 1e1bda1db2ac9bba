package graph_test

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"gpfit/device"
	"gpfit/graph"
	"gpfit/internal/testcheck"
	"gpfit/mean"
)

// leftOut returns the errors and variances of all rows by brute force: it predicts each fold, or
// each row without folds, from a dense covariance of the other rows, with the mean's coefficients
// β either given or found by generalized least squares from these rows (Rasmussen & Williams
// 2006, eq. 2.41 and 2.42).
func leftOut(t *testing.T, f *fixture, sigma *mat.SymDense, beta []float64) (deviations, variances []float64) {
	n, q, ends := f.spec.X.N, len(f.spec.Mean), f.spec.Folds
	h := mat.NewDense(n, max(q, 1), nil)
	for k, v := range f.spec.Mean.Evaluate(f.spec.X) {
		h.Set(k%n, k/n, v)
	}
	if ends == nil {
		ends = singles(n)
	}
	for k := 0; k < len(f.spec.Y); k += n {
		first := 0
		for _, end := range ends {
			d, v := predictFold(t, sigma, h, f.spec.Y[k:k+n], beta, q, first, end)
			deviations, variances = append(deviations, d...), append(variances, v...)
			first = end
		}
	}
	return deviations, variances
}

// singles returns the ends of n folds of one row.
func singles(n int) []int { return testcheck.Slice(n, func(i int) int { return i + 1 }) }

func predictFold(t *testing.T, sigma *mat.SymDense, h *mat.Dense, y, beta []float64, q, first, end int) (deviations, variances []float64) {
	n := len(y)
	var rest []int
	for i := range n {
		if i < first || i >= end {
			rest = append(rest, i)
		}
	}
	a, target, rows := mat.NewDense(len(rest), len(rest), nil), mat.NewVecDense(len(rest), nil), mat.NewDense(len(rest), max(q, 1), nil)
	for i, r := range rest {
		target.SetVec(i, y[r])
		rows.SetRow(i, h.RawRowView(r))
		for j, c := range rest {
			a.Set(i, j, sigma.At(r, c))
		}
	}
	var inverse, solved, information, covariance mat.Dense
	testcheck.Do(t, inverse.Inverse(a))
	coefficients := mat.NewVecDense(max(q, 1), nil)
	if q > 0 {
		solved.Mul(&inverse, rows)
		information.Mul(rows.T(), &solved)
		testcheck.Do(t, covariance.Inverse(&information))
		if beta != nil {
			coefficients = mat.NewVecDense(q, beta)
		} else {
			var b mat.VecDense
			b.MulVec(solved.T(), target)
			coefficients.MulVec(&covariance, &b)
		}
	}
	var fitted, residual mat.VecDense
	fitted.MulVec(rows, coefficients)
	residual.SubVec(target, &fitted)
	for i := first; i < end; i++ {
		k := mat.NewVecDense(len(rest), nil)
		for j, r := range rest {
			k.SetVec(j, sigma.At(i, r))
		}
		var weights mat.VecDense
		weights.MulVec(&inverse, k)
		variance := sigma.At(i, i) - mat.Dot(&weights, k)
		row := mat.NewVecDense(max(q, 1), h.RawRowView(i))
		if q > 0 && beta == nil {
			var open, spread mat.VecDense
			open.MulVec(rows.T(), &weights)
			open.SubVec(row, &open)
			spread.MulVec(&covariance, &open)
			variance += mat.Dot(&open, &spread)
		}
		deviations = append(deviations, y[i]-mat.Dot(row, coefficients)-mat.Dot(&weights, &residual))
		variances = append(variances, variance)
	}
	return deviations, variances
}

// density returns the negative log density of the deviations.
func density(deviations, variances []float64) float64 {
	sum := 0.0
	for i, e := range deviations {
		sum += math.Log(2*math.Pi*variances[i])/2 + e*e/(2*variances[i])
	}
	return sum
}

// squaredError returns the other criterion: the density under one variance for each
// target, the best one, and a penalty on the mean squared standardized deviation.
func squaredError(deviations, variances []float64, n int) float64 {
	sum, s, all := 0.0, 0.0, float64(len(deviations))
	for t := 0; t < len(deviations); t += n {
		m := 0.0
		for i, e := range deviations[t : t+n] {
			m += e * e / float64(n)
			s += e * e / variances[t+i] / all
		}
		sum += float64(n) / 2 * (1 + math.Log(2*math.Pi*m))
	}
	return sum + all/2*(s-1-math.Log(s))
}

// withSecondTarget adds a target.
func withSecondTarget(s *graph.Spec) {
	for i := range s.X.N {
		s.Y = append(s.Y, math.Cos(3*s.X.Column(1)[i])+0.1*float64(i%3))
	}
}

// withGroups gives every second row a noise of its own, and some rows a known one.
func withGroups(s *graph.Spec) {
	s.Noise.Labels = []string{"a", "b"}
	for i := range s.X.N {
		s.Noise.Group = append(s.Noise.Group, i%2)
		s.Noise.Known = append(s.Noise.Known, 0.01*float64(i%5))
	}
}

// TestPredictive compares the value of both criteria with a refit for each row or fold, and the
// gradient by every parameter with central differences, for every kind of mean and noise, with
// ARD and for several targets.
func TestPredictive(t *testing.T) {
	const n = 60
	uneven := []int{1, 4, 30, 31, 50, n}
	check := func(name string, folds []int, changes ...func(*graph.Spec)) {
		for _, squares := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, folds %v, squares %v", name, folds, squares), func(t *testing.T) {
				f := newFixture(t, "rbf", n, 2, func(s *graph.Spec) {
					for _, change := range changes {
						change(s)
					}
					s.LeaveOneOut, s.SquaredError, s.Folds = true, squares, folds
				})
				checkPredictive(t, f)
				if held := f.obj.FoldScores(); folds != nil && (len(held.Squares) != len(f.spec.Y)/n || held.Density == 0) {
					t.Errorf("scores of folds %v", held)
				}
			})
		}
	}
	check("no mean", []int{12, 24, 36, 48, n})
	check("no mean", []int{30, n})
	for name, changes := range map[string][]func(*graph.Spec){
		"no mean":                    nil,
		"constant, free":             {freeMean("constant")},
		"linear, free":               {freeMean("linear")},
		"constant, least squares":    {withMean("constant")},
		"poly, least squares":        {withMean("poly(2)")},
		"two targets":                {withSecondTarget},
		"two targets, a mean":        {withSecondTarget, withMean("linear")},
		"noise by groups and a mean": {withGroups, withMean("linear")},
		"groups, free mean and priors": {withGroups, freeMean("linear"), func(s *graph.Spec) {
			s.Prior = graph.NegLogPrior(map[string]graph.Prior{"lengthscale": mustPrior(t, "gamma(2, 1)")})
		}},
	} {
		check(name, nil, changes...)
		check(name, uneven, changes...)
	}
	for _, text := range []string{"rbf(ard)", "matern52(ard) + linear(ard)", "rq*periodic"} {
		for _, squares := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, squares %v", text, squares), func(t *testing.T) {
				newFixture(t, text, n, 2, func(s *graph.Spec) {
					s.LeaveOneOut, s.SquaredError, s.Folds = true, squares, uneven
				}).checkGradient(t)
			})
		}
	}
}

// checkPredictive compares the gradient of f with central differences and its value with
// the criterion of errors and variances by brute force.
func checkPredictive(t *testing.T, f *fixture) {
	t.Helper()
	f.checkGradient(t)
	z := f.z(2)
	got := f.value(t, z)
	var estimated, beta []float64
	for i, isLog := range f.obj.IsLog()[2:] {
		if isLog {
			estimated = append(estimated, math.Exp(z[i+2]))
		} else {
			beta = append(beta, z[i+2])
		}
	}
	sigma := dense(f, math.Exp(z[0]), math.Exp(z[1]), func(i int) float64 {
		if f.spec.Noise.Group != nil {
			return estimated[f.spec.Noise.Group[i]] + f.spec.Noise.Known[i]
		}
		return estimated[0]
	})
	terms := f.obj.Terms()
	deviations, variances := leftOut(t, f, sigma, beta)
	want := density(deviations, variances)
	if f.spec.SquaredError {
		want = squaredError(deviations, variances, f.spec.X.N)
	}
	// Explicit inverses of matrices of condition 1e3 lose three digits.
	if math.Abs(terms.LeaveOneOut-want) > 1e-10*math.Abs(want) || math.Abs(got-want-terms.NegLogPrior) > 1e-10*math.Abs(want) {
		t.Errorf("leave-one-out %v (terms %+v), by brute force %v", got, terms, want)
	}
}

// TestSquaredErrorScale checks that the squared error leaves one variance free, which
// its second part fixes: along the line on which all variances grow alike, the slope is
// ½nT(1 − s), and the mean squares stay.
func TestSquaredErrorScale(t *testing.T) {
	f := newFixture(t, "rbf", 50, 2, func(s *graph.Spec) { s.LeaveOneOut, s.SquaredError = true, true })
	z := f.z(2)
	_, grad := f.gradient(t, z)
	squares := func() []float64 { return testcheck.Get(f.obj.LeaveOneOut(t.Context()))(t).Squares }
	before := squares()
	deviations, variances := leftOut(t, f, dense(f, math.Exp(z[0]), math.Exp(z[1]), func(int) float64 { return math.Exp(z[2]) }), nil)
	s := 0.0
	for i, e := range deviations {
		s += e * e / variances[i] / 50
	}
	if got, want := grad[1]+grad[2], 25*(1-s); math.Abs(got-want) > 1e-8*math.Abs(want) {
		t.Errorf("slope %v, want %v", got, want)
	}
	z[1], z[2] = z[1]+0.7, z[2]+0.7
	f.value(t, z)
	if after := squares(); math.Abs(after[0]-before[0]) > 1e-9*before[0] {
		t.Errorf("mean squares %v, before %v", after, before)
	}
}

// TestLeaveOneOutNumber checks that the number reported with another objective
// equals the leave-one-out objective and does not disturb the other.
func TestLeaveOneOutNumber(t *testing.T) {
	loo := newFixture(t, "matern32(ard)", 70, 2, func(s *graph.Spec) { s.LeaveOneOut = true })
	f := newFixture(t, "matern32(ard)", 70, 2, nil)
	ctx := t.Context()
	if _, err := f.obj.LeaveOneOut(ctx); err == nil {
		t.Error("leave-one-out before any evaluation")
	}
	z := f.z(1)
	v, grad := f.gradient(t, z)
	got, err := f.obj.LeaveOneOut(ctx)
	if want := loo.value(t, z); err != nil || math.Abs(got.Density-want) > 1e-12*math.Abs(want) {
		t.Errorf("leave-one-out %v, %v; as the objective %v", got, err, want)
	}
	if w, after := f.gradient(t, z); v != w || grad[0] != after[0] {
		t.Errorf("value %v, gradient %v, and after leave-one-out %v, %v", v, grad, w, after)
	}
	f.value(t, f.z(2))
	if other, err := f.obj.LeaveOneOut(ctx); err != nil || other.Density == got.Density {
		t.Errorf("at another point %v, %v", other, err)
	}
	f.checkGradient(t)
	// The terms of the likelihood are set even if leave-one-out is the objective.
	loo.value(t, z)
	if terms := loo.obj.Terms(); math.Abs(terms.NLML()-v) > 1e-12*math.Abs(v) {
		t.Errorf("NLML %v with leave-one-out, %v alone", terms.NLML(), v)
	}
}

// TestLeverage checks that a point that alone determines a coefficient, and its fold, are errors.
func TestLeverage(t *testing.T) {
	const n = 20
	for want, folds := range map[graph.LeverageError][]int{{Index: 7}: nil, {Index: 1, Fold: true}: {5, 10, n}} {
		f := newFixture(t, "rbf", n, 1, func(s *graph.Spec) {
			for i := range n {
				s.X.X[i] = float64(i)
			}
			s.X.X[7] = 100
			// A bump that is 0 everywhere except at point 7.
			s.Mean = mean.Basis{{Group: mean.Bump, Centre: 100, Width: 1}}
			s.LeaveOneOut, s.Folds = true, folds
		})
		var le *graph.LeverageError
		if _, err := f.obj.Value(t.Context(), []float64{0, 0, 0}); !errors.As(err, &le) || *le != want || device.IsNotPD(err) {
			t.Errorf("error %v, want %v", err, &want)
		}
	}
}

// TestLeaveOneOutWork checks the documented number of operations.
func TestLeaveOneOutWork(t *testing.T) {
	const n = 300
	f := newFixture(t, "rbf", n, 2, func(s *graph.Spec) { s.LeaveOneOut = true })
	z := f.z(2)
	v, g := f.work(func() { f.value(t, z) }), f.work(func() { f.gradient(t, z) })
	if again := f.work(func() { f.gradient(t, z) }); v > 1.3 || g > 1.7 || again != 0 {
		t.Errorf("n³ operations: value %.2f, gradient after it %.2f, again %.2f", v, g, again)
	}
}

// TestFoldsOfOneRow checks that folds of one row give leave-one-out, value and gradient.
func TestFoldsOfOneRow(t *testing.T) {
	const n = 80
	for _, squares := range []bool{false, true} {
		for _, change := range []func(*graph.Spec){func(*graph.Spec) {}, withMean("linear")} {
			loo := newFixture(t, "matern32(ard)", n, 2, func(s *graph.Spec) {
				change(s)
				s.LeaveOneOut, s.SquaredError = true, squares
			})
			folds := newFixture(t, "matern32(ard)", n, 2, func(s *graph.Spec) {
				change(s)
				s.LeaveOneOut, s.SquaredError, s.Folds = true, squares, singles(n)
			})
			z := loo.z(1)
			want, slopes := loo.gradient(t, z)
			got, grad := folds.gradient(t, z)
			scale := math.Abs(want)
			if !(math.Abs(got-want) <= 1e-10*scale) {
				t.Errorf("%v with folds of one row, leave-one-out %v", got, want)
			}
			testcheck.Near(t, "gradient", grad, slopes, 0, 1e-10*scale)
		}
	}
}

// TestFoldsBeside checks that scores of leave-one-out between evaluations disturb
// nothing, and that nothing is computed twice.
func TestFoldsBeside(t *testing.T) {
	const n = 300
	f := newFixture(t, "rbf", n, 2, func(s *graph.Spec) { s.LeaveOneOut, s.Folds = true, []int{100, 200, n} })
	z := f.z(2)
	flops := func() float64 { return f.ws.Work().Flops / (n * n * n) }
	v, grad := f.gradient(t, z)
	before := flops()
	if w, again := f.gradient(t, z); w != v || again[0] != grad[0] || flops() != before {
		t.Errorf("value %v and gradient %v, the second time %v and %v after %.2f n³ operations", v, grad, w, again, flops()-before)
	}
	if loo, err := f.obj.LeaveOneOut(t.Context()); err != nil || loo.Density == v {
		t.Errorf("leave-one-out %v, error %v, with folds %v", loo, err, v)
	}
	if terms := f.obj.Terms(); terms.LeaveOneOut != v {
		t.Errorf("objective %v after leave-one-out, before %v", terms.LeaveOneOut, v)
	}
	if w, again := f.gradient(t, z); w != v || again[0] != grad[0] {
		t.Errorf("after leave-one-out %v, %v", w, again)
	}
	if g := flops(); g > 1.3+1.7+2.0/3 {
		t.Errorf("%.2f n³ operations for a value and a gradient", g)
	}
}

// TestFoldErrors checks folds that are not a division of the rows, and a method without blocks of the inverse.
func TestFoldErrors(t *testing.T) {
	const n = 20
	f := newFixture(t, "rbf", n, 1, nil)
	for _, ends := range [][]int{{}, {n}, {5, 5, n}, {10, n + 1}, {5, n - 1}} {
		spec := f.spec
		spec.LeaveOneOut, spec.Folds = true, ends
		if _, err := graph.Build(f.ws, spec); err == nil {
			t.Errorf("folds that end at %v accepted", ends)
		}
	}
	spec := f.spec
	spec.LeaveOneOut, spec.Folds = true, []int{10, n}
	obj := testcheck.Get(graph.Build(inexact{f.ws}, spec))(t)
	if _, err := obj.Value(t.Context(), f.z(1)); !errors.As(err, new(*device.UnsupportedError)) {
		t.Errorf("error %v, want an UnsupportedError", err)
	}
}

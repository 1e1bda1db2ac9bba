package graph_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"gpfit/device"
	"gpfit/graph"
	"gpfit/mean"
)

// leaveOneOut returns the errors and variances of leave-one-out by brute force: it
// predicts every point from a dense covariance without it, with the mean's coefficients β either given or found
// by generalised least squares from the other points (Rasmussen & Williams 2006,
// eq. 2.41 and 2.42).
func leaveOneOut(f *fixture, sigma *mat.SymDense, beta []float64) (deviations, variances []float64) {
	n := f.spec.X.N
	h := f.spec.Mean.Evaluate(f.spec.X)
	q := len(f.spec.Mean)
	for t := 0; t < len(f.spec.Y); t += n {
		y := f.spec.Y[t : t+n]
		for i := range n {
			rest := mat.NewSymDense(n-1, nil)
			k, target, rows := mat.NewVecDense(n-1, nil), mat.NewVecDense(n-1, nil), mat.NewDense(n-1, max(q, 1), nil)
			at := func(a int) int {
				if a >= i {
					return a + 1
				}
				return a
			}
			for a := range n - 1 {
				k.SetVec(a, sigma.At(i, at(a)))
				target.SetVec(a, y[at(a)])
				for j := range q {
					rows.Set(a, j, h[j*n+at(a)])
				}
				for b := a; b < n-1; b++ {
					rest.SetSym(a, b, sigma.At(at(a), at(b)))
				}
			}
			var inverse mat.Dense
			if err := inverse.Inverse(rest); err != nil {
				panic(err)
			}
			row := mat.NewVecDense(max(q, 1), nil)
			for j := range q {
				row.SetVec(j, h[j*n+i])
			}
			coefficients := mat.NewVecDense(max(q, 1), nil)
			var weights, hs mat.VecDense
			variance := sigma.At(i, i)
			weights.MulVec(&inverse, k)
			variance -= mat.Dot(&weights, k)
			switch {
			case q > 0 && beta != nil:
				coefficients = mat.NewVecDense(q, beta)
			case q > 0:
				var sh, m, mi mat.Dense
				sh.Mul(&inverse, rows)
				m.Mul(rows.T(), &sh)
				if err := mi.Inverse(&m); err != nil {
					panic(err)
				}
				var hy mat.VecDense
				hy.MulVec(sh.T(), target)
				coefficients.MulVec(&mi, &hy)
				// R = h − HᵀΣ⁻¹k.
				hs.MulVec(rows.T(), &weights)
				var r, mr mat.VecDense
				r.SubVec(row, &hs)
				mr.MulVec(&mi, &r)
				variance += mat.Dot(&r, &mr)
			}
			var fitted, residual mat.VecDense
			fitted.MulVec(rows, coefficients)
			residual.SubVec(target, &fitted)
			mu := mat.Dot(row, coefficients) + mat.Dot(&weights, &residual)
			deviations, variances = append(deviations, y[i]-mu), append(variances, variance)
		}
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
// target, the best one, and a penalty on the mean squared standardised deviation.
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

// TestLeaveOneOut compares the value of both criteria with brute force and the gradient with central
// differences at n = 60, for every kind of mean and noise and for several targets.
func TestLeaveOneOut(t *testing.T) {
	const n = 60
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
		for _, squares := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, squares %v", name, squares), func(t *testing.T) {
				f := newFixture(t, "rbf", n, 2, func(s *graph.Spec) {
					for _, change := range changes {
						change(s)
					}
					s.LeaveOneOut, s.SquaredError = true, squares
				})
				checkPredictive(t, f, leaveOneOut)
			})
		}
	}
}

// checkPredictive compares the gradient of f with central differences and its value with
// the one of errors and variances by brute force.
func checkPredictive(t *testing.T, f *fixture, bruteForce func(*fixture, *mat.SymDense, []float64) (deviations, variances []float64)) {
	t.Helper()
	f.checkGradient(t)
	z := f.z(2)
	got := f.value(t, z)
	names := f.obj.Names()
	var estimated, beta []float64
	for i, name := range names[2:] {
		if f.obj.IsLog()[i+2] {
			estimated = append(estimated, math.Exp(z[i+2]))
		} else {
			beta = append(beta, z[i+2])
		}
		_ = name
	}
	sigma := dense(f, math.Exp(z[0]), math.Exp(z[1]), func(i int) float64 {
		if f.spec.Noise.Group != nil {
			return estimated[f.spec.Noise.Group[i]] + f.spec.Noise.Known[i]
		}
		return estimated[0]
	})
	terms := f.obj.Terms()
	deviations, variances := bruteForce(f, sigma, beta)
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
	before := f.obj.LeftOutSquares()
	deviations, variances := leaveOneOut(f, dense(f, math.Exp(z[0]), math.Exp(z[1]), func(int) float64 { return math.Exp(z[2]) }), nil)
	s := 0.0
	for i, e := range deviations {
		s += e * e / variances[i] / 50
	}
	if got, want := grad[1]+grad[2], 25*(1-s); math.Abs(got-want) > 1e-8*math.Abs(want) {
		t.Errorf("slope %v, want %v", got, want)
	}
	z[1], z[2] = z[1]+0.7, z[2]+0.7
	f.value(t, z)
	if after := f.obj.LeftOutSquares(); math.Abs(after[0]-before[0]) > 1e-9*before[0] {
		t.Errorf("mean squares %v, before %v", after, before)
	}
}

// TestLeaveOneOutNumber checks that the number reported with another objective
// equals the leave-one-out objective and does not disturb the other.
func TestLeaveOneOutNumber(t *testing.T) {
	loo := newFixture(t, "matern32(ard)", 70, 2, func(s *graph.Spec) { s.LeaveOneOut = true })
	f := newFixture(t, "matern32(ard)", 70, 2, nil)
	ctx := context.Background()
	if _, err := f.obj.LeaveOneOut(ctx); err == nil {
		t.Error("leave-one-out before any evaluation")
	}
	z := f.z(1)
	v, grad := f.gradient(t, z)
	got, err := f.obj.LeaveOneOut(ctx)
	if want := loo.value(t, z); err != nil || math.Abs(got-want) > 1e-12*math.Abs(want) {
		t.Errorf("leave-one-out %v, %v; as the objective %v", got, err, want)
	}
	w, after := f.gradient(t, z)
	if v != w || grad[0] != after[0] {
		t.Errorf("value %v, gradient %v, and after leave-one-out %v, %v", v, grad, w, after)
	}
	f.value(t, f.z(2))
	if other, err := f.obj.LeaveOneOut(ctx); err != nil || other == got {
		t.Errorf("at another point %v, %v", other, err)
	}
	f.checkGradient(t)
	// The terms of the likelihood are set even if leave-one-out is the objective.
	loo.value(t, z)
	if terms := loo.obj.Terms(); math.Abs(terms.NLML()-v) > 1e-12*math.Abs(v) {
		t.Errorf("NLML %v with leave-one-out, %v alone", terms.NLML(), v)
	}
}

// TestLeverage checks that a point that alone determines a coefficient has no prediction.
func TestLeverage(t *testing.T) {
	f := newFixture(t, "rbf", 20, 1, func(s *graph.Spec) {
		for i := range 20 {
			s.X.X[i] = float64(i)
		}
		s.X.X[7] = 100
		// A bump that is 0 everywhere except at point 7.
		s.Mean = mean.Basis{{Group: mean.Bump, Centre: 100, Width: 1}}
		s.LeaveOneOut = true
	})
	var le *graph.LeverageError
	if _, err := f.obj.Value(context.Background(), []float64{0, 0, 0}); !errors.As(err, &le) || le.Index != 7 || le.Fold || device.IsNotPD(err) {
		t.Errorf("error %v, want a LeverageError of row 7", err)
	}
}

// TestLeaveOneOutWork checks the documented number of operations.
func TestLeaveOneOutWork(t *testing.T) {
	const n = 300
	f := newFixture(t, "rbf", n, 2, func(s *graph.Spec) { s.LeaveOneOut = true })
	z := f.z(2)
	work := func(call func()) float64 {
		before := f.ws.Work().Flops
		call()
		return (f.ws.Work().Flops - before) / (n * n * n)
	}
	if v := work(func() { f.value(t, z) }); v > 1.3 {
		t.Errorf("value: %.2f n³ operations", v)
	}
	if g := work(func() { f.gradient(t, z) }); g > 1.7 {
		t.Errorf("gradient after it: %.2f n³ operations", g)
	}
	if again := work(func() { f.gradient(t, z) }); again != 0 {
		t.Errorf("again: %.2f n³ operations", again)
	}
}

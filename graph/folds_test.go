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
	"gpfit/internal/must"
	"gpfit/mean"
)

// foldsOut returns the errors and variances of the rows of all folds by brute force: it
// predicts each fold from a dense covariance of the other rows, with the mean's
// coefficients β either given or found by generalised least squares from these rows
// (Rasmussen & Williams 2006, eq. 2.41 and 2.42).
func foldsOut(f *fixture, sigma *mat.SymDense, beta []float64) (deviations, variances []float64) {
	n, q := f.spec.X.N, len(f.spec.Mean)
	h := mat.NewDense(n, max(q, 1), nil)
	for k, v := range f.spec.Mean.Evaluate(f.spec.X) {
		h.Set(k%n, k/n, v)
	}
	for t := 0; t < len(f.spec.Y); t += n {
		first := 0
		for _, end := range f.spec.Folds {
			d, v := predictFold(sigma, h, f.spec.Y[t:t+n], beta, q, first, end)
			deviations, variances = append(deviations, d...), append(variances, v...)
			first = end
		}
	}
	return deviations, variances
}

func predictFold(sigma *mat.SymDense, h *mat.Dense, y, beta []float64, q, first, end int) (deviations, variances []float64) {
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
	if err := inverse.Inverse(a); err != nil {
		panic(err)
	}
	coefficients := mat.NewVecDense(max(q, 1), nil)
	if q > 0 {
		solved.Mul(&inverse, rows)
		information.Mul(rows.T(), &solved)
		if err := covariance.Inverse(&information); err != nil {
			panic(err)
		}
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

// TestFolds compares the value of both criteria with a refit for each fold, and the
// gradient by every parameter with central differences, for every kind of mean and noise,
// with ARD and for several targets.
func TestFolds(t *testing.T) {
	const n = 60
	uneven := []int{1, 4, 30, 31, 50, n}
	for _, c := range []struct {
		name    string
		folds   []int
		changes []func(*graph.Spec)
	}{
		{"no mean", []int{12, 24, 36, 48, n}, nil},
		{"uneven folds", uneven, nil},
		{"two folds", []int{30, n}, nil},
		{"linear, free", uneven, []func(*graph.Spec){freeMean("linear")}},
		{"constant, least squares", uneven, []func(*graph.Spec){withMean("constant")}},
		{"poly, least squares", uneven, []func(*graph.Spec){withMean("poly(2)")}},
		{"two targets", uneven, []func(*graph.Spec){withSecondTarget}},
		{"two targets, a mean", uneven, []func(*graph.Spec){withSecondTarget, withMean("linear")}},
		{"noise by groups and a mean", uneven, []func(*graph.Spec){withGroups, withMean("linear")}},
		{"groups, free mean and priors", uneven, []func(*graph.Spec){withGroups, freeMean("linear"), func(s *graph.Spec) {
			s.Prior = graph.NegLogPrior(map[string]graph.Prior{"lengthscale": mustPrior(t, "gamma(2, 1)")})
		}}},
	} {
		for _, squares := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, squares %v", c.name, squares), func(t *testing.T) {
				f := newFixture(t, "rbf", n, 2, func(s *graph.Spec) {
					for _, change := range c.changes {
						change(s)
					}
					s.LeaveOneOut, s.SquaredError, s.Folds = true, squares, c.folds
				})
				checkPredictive(t, f, foldsOut)
				squares, all := f.obj.FoldScores()
				if len(all) != len(f.spec.Y)/n || squares == 0 {
					t.Errorf("scores of folds %v, %v", squares, all)
				}
			})
		}
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

// TestFoldsOfOneRow checks that folds of one row give leave-one-out, value and gradient.
func TestFoldsOfOneRow(t *testing.T) {
	const n = 80
	single := make([]int, n)
	for i := range single {
		single[i] = i + 1
	}
	for _, squares := range []bool{false, true} {
		for _, change := range []func(*graph.Spec){func(*graph.Spec) {}, withMean("linear")} {
			loo := newFixture(t, "matern32(ard)", n, 2, func(s *graph.Spec) {
				change(s)
				s.LeaveOneOut, s.SquaredError = true, squares
			})
			folds := newFixture(t, "matern32(ard)", n, 2, func(s *graph.Spec) {
				change(s)
				s.LeaveOneOut, s.SquaredError, s.Folds = true, squares, single
			})
			z := loo.z(1)
			want, slopes := loo.gradient(t, z)
			got, grad := folds.gradient(t, z)
			scale := math.Abs(want)
			if !(math.Abs(got-want) <= 1e-10*scale) {
				t.Errorf("%v with folds of one row, leave-one-out %v", got, want)
			}
			for i := range grad {
				if !(math.Abs(grad[i]-slopes[i]) <= 1e-10*scale) {
					t.Errorf("derivative by %s is %v with folds of one row, leave-one-out %v", loo.obj.Names()[i], grad[i], slopes[i])
				}
			}
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
	loo, err := f.obj.LeaveOneOut(context.Background())
	if err != nil || loo == v {
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

// TestFoldErrors checks folds that are not a division of the rows, folds without which
// the mean is not determined, and a method without blocks of the inverse.
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
	obj := must.Get(graph.Build(inexact{f.ws}, spec))(t)
	if _, err := obj.Value(context.Background(), f.z(1)); !errors.As(err, new(*device.UnsupportedError)) {
		t.Errorf("error %v, want an UnsupportedError", err)
	}
	far := newFixture(t, "rbf", n, 1, func(s *graph.Spec) {
		for i := range n {
			s.X.X[i] = float64(i)
		}
		s.X.X[7] = 100
		// A bump that is 0 everywhere except at point 7, which is in the second fold.
		s.Mean = mean.Basis{{Group: mean.Bump, Centre: 100, Width: 1}}
		s.LeaveOneOut, s.Folds = true, []int{5, 10, n}
	})
	var leverage *graph.LeverageError
	if _, err := far.obj.Value(context.Background(), []float64{0, 0, 0}); !errors.As(err, &leverage) || leverage.Index != 1 || !leverage.Fold {
		t.Errorf("error %v, want a LeverageError of fold 1", err)
	}
}

package baseline_test

import (
	"maps"
	"math"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"

	"gpfit/compare/baseline"
	"gpfit/internal/testcheck"
)

// drawn returns a random table: d below and above n, correlated columns, and sometimes a constant one.
func drawn(t *rapid.T, least int) (*mat.Dense, []float64) {
	n, d := rapid.IntRange(least, 25).Draw(t, "n"), rapid.IntRange(1, 12).Draw(t, "d")
	x, y := example(n, d, rapid.Uint64().Draw(t, "seed"))
	if rapid.Bool().Draw(t, "constant") {
		for i := range n {
			x.Set(i, d-1, 7)
		}
	}
	return x, y
}

// TestNormalEquations checks means and variances by the normal equations for all shapes and penalties.
func TestNormalEquations(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, y := drawn(t, 1)
		lambda := math.Pow(10, rapid.Float64Range(-3, 4).Draw(t, "log λ"))
		design := baseline.Design{NoIntercept: true, Unscaled: true}
		_, d := x.Dims()
		at, _ := example(4, d, 99)
		got := predict(t, learn(t, baseline.BayesianLinear{Design: design, Noise: lambda, PriorScale: 1}, x, y), at)
		ridge := predict(t, learn(t, baseline.Ridge{Design: design, Lambdas: []float64{lambda}}, x, y), at)
		near(t, "mean of ridge", ridge.Mean, got.Mean, 1e-12)
		precision := mat.NewSymDense(d, nil)
		precision.SymOuterK(1, x.T())
		for j := range d {
			precision.SetSym(j, j, precision.At(j, j)+lambda)
		}
		var factor mat.Cholesky
		var moments, weights, spread mat.VecDense
		if !factor.Factorize(precision) {
			t.Fatal("the precision is not positive definite")
		}
		moments.MulVec(x.T(), mat.NewVecDense(len(y), y))
		testcheck.Do(t, factor.SolveVecTo(&weights, &moments))
		var mean, variance []float64
		for i := range 4 {
			row := mat.NewVecDense(d, at.RawRowView(i))
			testcheck.Do(t, factor.SolveVecTo(&spread, row))
			mean, variance = append(mean, mat.Dot(row, &weights)), append(variance, lambda*(1+mat.Dot(row, &spread)))
		}
		near(t, "mean", got.Mean, mean, 1e-8) // the squares of the columns cost digits
		near(t, "variance", got.Variance, variance, 1e-7)
		if v := floats.Min(got.Variance); v < lambda {
			t.Fatalf("variance %v below the noise %v", v, lambda)
		}
	})
}

// TestMinimumNorm checks for λ = 0 that the gradient is 0 and that w combines the centred rows.
func TestMinimumNorm(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, y := drawn(t, 1)
		n, d := x.Dims()
		m := learn(t, baseline.Ridge{Design: baseline.Design{Unscaled: true}, Lambdas: []float64{0}}, x, y).(*baseline.LinearModel)
		rows := mat.NewDense(n, d, nil)
		for c := range d {
			rows.SetCol(c, centred(mat.Col(nil, c, x)))
		}
		residual := mat.NewVecDense(n, floats.SubTo(make([]float64, n), y, predict(t, m, x).Mean))
		var gradient mat.VecDense
		gradient.MulVec(rows.T(), residual)
		if g := mat.Norm(&gradient, 2); g > 1e-9*floats.Norm(y, math.Inf(1))*mat.Norm(rows, 2) {
			t.Fatalf("gradient %v", g)
		}
		if n < d { // w = Xᵀa for some a, of least squares
			var a, w mat.VecDense
			var svd mat.SVD
			svd.Factorize(rows.T(), mat.SVDThin)
			weights := mat.NewVecDense(d, m.Weights)
			rank := svd.Rank(1e-12)
			if rank == 0 {
				return
			}
			svd.SolveVecTo(&a, weights, rank)
			w.MulVec(rows.T(), &a)
			w.SubVec(&w, weights)
			if off := mat.Norm(&w, 2); off > 1e-9*(mat.Norm(weights, 2)+1e-300) {
				t.Fatalf("%v of the weights is outside the rows", off)
			}
		}
	})
}

// TestUnits checks that predictions follow the units of columns and target, for methods
// that choose their penalties on scaled columns.
func TestUnits(t *testing.T) {
	methods := maps.Clone(all)
	methods["gaussians"] = baseline.Basis{Expansion: baseline.Gaussians{Count: 6}}
	for name, method := range methods {
		t.Run(name, rapid.MakeCheck(func(t *rapid.T) {
			x, y := example(rapid.IntRange(18, 25).Draw(t, "n"), rapid.IntRange(1, 3).Draw(t, "d"), rapid.Uint64().Draw(t, "seed"))
			_, d := x.Dims()
			at, _ := example(5, d, 99)
			want := predict(t, learn(t, method, x, y), at)
			// Powers of two change no rounding, and flip no choice.
			factor := math.Ldexp(1, rapid.IntRange(-20, 20).Draw(t, "factor"))
			for c := range d {
				unit := math.Ldexp(1, rapid.IntRange(-20, 20).Draw(t, "unit"))
				for _, table := range []*mat.Dense{x, at} {
					column := mat.Col(nil, c, table)
					floats.Scale(unit, column)
					table.SetCol(c, column)
				}
			}
			floats.Scale(factor, y)
			got := predict(t, learn(t, method, x, y), at)
			floats.Scale(factor, want.Mean)
			near(t, "mean", got.Mean, want.Mean, sameFit(method))
			floats.Scale(factor*factor, want.Variance)
			near(t, "variance", got.Variance, want.Variance, 1e-5)
		}))
	}
}

// TestLeaveOneOut checks the closed form of leave-one-out against fits without each row.
func TestLeaveOneOut(t *testing.T) {
	x, y := example(20, 3, 15)
	raw := baseline.Design{Unscaled: true}
	ridge := learn(t, baseline.Ridge{Design: raw}, x, y).(*baseline.LinearModel)
	near(t, "ridge", []float64{*ridge.Error}, []float64{byLeavingOut(t, baseline.Ridge{Design: raw, Lambdas: []float64{ridge.Lambda}}, x, y)}, 1e-9)
	for _, factor := range []float64{0.5, 0.9, 1.1, 2} { // the choice is a minimum
		if e := byLeavingOut(t, baseline.Ridge{Design: raw, Lambdas: []float64{factor * ridge.Lambda}}, x, y); e < *ridge.Error {
			t.Errorf("λ = %v has error %v, less than %v for %v", factor*ridge.Lambda, e, *ridge.Error, ridge.Lambda)
		}
	}
}

// TestLassoPath checks the conditions of random paths, and that they begin without weights.
func TestLassoPath(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, y := drawn(t, 2)
		path := testcheck.Get(baseline.Lasso{}.Path(x, y))(t)
		for i, v := range path.Violations {
			if v > 1e-10*path.Lambdas[0] {
				t.Fatalf("λ = %v violates its conditions by %v", path.Lambdas[i], v)
			}
		}
		testcheck.Near(t, "weights at the largest penalty", path.Weights[0], make([]float64, len(path.Weights[0])), 0, 1e-12)
	})
}

// TestColumnOrder checks that the order of columns does not matter.
func TestColumnOrder(t *testing.T) {
	x, y := example(30, 4, 16)
	n, d := x.Dims()
	reversed := mat.NewDense(n, d, nil)
	for c := range d {
		reversed.SetCol(c, mat.Col(nil, d-1-c, x))
	}
	for _, method := range []baseline.Method{baseline.Ridge{}, baseline.BayesianLinear{}, baseline.Lasso{Lambdas: []float64{0.05}}, baseline.Spline{}, baseline.KernelRidge{}} {
		near(t, "means", predict(t, learn(t, method, reversed, y), reversed).Mean, predict(t, learn(t, method, x, y), x).Mean, sameFit(method))
	}
}

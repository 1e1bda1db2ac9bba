package fit

import (
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"gpfit/fit/problem"
	"gpfit/gp"
	"gpfit/internal/testcheck"
	"gpfit/kernel"
	"gpfit/mean"
)

// basisPrior returns what eq. 2.41 and 2.42 of Rasmussen and Williams predict at the rows new: for the covariance k, noise σ²,
// basis functions at the rows, H and H* with a row for each point, and β ~ N(0, bI).
func basisPrior(t *testing.T, k func(a, b float64) float64, x, y, at []float64, h, hAt *mat.Dense, noise, b float64) (means, variances []float64) {
	t.Helper()
	n := len(x)
	ky, cross := mat.NewSymDense(n, nil), mat.NewDense(n, len(at), nil)
	for i := range n {
		for j := range i + 1 {
			ky.SetSym(i, j, k(x[i], x[j]))
		}
		ky.SetSym(i, i, k(x[i], x[i])+noise)
		for j, v := range at {
			cross.Set(i, j, k(x[i], v))
		}
	}
	var chol mat.Cholesky
	if !chol.Factorize(ky) {
		t.Fatal("the covariance is singular")
	}
	target := mat.NewVecDense(n, y)
	var solvedH, solvedCross, inner mat.Dense
	var solvedY, right, beta mat.VecDense
	testcheck.Do(t, chol.SolveTo(&solvedH, h))
	testcheck.Do(t, chol.SolveTo(&solvedCross, cross))
	testcheck.Do(t, chol.SolveVecTo(&solvedY, target))
	inner.Mul(h.T(), &solvedH)
	_, q := h.Dims()
	for j := range q {
		inner.Set(j, j, inner.At(j, j)+1/b)
	}
	right.MulVec(h.T(), &solvedY)
	testcheck.Do(t, beta.SolveVec(&inner, &right))
	var residual, solvedR mat.VecDense
	residual.MulVec(h, &beta)
	residual.SubVec(target, &residual)
	testcheck.Do(t, chol.SolveVecTo(&solvedR, &residual))
	for j, v := range at {
		r := mat.NewVecDense(q, nil)
		r.MulVec(h.T(), solvedCross.ColView(j))
		r.SubVec(hAt.RowView(j), r)
		var s mat.VecDense
		testcheck.Do(t, s.SolveVec(&inner, r))
		means = append(means, mat.Dot(hAt.RowView(j), &beta)+mat.Dot(cross.ColView(j), &solvedR))
		variances = append(variances, k(v, v)-mat.Dot(cross.ColView(j), solvedCross.ColView(j))+mat.Dot(r, &s))
	}
	return means, variances
}

// TestMeanPriorTextbook compares predictions of a fit whose mean has a prior with the textbook's formulas, with a kernel
// and without one, which is ridge regression with λ = σ²/s².
func TestMeanPriorTextbook(t *testing.T) {
	const noise, b = 0.2, 0.7
	var d problem.Data
	for i := range 14 {
		x := -2 + 0.31*float64(i)
		d.X, d.Y = append(d.X, x), append(d.Y, math.Sin(2*x)+0.4*x*x+0.1*math.Cos(9*x))
	}
	d.N, d.D = len(d.Y), 1
	at := []float64{-3, -1.234, 0.05, 1.7, 4}
	for _, c := range []struct {
		kernel, mean string
		k            func(a, b float64) float64
	}{
		{"rbf(lengthscale=0.8, signal_variance=1.3)", "poly(3) + bumps(3)", func(a, b float64) float64 { return 1.3 * math.Exp(-(a-b)*(a-b)/(2*0.8*0.8)) }},
		{"none", "linear", func(a, b float64) float64 { return 0 }},
		{"none", "constant", func(a, b float64) float64 { return 0 }},
		{"none", "seasonal(2.5, 2) + seasonal(1.25, 1, by=9)", func(a, b float64) float64 { return 0 }},
		{"none", "poly(2) + bumps(4)", func(a, b float64) float64 { return 0 }},
	} {
		fix := []problem.Assignment{{Name: "noise_variance", Value: noise, Given: true}}
		if c.kernel != "none" {
			fix = append(fix, problem.Assignment{Name: "k1.lengthscale"}, problem.Assignment{Name: "k1.signal_variance"})
		}
		out := mustFit(t, d, problem.Options{Kernel: c.kernel, Mean: c.mean, MeanPrior: problem.MeanPrior{Variance: 0.7}, Standardize: gp.StandardizeNone, Fix: fix})
		if strings.Contains(c.mean, "seasonal") && strings.Contains(out.Report.Kernel, "formula") {
			t.Errorf("waves as formulas: %s", out.Report.Kernel)
		}
		basis := testcheck.Get(testcheck.Get(mean.Parse(c.mean, nil))(t).Basis(kernel.NewPoints(d.X, d.N, 1), nil))(t)
		matrix := func(x []float64) *mat.Dense {
			h := mat.NewDense(len(x), len(basis), nil)
			for i, v := range x {
				for j, f := range basis {
					h.Set(i, j, f.At(v))
				}
			}
			return h
		}
		means, variances := basisPrior(t, c.k, d.X, d.Y, at, matrix(d.X), matrix(at), noise, b)
		p := testcheck.Get(out.Posterior().Predict(t.Context(), at, len(at)))(t)
		for i := range at {
			testcheck.Within(t, p.Mean[i], means[i], 1e-8, "%s, %s: mean at %v", c.kernel, c.mean, at[i])
			testcheck.Within(t, p.StdLatent[i]*p.StdLatent[i], variances[i], 1e-8*(1+variances[i]), "%s, %s: variance at %v", c.kernel, c.mean, at[i])
		}
	}
}

// TestMeanPriorTuned checks that all basis functions share the variance that a fit tunes, and that the evidence is not
// below the evidence of variances around it.
func TestMeanPriorTuned(t *testing.T) {
	d := synthetic(60)
	o := problem.Options{Kernel: "rbf", Mean: "poly(2, dims=2)", MeanPrior: problem.MeanPrior{Tuned: true}}
	r := mustFit(t, d, o).Report
	s2 := r.Parameters["k2.signal_variance"]
	for _, name := range []string{"k3.signal_variance", "k4.signal_variance"} {
		if r.Parameters[name] != s2 || r.Tied[name] != "k2.signal_variance" {
			t.Errorf("%s = %v, tied to %q; k2.signal_variance = %v", name, r.Parameters[name], r.Tied[name], s2)
		}
	}
	for _, factor := range []float64{0.5, 2} {
		o.MeanPrior = problem.MeanPrior{Variance: s2 * factor}
		if near := mustFit(t, d, o).Report; near.NLML < r.NLML-1e-4 {
			t.Errorf("NLML %v with %s, %v with %v", near.NLML, o.MeanPrior, r.NLML, s2)
		}
	}
}

// TestMeanPriorErrors checks combinations that contradict themselves.
func TestMeanPriorErrors(t *testing.T) {
	d := synthetic(20)
	for words, o := range map[string]problem.Options{
		"needs a kernel":            {MeanPrior: problem.MeanPrior{Variance: 1}},
		"needs option mean-prior":   {Kernel: "none"},
		"has no coefficients":       {Kernel: "rbf", Mean: "zero", MeanPrior: problem.MeanPrior{Variance: 1}},
		"must be a positive":        {Kernel: "rbf", MeanPrior: problem.MeanPrior{Variance: -1}},
		"leave out option mean-fit": {Kernel: "rbf", Mean: "linear", MeanPrior: problem.MeanPrior{Variance: 1}, MeanFit: problem.MeanGLS},
	} {
		_, err := Prepare(d, o, problem.Events{})
		if err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%q is not in the error %v", words, err)
		}
	}
}

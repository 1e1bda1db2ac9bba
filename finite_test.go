package gpfit_test

import (
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"gpfit"
	"gpfit/internal/testcheck"
)

// TestFewFeatures compares fits of kernels of few features with the dense method, with their files,
// leave-one-out, joint draws and an update.
func TestFewFeatures(t *testing.T) {
	x, y := repeats(90, 1)
	for _, o := range []gpfit.Options{{Kernel: "linear(ard) + constant"}, {Kernel: "poly(2)", Mean: "zero"}} {
		m := mustFit(t, x, y, o)
		if method := m.Report().Method; method != "finite" {
			t.Errorf("%s: method %q", o.Kernel, method)
		}
		dense := testcheck.Get(gpfit.Devices{Method: "dense"}.Fit(t.Context(), x, y, o))(t)
		defer dense.Close()
		testcheck.Near(t, o.Kernel+": NLML", []float64{m.Report().NLML}, []float64{dense.Report().NLML}, 1e-6, 0)

		path, at := filepath.Join(t.TempDir(), "model"), [][]float64{{1, 0.2}, {9.5, -0.7}, x[0]}
		testcheck.Do(t, m.Save(path))
		var means, stds, left [][]float64
		for _, method := range []string{"", "finite", "dense"} {
			again := testcheck.Get(gpfit.Devices{Method: method}.Load(t.Context(), path))(t)
			defer again.Close()
			got, loo := testcheck.Get(again.Predict(t.Context(), at))(t), testcheck.Get(again.LeaveOneOut(t.Context()))(t)
			means, stds, left = append(means, got.Mean), append(stds, got.Std), append(left, slices.Concat(loo.Mean, loo.Std))
		}
		for k := range 2 {
			testcheck.Near(t, o.Kernel+": mean", means[k], means[2], 1e-9, 1e-9)
			testcheck.Near(t, o.Kernel+": std", stds[k], stds[2], 1e-9, 1e-9)
			testcheck.Near(t, o.Kernel+": leave-one-out", left[k], left[2], 1e-9, 1e-9)
		}
		testcheck.Do(t, m.SaveWithFactor(filepath.Join(t.TempDir(), "factor")))
	}
}

// TestMethodOfEachKernel lets fits choose among kernels: each kernel has the cheapest method that can compute it.
func TestMethodOfEachKernel(t *testing.T) {
	const n = 1010 // more than the rows on which kernels are compared
	x, y, f, slope := make([][]float64, n), make([]float64, n), 0.0, 0.0
	random := rand.New(rand.NewPCG(1, 2))
	for i := range x {
		for range 20 { // steps of the stochastic differential equation of matern32
			f, slope = f+slope/20, slope-(0.4*slope+0.04*f)/20+random.NormFloat64()/20
		}
		x[i], y[i] = []float64{float64(i)}, f+0.1*random.NormFloat64()
	}
	m := mustFit(t, x, y, gpfit.Options{})
	if got := m.Report(); got.Method != "markov" || len(got.Choice.Models) < 4 || got.Choice.TooLarge != nil {
		t.Errorf("method %q, kernel %s, choice %+v", got.Method, got.Kernel, got.Choice)
	}
	path := filepath.Join(t.TempDir(), "model")
	testcheck.Do(t, m.Save(path))
	dense := testcheck.Get(gpfit.Devices{Method: "dense"}.Load(t.Context(), path))(t)
	defer dense.Close()
	got, want := testcheck.Get(m.Predict(t.Context(), x[:5]))(t), testcheck.Get(dense.Predict(t.Context(), x[:5]))(t)
	testcheck.Near(t, "mean", got.Mean, want.Mean, 1e-9, 1e-9)
	testcheck.Near(t, "std", got.Std, want.Std, 1e-9, 1e-9)
}

// TestUpdateByStructure adds rows to models of each method that has no factor of all rows, and compares with the
// dense method. A grid with one row more is no grid: the update then takes another method.
func TestUpdateByStructure(t *testing.T) {
	const n = 600
	x, plane, series, grid, y := make([][]float64, n), make([][]float64, n), make([][]float64, n), make([][]float64, n), make([]float64, n)
	for i := range n {
		t := float64(i)
		x[i], plane[i], series[i], grid[i] = []float64{float64(i % 7), float64(i % 11)}, []float64{t, math.Sin(t)}, []float64{t + 0.3*math.Sin(t)}, []float64{float64(i % 20), float64(i / 20)}
		y[i] = math.Sin(t/9) + 0.3*math.Cos(17*t)
	}
	for _, c := range []struct {
		method, after, kernel string
		x                     [][]float64
	}{
		{"merged", "merged", "rbf(ard)", x}, {"finite", "finite", "linear(ard) + constant", plane}, {"markov", "markov", "matern32", series}, {"grid", "", "rbf(dims=0)*matern32(dims=1)", grid},
	} {
		o := gpfit.Options{Kernel: c.kernel}
		m := mustFit(t, c.x, y, o)
		path := filepath.Join(t.TempDir(), "model")
		testcheck.Do(t, m.Save(path))
		dense := testcheck.Get(gpfit.Devices{Method: "dense"}.Load(t.Context(), path))(t)
		defer dense.Close()
		at := [][]float64{slices.Clone(c.x[3]), slices.Clone(c.x[7]), slices.Clone(c.x[3])}
		at[0][0], at[1][0] = at[0][0]+0.25, at[1][0]+200
		got, report := testcheck.Get2(m.Update(t.Context(), at, []float64{1, 2, 3}))(t)
		defer got.Close()
		want, reference := testcheck.Get2(dense.Update(t.Context(), at, []float64{1, 2, 3}))(t)
		defer want.Close()
		if m.Report().Method != c.method || report.Method != c.after || reference.Method != "" {
			t.Errorf("%s: methods %q, %q and %q", c.method, m.Report().Method, report.Method, reference.Method)
		}
		a, b := report.NewRows[0], reference.NewRows[0]
		testcheck.Near(t, c.method+": scores", []float64{a.RMSE, a.NLPD, a.Coverage95, a.Deviance, a.PValue, report.NLML}, []float64{b.RMSE, b.NLPD, b.Coverage95, b.Deviance, b.PValue, reference.NLML}, 1e-7, 1e-7)
		p, q := testcheck.Get(got.Predict(t.Context(), at))(t), testcheck.Get(want.Predict(t.Context(), at))(t)
		testcheck.Near(t, c.method+": mean", p.Mean, q.Mean, 1e-8, 1e-8)
		testcheck.Near(t, c.method+": std", p.Std, q.Std, 1e-8, 1e-8)
	}
}

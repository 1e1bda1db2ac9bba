package gpfit_test

import (
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"gpfit"
	"gpfit/internal/must"
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
		dense := must.Get(gpfit.Devices{Method: "dense"}.Fit(t.Context(), x, y, o))(t)
		defer dense.Close()
		must.Near(t, o.Kernel+": NLML", []float64{m.Report().NLML}, []float64{dense.Report().NLML}, 1e-6, 0)

		path, at := filepath.Join(t.TempDir(), "model"), [][]float64{{1, 0.2}, {9.5, -0.7}, x[0]}
		must.Do(t, m.Save(path))
		var means, stds, left [][]float64
		for _, method := range []string{"", "finite", "dense"} {
			again := must.Get(gpfit.Devices{Method: method}.Load(t.Context(), path))(t)
			defer again.Close()
			got, loo := must.Get(again.Predict(t.Context(), at))(t), must.Get(again.LeaveOneOut(t.Context()))(t)
			means, stds, left = append(means, got.Mean), append(stds, got.Std), append(left, slices.Concat(loo.Mean, loo.Std))
		}
		for k := range 2 {
			must.Near(t, o.Kernel+": mean", means[k], means[2], 1e-9, 1e-9)
			must.Near(t, o.Kernel+": std", stds[k], stds[2], 1e-9, 1e-9)
			must.Near(t, o.Kernel+": leave-one-out", left[k], left[2], 1e-9, 1e-9)
		}
		more, updated := must.Get2(m.Update(t.Context(), at, []float64{1, 2, 3}))(t)
		defer more.Close()
		if v := updated.NewRows[0].Deviance; !(v >= 0) || math.IsInf(v, 0) {
			t.Errorf("%s: deviance %v", o.Kernel, v)
		}
		must.Do(t, m.SaveWithFactor(filepath.Join(t.TempDir(), "factor")))
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
	must.Do(t, m.Save(path))
	dense := must.Get(gpfit.Devices{Method: "dense"}.Load(t.Context(), path))(t)
	defer dense.Close()
	got, want := must.Get(m.Predict(t.Context(), x[:5]))(t), must.Get(dense.Predict(t.Context(), x[:5]))(t)
	must.Near(t, "mean", got.Mean, want.Mean, 1e-9, 1e-9)
	must.Near(t, "std", got.Std, want.Std, 1e-9, 1e-9)
}

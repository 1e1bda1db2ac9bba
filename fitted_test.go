package gpfit_test

import (
	"math"
	"path/filepath"
	"slices"
	"testing"

	"gpfit"
	"gpfit/gp"
	"gpfit/internal/testcheck"
)

// TestFittedPredicts checks that a model that has just been fitted predicts what the dense method predicts with its
// file. The posterior of a fit has the workspace of the fit, and compiles the kernel again.
func TestFittedPredicts(t *testing.T) {
	var line, grid, table [][]float64
	for i := range 144 {
		a, b := float64(i%12), float64(i/12)
		line = append(line, []float64{a + 12.3*b})
		grid = append(grid, []float64{a, 3 + 2*b})
		table = append(table, []float64{math.Sin(7 * a), 9 + 3*math.Cos(5*b+a), 20 + 4*math.Sin(a*b)})
	}
	for _, c := range []struct {
		method, kernel string
		x              [][]float64
	}{
		{"markov", "matern32", line}, {"markov", "matern52 + matern12*cosine", line}, {"grid", "matern32(dims=0)*rbf(dims=1)", grid},
		{"finite", "linear", table}, {"finite", "poly(2)", table}, {"merged", "rbf(ard)", slices.Concat(grid, grid[:100])},
	} {
		y := testcheck.Slice(len(c.x), func(i int) float64 {
			return math.Sin(c.x[i][0]) + c.x[i][len(c.x[i])-1]/9 + 0.1*math.Sin(float64(57*i))
		})
		o := gpfit.Options{Kernel: c.kernel, Mean: "zero", Standardize: gp.StandardizeNone}
		o.Settings.MaxEvaluations = 5
		m := testcheck.Get(gpfit.Devices{Name: "cpu", Method: c.method}.Fit(t.Context(), c.x, y, o))(t)
		defer m.Close()
		path, at := filepath.Join(t.TempDir(), "model"), c.x[3:9]
		testcheck.Do(t, m.Save(path))
		dense := testcheck.Get(gpfit.Devices{Name: "cpu", Method: "dense"}.Load(t.Context(), path))(t)
		defer dense.Close()
		got, want := testcheck.Get(m.Predict(t.Context(), at))(t), testcheck.Get(dense.Predict(t.Context(), at))(t)
		testcheck.Near(t, c.method+" "+c.kernel+": mean", got.Mean, want.Mean, 1e-10, 1e-10)
		testcheck.Near(t, c.method+" "+c.kernel+": std", got.Std, want.Std, 1e-10, 1e-10)
	}
}

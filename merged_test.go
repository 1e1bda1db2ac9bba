package gpfit_test

import (
	"errors"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gpfit"
	"gpfit/device"
	"gpfit/fit/problem"
	"gpfit/internal/testcheck"
)

// repeats returns each of the rows of [waves] several times, with other targets.
func repeats(n, times int) (x [][]float64, y []float64) {
	rows, targets := waves(n)
	for k := range times {
		for i := range rows {
			x, y = append(x, rows[(7*i)%n]), append(y, targets[(7*i)%n]+0.2*math.Sin(float64(101*k+31*i)))
		}
	}
	return x, y
}

// TestRowsThatRepeat compares a fit of rows that repeat with the dense method, with its files, leave-one-out
// and an update.
func TestRowsThatRepeat(t *testing.T) {
	x, y := repeats(23, 5)
	o := gpfit.Options{Kernel: "matern52(ard)", Mean: "linear"}
	m := mustFit(t, x, y, o)
	if r := m.Report(); r.Method != "merged" || r.Distinct != 23 || !strings.Contains(r.Text(), "method merged (23 different rows)") {
		t.Errorf("method %q, %d different rows: %s", r.Method, r.Distinct, r.Text())
	}
	dense := testcheck.Get(gpfit.Devices{Method: "dense"}.Fit(t.Context(), x, y, o))(t)
	defer dense.Close()
	if r := dense.Report(); r.Method != "" || r.Distinct != 0 {
		t.Errorf("method %q, %d different rows for dense", r.Method, r.Distinct)
	}
	testcheck.Near(t, "NLML", []float64{m.Report().NLML}, []float64{dense.Report().NLML}, 1e-6, 0)

	at := [][]float64{{1, 0.2}, {9.5, -0.7}, x[0]}
	want := testcheck.Get(m.Predict(t.Context(), at))(t)
	loo := testcheck.Get(m.LeaveOneOut(t.Context()))(t)
	for name, save := range map[string]func(string) error{"plain": m.Save, "factor": m.SaveWithFactor} {
		path := filepath.Join(t.TempDir(), name)
		testcheck.Do(t, save(path))
		for _, method := range []string{"", "merged", "dense"} {
			again := testcheck.Get(gpfit.Devices{Method: method}.Load(t.Context(), path))(t)
			defer again.Close()
			expected := "merged"
			if method == "dense" || method == "" && name == "factor" {
				expected = "dense"
			}
			if got := again.Posterior().Workspace().Method(); got != expected {
				t.Errorf("%s, method %q: the posterior has method %s", name, method, got)
			}
			got := testcheck.Get(again.Predict(t.Context(), at))(t)
			testcheck.Near(t, name+": mean", got.Mean, want.Mean, 1e-9, 1e-9)
			testcheck.Near(t, name+": std", got.Std, want.Std, 1e-9, 1e-9)
			left := testcheck.Get(again.LeaveOneOut(t.Context()))(t)
			testcheck.Near(t, name+": leave-one-out", slices.Concat(left.Mean, left.Std), slices.Concat(loo.Mean, loo.Std), 1e-9, 1e-9)
		}
	}

	more, updated := testcheck.Get2(m.Update(t.Context(), at, []float64{1, 2, 3}))(t)
	defer more.Close()
	other, reference := testcheck.Get2(dense.Update(t.Context(), at, []float64{1, 2, 3}))(t)
	defer other.Close()
	testcheck.Near(t, "deviance of new rows", []float64{updated.NewRows[0].Deviance}, []float64{reference.NewRows[0].Deviance}, 1e-3, 0)
}

// TestMergedMeans checks that means alone have the bits of predictions, by the method of the backend.
func TestMergedMeans(t *testing.T) {
	x, y := repeats(23, 5)
	m := mustFit(t, x, y, gpfit.Options{Kernel: "rbf", Mean: "zero", Posterior: problem.NoPosterior})
	model, at := m.Posterior().Whole(), []float64{1, 0.2, 9.5, -0.7}
	want := testcheck.Get(m.Posterior().PredictMeans(t.Context(), at, 2))(t)[0]
	w := testcheck.Get(gpfit.Devices{}.Workload(model))(t)
	o := testcheck.Get(gpfit.Devices{Name: "cpu"}.Open(t.Context(), w))(t)
	defer o.Close()
	if _, ok := device.For(o.Backends[0], w).(device.MeanPredictor); !ok {
		t.Error("the method cannot predict means without a workspace")
	}
	means := testcheck.Get(model.Means(t.Context(), o.Backends[0]))(t)
	defer means.Close()
	if got := testcheck.Get(means.PredictMeans(t.Context(), at, 2))(t)[0]; !slices.Equal(got, want) {
		t.Errorf("means %v alone, %v with variances", got, want)
	}
}

// TestMergedByName checks the errors of what the method cannot do.
func TestMergedByName(t *testing.T) {
	x, y := repeats(23, 5)
	merged := gpfit.Devices{Name: "cpu", Method: "merged"}
	_, err := merged.Fit(t.Context(), x, y, gpfit.Options{Kernel: "rbf", Mean: "zero", Objective: problem.CV})
	testcheck.Fail[*device.UnsupportedError](t, err, "merged", "folds", "dense")
	m := testcheck.Get(gpfit.Devices{}.Fit(t.Context(), x, y, gpfit.Options{Kernel: "rbf", Mean: "zero", Objective: problem.CV}))(t)
	defer m.Close()
	if method := m.Report().Method; method != "" {
		t.Errorf("folds that divide equal rows by %s", method)
	}
	if _, err := (gpfit.Devices{Method: "other"}).Workload(m.Posterior().Whole()); !errors.As(err, new(*problem.OptionError)) {
		t.Errorf("an unknown method: %v", err)
	}
}

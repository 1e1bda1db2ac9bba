package gpfit_test

import (
	"context"
	"errors"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"gpfit"
	"gpfit/device"
	"gpfit/fit"
	"gpfit/fit/problem"
	"gpfit/gp"
	"gpfit/hyperopt"
	"gpfit/hyperopt/descent"
	"gpfit/internal/testcheck"
	"gpfit/kernel"
)

// waves returns n rows of two columns and a smooth target with a little noise.
func waves(n int) (x [][]float64, y []float64) {
	for i := range n {
		a, b := 10*float64(i)/float64(n), math.Cos(1.7*float64(i))
		x, y = append(x, []float64{a, b}), append(y, math.Sin(a)+0.5*b+0.1*math.Cos(37*float64(i)))
	}
	return x, y
}

func mustFit(t *testing.T, x [][]float64, y []float64, o gpfit.Options) *gpfit.Model {
	t.Helper()
	m := testcheck.Get(gpfit.Fit(t.Context(), x, y, o))(t)
	t.Cleanup(func() { _ = m.Close() })
	return m
}

// TestFitPredict checks that predictions from slices have the bits of the packages below, also from a file.
func TestFitPredict(t *testing.T) {
	x, y := waves(60)
	o := gpfit.Options{Kernel: "matern52(ard)", Mean: "linear", Settings: hyperopt.Settings{Restarts: 1}}
	m := mustFit(t, x, y, o)
	at := [][]float64{{1, 0.2}, {9.5, -0.7}}
	p := testcheck.Get(m.Predict(t.Context(), at))(t)
	job := testcheck.Get(fit.Prepare(problem.Data{X: slices.Concat(x...), Y: y, N: 60, D: 2}, o, problem.Events{}))(t)
	opened := testcheck.Get(gpfit.Devices{Name: "cpu"}.Open(t.Context(), device.Workload{N: 60, Program: job.Program()}))(t)
	defer opened.Close()
	outcome := testcheck.Get(fit.Run(t.Context(), job, opened.Backends...))(t)
	defer outcome.Close()
	all := testcheck.Get(gp.Predict(t.Context(), outcome.Posterior(), slices.Concat(at...), 2, gp.RowNoise{}))(t)
	if want := all[0]; want.Parts == nil || !slices.Equal(p.Mean, want.Mean) || !slices.Equal(p.Std, want.Std) {
		t.Errorf("%v ± %v, want %v ± %v, averaged over draws", p.Mean, p.Std, want.Mean, want.Std)
	}
	if m.Device() != "cpu" || !maps.Equal(m.Parameters(), m.Report().Parameters) {
		t.Errorf("device %q, parameters %v, in the report %v", m.Device(), m.Parameters(), m.Report().Parameters)
	}
	for name, save := range map[string]func(string) error{"plain": m.Save, "factor": m.SaveWithFactor} {
		path := filepath.Join(t.TempDir(), name)
		testcheck.Do(t, save(path))
		again := testcheck.Get(gpfit.Load(t.Context(), path))(t)
		defer again.Close()
		got, err := again.Predict(t.Context(), at)
		if err != nil || !slices.Equal(got.Mean, p.Mean) || !slices.Equal(got.Std, p.Std) {
			t.Errorf("%s: %v ± %v after loading, want %v ± %v (%v)", name, got.Mean, got.Std, p.Mean, p.Std, err)
		}
		if again.Report() != nil || !maps.Equal(again.Parameters(), m.Parameters()) {
			t.Errorf("%s: report %v, parameters %v", name, again.Report(), again.Parameters())
		}
	}
}

// TestErrors checks that wrong slices are errors of the right type before any work.
func TestErrors(t *testing.T) {
	x, y := waves(20)
	for name, c := range map[string]struct {
		x [][]float64
		y []float64
		o gpfit.Options
	}{
		"no rows":     {nil, nil, gpfit.Options{Kernel: "rbf", Mean: "zero"}},
		"no columns":  {[][]float64{{}, {}}, []float64{1, 2}, gpfit.Options{Kernel: "rbf", Mean: "zero"}},
		"few targets": {x, y[1:], gpfit.Options{Kernel: "rbf", Mean: "zero"}},
		"ragged":      {append(slices.Clone(x[:19]), []float64{1}), y, gpfit.Options{Kernel: "rbf", Mean: "zero"}},
	} {
		if m, err := gpfit.Fit(t.Context(), c.x, c.y, c.o); m != nil || !errors.As(err, new(*problem.DataError)) {
			t.Errorf("%s: %v, want a DataError", name, err)
		}
	}
	if _, err := gpfit.Fit(t.Context(), x, y, gpfit.Options{Mean: "zero", Kernel: "rfb"}); !errors.As(err, new(*kernel.ParseError)) {
		t.Errorf("%v, want a ParseError", err)
	}
	if _, err := (gpfit.Devices{Name: "abacus"}).Fit(t.Context(), x, y, gpfit.Options{Kernel: "rbf", Mean: "zero"}); !errors.As(err, new(*device.UnavailableError)) {
		t.Errorf("%v, want an UnavailableError", err)
	}
	if _, err := gpfit.Load(t.Context(), filepath.Join(t.TempDir(), "none")); !errors.As(err, new(*gp.FileError)) {
		t.Errorf("%v, want a FileError", err)
	}
	m := mustFit(t, x, y, gpfit.Options{Kernel: "rbf", Mean: "zero"})
	for _, at := range [][][]float64{{{1}}, {{1, 2}, {1, 2, 3}}, {{1, 2, 3}, {1}}} {
		if _, err := m.Predict(t.Context(), at); !errors.As(err, new(*gp.ShapeError)) {
			t.Errorf("%v: %v, want a ShapeError", at, err)
		}
	}
	if p, err := m.Predict(t.Context(), nil); err != nil || len(p.Mean) != 0 {
		t.Errorf("no rows: %v, %v", p, err)
	}
	testcheck.Do(t, errors.Join(m.Close(), m.Close()))
	if _, err := m.Predict(t.Context(), x[:1]); !errors.Is(err, gpfit.ErrClosed) {
		t.Errorf("%v after Close", err)
	}
	if err := m.Save(filepath.Join(t.TempDir(), "m")); !errors.Is(err, gpfit.ErrClosed) {
		t.Errorf("%v after Close", err)
	}
}

// TestFallback checks that the fallback replaces a missing device, with a warning.
func TestFallback(t *testing.T) {
	x, y := waves(20)
	d := gpfit.Devices{Name: "abacus", Fallback: "cpu", Threads: 1}
	for i := range y { // a fit that passes through the targets has a warning of its own
		y[i] += 0.3 * math.Cos(float64(7*i*i))
	}
	m := testcheck.Get(d.Fit(t.Context(), x, y, gpfit.Options{Kernel: "rbf", Mean: "zero"}))(t)
	defer m.Close()
	path := filepath.Join(t.TempDir(), "m")
	testcheck.Do(t, m.Save(path))
	again := testcheck.Get(d.Load(t.Context(), path))(t)
	defer again.Close()
	for _, m := range []*gpfit.Model{m, again} {
		if w := m.Warnings(); m.Device() != "cpu" || len(w) != 1 || !strings.Contains(w[0], "abacus is not available: using the fallback cpu") {
			t.Errorf("device %s, warnings %q", m.Device(), w)
		}
	}
	if w := m.Report().Warnings; !slices.Equal(w, m.Warnings()) {
		t.Errorf("the report's warnings are %q", w)
	}
}

// TestCancel checks that a cancelled fit returns the best model so far and keeps its checkpoint,
// that the next fit continues from it, and that saving that fit removes it.
func TestCancel(t *testing.T) {
	x, y := waves(60)
	ctx, cancel := context.WithCancel(t.Context())
	dir := t.TempDir()
	o := gpfit.Options{Kernel: "rbf", Mean: "zero", Checkpoint: filepath.Join(dir, "checkpoint")}
	watched := gpfit.Devices{Events: problem.Events{OnIteration: func(it descent.Iteration) {
		if it.Iteration == 3 {
			cancel()
		}
	}}}
	m, err := watched.Fit(ctx, x, y, o)
	var cancelled *problem.CancelledError
	if m == nil || !errors.As(err, &cancelled) || !errors.Is(err, context.Canceled) {
		t.Fatalf("%v, %v", m, err)
	}
	testcheck.Do(t, errors.Join(m.Save(filepath.Join(dir, "m")), m.Close()))
	m = mustFit(t, x, y, o)
	if info, err := os.Stat(o.Checkpoint); err != nil || info.Size() == 0 {
		t.Errorf("the checkpoint: %v", err)
	}
	testcheck.Do(t, m.Save(filepath.Join(dir, "m")))
	if _, err := os.Stat(o.Checkpoint); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the checkpoint after saving: %v", err)
	}
	o.Checkpoint = ""
	if want := mustFit(t, x, y, o); !maps.Equal(m.Parameters(), want.Parameters()) {
		t.Errorf("parameters %v, of an uninterrupted fit %v", m.Parameters(), want.Parameters())
	}
}

// TestSample checks that draws have the mean and the standard deviation of the prediction.
func TestSample(t *testing.T) {
	x, y := waves(40)
	m := mustFit(t, x, y, gpfit.Options{Kernel: "rbf", Mean: "zero", Posterior: problem.NoPosterior})
	at := [][]float64{{3.3, 0.1}, {12, 0.5}}
	draws, err := m.Sample(t.Context(), at, 4000, 1)
	if err != nil || len(draws) != 4000 || len(draws[0]) != 2 {
		t.Fatalf("%d draws, %v", len(draws), err)
	}
	p := testcheck.Get(m.Predict(t.Context(), at))(t)
	for i := range at {
		mean, square := 0.0, 0.0
		for _, d := range draws {
			mean += d[i] / 4000
			square += d[i] * d[i] / 4000
		}
		std := math.Sqrt(square - mean*mean)
		if math.Abs(mean-p.Mean[i]) > 0.1*p.StdLatent[i] || math.Abs(std/p.StdLatent[i]-1) > 0.1 {
			t.Errorf("row %d: draws %v ± %v, want %v ± %v", i, mean, std, p.Mean[i], p.StdLatent[i])
		}
	}
	if loo, err := m.LeaveOneOut(t.Context()); err != nil || len(loo.Mean) != 40 {
		t.Fatal(err)
	}
}

// TestSeveralTargets checks that methods for one target refuse several, and that the posterior has them.
func TestSeveralTargets(t *testing.T) {
	x, y := waves(30)
	m := testcheck.Get(gpfit.FitData(t.Context(), gpfit.Data{X: slices.Concat(x...), Y: append(slices.Clone(y), y...), N: 30, D: 2, TargetNames: []string{"a", "b"}}, gpfit.Options{Kernel: "rbf", Mean: "zero"}))(t)
	defer m.Close()
	var target *gp.NameError
	_, err := m.Predict(t.Context(), x[:1])
	_, err2 := m.Sample(t.Context(), x[:1], 1, 1)
	_, err3 := m.LeaveOneOut(t.Context())
	for _, err := range []error{err, err2, err3} {
		if !errors.As(err, &target) {
			t.Errorf("%v, want a NameError", err)
		}
	}
	both, err := m.Posterior().PredictTargets(t.Context(), x[0], 1, gp.RowNoise{})
	if err != nil || len(both) != 2 || both[0].Mean[0] != both[1].Mean[0] {
		t.Errorf("%v, %v", both, err)
	}
}

// TestConcurrent checks that concurrent callers of one model get the result of a single caller.
func TestConcurrent(t *testing.T) {
	x, y := waves(40)
	m := mustFit(t, x, y, gpfit.Options{Kernel: "rbf", Mean: "zero"})
	want := testcheck.Get(m.Predict(t.Context(), x[:5]))(t)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			if got, err := m.Predict(t.Context(), x[:5]); err != nil || !slices.Equal(got.Mean, want.Mean) {
				t.Errorf("%v, want %v (%v)", got, want.Mean, err)
			}
		})
	}
	group.Wait()
}

// TestUpdate checks that a model with new rows predicts what one fitted to all rows at
// the same parameters does, and that the model before stays usable.
func TestUpdate(t *testing.T) {
	ctx := context.Background()
	var x [][]float64
	var y []float64
	for i := range 60 {
		v := 0.1 * float64(i)
		x, y = append(x, []float64{v}), append(y, math.Sin(v)+0.01*float64(i*i%7))
	}
	before := testcheck.Get(gpfit.Fit(ctx, x[:50], y[:50], gpfit.Options{Kernel: "rbf", Mean: "zero", Posterior: problem.NoPosterior, Standardize: gp.StandardizeNone}))(t)
	defer before.Close()
	after, report := testcheck.Get2(before.Update(ctx, x[50:], y[50:]))(t)
	defer after.Close()
	if report.N != 60 || report.Added != 10 || report.Tuned != 50 || !report.Extended || len(report.NewRows) != 1 {
		t.Errorf("report %+v", report)
	}
	whole := testcheck.Get(gpfit.Fit(ctx, x, y, gpfit.Options{Standardize: gp.StandardizeNone, Posterior: problem.NoPosterior, From: before.Posterior().Whole(), Settings: hyperopt.Settings{MaxEvaluations: 1}}))(t)
	defer whole.Close()
	if at := whole.Report().Path; at != nil {
		t.Errorf("a fit from a model went through stages: %+v", at)
	}
	for name, v := range before.Parameters() {
		if whole.Parameters()[name] != v {
			t.Errorf("%s is %v, not %v: one evaluation leaves the start", name, whole.Parameters()[name], v)
		}
	}
	at := [][]float64{{2.33}, {5.9}, {7}}
	got := testcheck.Get(after.Predict(ctx, at))(t)
	want := testcheck.Get(whole.Predict(ctx, at))(t)
	testcheck.Near(t, "means", got.Mean, want.Mean, 0, 1e-9)
	testcheck.Near(t, "deviations", got.Std, want.Std, 0, 1e-9)
	if _, err := before.Predict(ctx, at); err != nil {
		t.Errorf("the model before: %v", err)
	}
	if _, _, err := before.Update(ctx, x[50:], y[50:51]); !errors.As(err, new(*gp.ShapeError)) {
		t.Errorf("one target for ten rows: %v", err)
	}
}

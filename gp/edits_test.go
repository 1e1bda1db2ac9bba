package gp

import (
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"testing"

	"gpfit/gp/modeltest"
	"gpfit/internal/testcheck"
	"gpfit/method/experts"
)

// use does with a model what commands do.
func use(t *testing.T, m *Model, path string) {
	ctx := t.Context()
	m.Parameters()
	m.KernelText()
	m.Scaling.Standardize()
	for _, name := range m.TargetNames() {
		_, _ = m.TargetNamed(name)
	}
	for i := range m.N() {
		m.Row(i)
	}
	ExportForTest(m)
	_ = m.Write(io.Discard)
	_, _ = Check(ctx, path, experts.Blocks)
	checkPredictions(t, m)
	if p, err := m.Condition(ctx, backend); err == nil {
		defer p.Close()
		rows := make([]float64, 2*len(m.FeatureNames))
		_, _ = p.LeaveOneOut(ctx)
		_, _, _ = p.Terms(ctx, rows, 2)
		_, _ = p.MeanGradient(ctx, rows, 2)
		_, _ = p.GradientStd(ctx, rows, 2)
		_, _ = p.Relevance(ctx, 1)
		_, _ = p.Weights(ctx)
		_, _ = p.PredictMeans(ctx, rows, 2)
		_, _ = p.Joint(ctx, rows, 2, JointOptions{})
		_, _ = Predict(ctx, p, rows, 2, RowNoise{})
		y := make([]float64, m.T())
		_, _, _ = p.Extend(ctx, backend, Addition{N: 1, X: rows[:len(m.FeatureNames)], Y: y})
	}
	if x, err := NewMixture(ctx, m, backend, 2); err == nil {
		_, _ = x.Predict(ctx, make([]float64, len(m.FeatureNames)), 1, RowNoise{})
		_ = x.Close()
	}
	if means, err := m.Means(ctx, backend); err == nil {
		_, _ = means.PredictMeans(ctx, make([]float64, len(m.FeatureNames)), 1)
		_ = means.Close()
	}
}

// TestEdits edits headers, arrays and archives of models of every kind, each with the right checksum. Nothing
// panics: a file is refused with a [*FileError], or is a model that can be used. With GPFIT_LONG there are
// 10,000 edits.
func TestEdits(t *testing.T) {
	models, edits := checkedModels(t, 12), 300
	if testcheck.Long() {
		edits = 10_000
	}
	var names []string
	files := map[string][]byte{}
	for name, m := range models {
		path := saved(t, m.Save)
		if m.State.Method == "" {
			path = saved(t, condition(t, m).SaveWithFactor)
		}
		names, files[name] = append(names, name), testcheck.Get(os.ReadFile(path))(t)
	}
	slices.Sort(names)
	path := filepath.Join(t.TempDir(), "m.gpfit")
	loaded, found := 0, 0
	for seed := range edits {
		name := names[seed%len(names)]
		text := modeltest.Edit(t, rand.New(rand.NewPCG(uint64(seed), 1)), files[name])
		testcheck.Do(t, os.WriteFile(path, text, 0o600))
		func() {
			defer func() {
				if p := recover(); p != nil {
					t.Errorf("edit %d of %q: %v\n%s", seed, name, p, debug.Stack())
				}
			}()
			m, err := Load(path)
			if err != nil {
				if !errors.As(err, new(*FileError)) {
					t.Errorf("edit %d of %q: error %#v", seed, name, err)
				}
				return
			}
			loaded++
			if _, err := Check(t.Context(), path, experts.Blocks); err != nil {
				found++
			}
			use(t, m, path)
		}()
	}
	t.Logf("%d edits: %d files were refused, %d failed the check, and %d passed", edits, edits-loaded, found, loaded-found)
	if loaded < edits/20 || loaded > edits*19/20 {
		t.Errorf("%d of %d edited files were read", loaded, edits)
	}
}

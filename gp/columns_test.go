package gp

import (
	"math"
	"path/filepath"
	"slices"
	"testing"

	"gpfit/internal/testcheck"
	"gpfit/internal/transform"
)

// tailedModel returns a model with a transform of its first column, and its twin without one that has the transformed values.
func tailedModel(t testing.TB, n int) (m, twin *Model, bent func(rows []float64) []float64) {
	m, twin = newModel(t, n), newModel(t, n)
	bent = func(rows []float64) []float64 { // the formula of the first column, of the three features of a row
		out := slices.Clone(rows)
		for i := 0; i < len(rows); i += len(m.FeatureNames) {
			at := i + m.Columns[0]
			out[at] = math.Log1p((rows[at] + 50) / 3)
		}
		return out
	}
	for i := 0; i < len(m.X); i += 2 {
		twin.X[i] = math.Log1p((m.X[i] + 50) / 3)
	}
	m.Scaling = NewScaling(StandardizeXY, m.X, m.Y, 2, &transform.Map{Kind: transform.YeoJohnson, Shift: -50, Unit: 3}, nil)
	twin.Scaling = NewScaling(StandardizeXY, twin.X, twin.Y, 2)
	return settled(t, m), settled(t, twin), bent
}

// TestColumnTransforms compares predictions and new rows with a twin whose rows were transformed before, and slopes with
// central differences in original units.
func TestColumnTransforms(t *testing.T) {
	const points, step = 9, 1e-5
	m, twin, bent := tailedModel(t, 40)
	path := filepath.Join(t.TempDir(), "m.gpfit")
	testcheck.Do(t, m.Save(path))
	m = testcheck.Get(Load(path))(t)
	rows, d := newRows(points), len(m.FeatureNames)
	p, q := condition(t, m), condition(t, twin)
	got, want := testcheck.Get(p.Predict(t.Context(), rows, points))(t), testcheck.Get(q.Predict(t.Context(), bent(rows), points))(t)
	testcheck.Near(t, "means", got.Mean, want.Mean, 1e-10, 1e-10)
	testcheck.Near(t, "deviations", got.Std, want.Std, 1e-10, 1e-10)
	slopes := testcheck.Get(p.MeanGradient(t.Context(), rows, points))(t)
	deviations, plain := testcheck.Get(p.GradientStd(t.Context(), rows, points))(t), testcheck.Get(q.GradientStd(t.Context(), bent(rows), points))(t)
	for i := range rows {
		at := func(by float64) float64 {
			moved := slices.Clone(rows)
			moved[i] += by
			return testcheck.Get(p.Predict(t.Context(), moved, points))(t).Mean[i/d]
		}
		testcheck.Within(t, slopes[i], (at(step)-at(-step))/(2*step), 1e-6*max(1, math.Abs(slopes[i])), "slope %d", i)
		if i%d == m.Columns[0] {
			testcheck.Within(t, deviations[i], plain[i]/(rows[i]+50+3), 1e-9*deviations[i], "deviation of slope %d", i)
		}
	}
	part, add := addition(t, m, 6)
	e, _, err := condition(t, part).Extend(t.Context(), backend, add)
	testcheck.Do(t, err)
	defer e.Close()
	testcheck.Near(t, "α of all rows", e.Whole().Alpha, twin.Alpha, 1e-7, 1e-7)
}

// TestColumnTransformsChecked checks that a model with transforms that do not fit its columns cannot be saved.
func TestColumnTransformsChecked(t *testing.T) {
	for _, wrong := range [][]*transform.Map{{}, {nil}, {nil, {Kind: transform.Log, Unit: 1}}, {nil, {Kind: transform.YeoJohnson}}} {
		m, _, _ := tailedModel(t, 10)
		m.Scaling.XTransforms = wrong
		if err := m.Validate(); err == nil {
			t.Errorf("%v is valid", wrong)
		}
	}
}

package fit

import (
	"errors"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gpfit/fit/problem"
	"gpfit/gp"
	"gpfit/hyperopt"
	"gpfit/internal/must"
)

// nameless is a table of three columns, the second one constant, without names.
func nameless(n int) problem.Data {
	d := problem.Data{N: n, D: 3}
	for i := range n {
		x := float64(i) / 5
		d.X, d.Y = append(d.X, x, 7, math.Cos(x)), append(d.Y, math.Sin(x)+0.1*math.Cos(37*x))
	}
	return d
}

// TestNamesByDefault checks that data without names can be fitted, predicted for,
// saved and loaded, including a constant column.
func TestNamesByDefault(t *testing.T) {
	data := nameless(30)
	data.NoiseGroup = slices.Repeat([]string{"a", "b"}, 15)
	o := mustFit(t, data, problem.Options{Settings: hyperopt.Settings{MaxEvaluations: 5}})
	if w := o.Report.Warnings; !slices.ContainsFunc(w, func(s string) bool { return strings.Contains(s, `column "x1" is constant`) }) {
		t.Errorf("warnings %q", w)
	}
	row := gp.RowNoise{Group: []string{"b"}}
	want := must.Get(o.posterior.PredictNoise(t.Context(), []float64{1, 7, 0.5}, 1, row))(t)
	path := filepath.Join(t.TempDir(), "m.gpfit")
	must.Do(t, o.SaveModel(path, false))
	m := must.Get(gp.Load(path))(t)
	if !slices.Equal(m.FeatureNames, []string{"x0", "x1", "x2"}) || m.TargetName != "y" || m.Noise.GroupColumn != "noise_group" {
		t.Errorf("features %q, target %q, noise groups %q", m.FeatureNames, m.TargetName, m.Noise.GroupColumn)
	}
	p := must.Get(m.Condition(t.Context(), backend))(t)
	got, err := p.PredictNoise(t.Context(), []float64{1, 7, 0.5}, 1, row)
	if err != nil || got.Mean[0] != want.Mean[0] || got.Std[0] != want.Std[0] {
		t.Errorf("%v ± %v after loading, want %v ± %v (%v)", got.Mean, got.Std, want.Mean, want.Std, err)
	}
}

// TestShapes checks that parts that do not match N and D are errors before any work.
func TestShapes(t *testing.T) {
	for want, damage := range map[string]func(*problem.Data){
		"89 input values for 30 rows of 3 features":              func(d *problem.Data) { d.X = d.X[1:] },
		"90 input values for 30 rows of 0 features":              func(d *problem.Data) { d.D = 0 },
		"29 target values for 30 rows":                           func(d *problem.Data) { d.Y = d.Y[1:] },
		"2 feature names for 3 features":                         func(d *problem.Data) { d.FeatureNames = []string{"a", "b"} },
		`the feature "x1" of row 2 (from 0) is NaN`:              func(d *problem.Data) { d.X[7] = math.NaN() },
		"the target of row 5 (from 0) is -Inf":                   func(d *problem.Data) { d.Y[5] = math.Inf(-1) },
		"the split mask has 2 rows, but the table has 30":        func(d *problem.Data) { d.Test = make([]bool, 2) },
		"the list of row numbers has 1 rows":                     func(d *problem.Data) { d.Row = make([]int, 1) },
		"the list of noise variances has 31 rows, but the table": func(d *problem.Data) { d.NoiseVariance = make([]float64, 31) },
	} {
		d := nameless(30)
		damage(&d)
		_, err := Prepare(d, problem.Options{}, problem.Events{})
		var de *problem.DataError
		if !errors.As(err, &de) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want a DataError with %q", err, want)
		}
	}
}

package gpfit

import (
	"context"
	"errors"
	"math"
	"testing"

	"gpfit/gp"
	"gpfit/hyperopt"
	"gpfit/internal/must"
)

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
	before := must.Get(Fit(ctx, x[:50], y[:50], Options{Standardize: gp.StandardizeNone}))(t)
	defer before.Close()
	after, report := must.Get2(before.Update(ctx, x[50:], y[50:]))(t)
	defer after.Close()
	if report.N != 60 || report.Added != 10 || report.Tuned != 50 || !report.Extended || len(report.NewRows) != 1 {
		t.Errorf("report %+v", report)
	}
	whole := must.Get(Fit(ctx, x, y, Options{Standardize: gp.StandardizeNone, From: before.model, Settings: hyperopt.Settings{MaxEvaluations: 1}}))(t)
	defer whole.Close()
	if at := whole.Report().Path; at != nil {
		t.Errorf("a fit from a model went through stages: %+v", at)
	}
	for name, v := range before.model.Parameters() {
		if whole.model.Parameters()[name] != v {
			t.Errorf("%s is %v, not %v: one evaluation leaves the start", name, whole.model.Parameters()[name], v)
		}
	}
	at := [][]float64{{2.33}, {5.9}, {7}}
	got := must.Get(after.Predict(ctx, at))(t)
	want := must.Get(whole.Predict(ctx, at))(t)
	for i := range at {
		if math.Abs(got.Mean[i]-want.Mean[i]) > 1e-9 || math.Abs(got.Std[i]-want.Std[i]) > 1e-9 {
			t.Errorf("row %d: %v ± %v, want %v ± %v", i, got.Mean[i], got.Std[i], want.Mean[i], want.Std[i])
		}
	}
	if _, err := before.Predict(ctx, at); err != nil {
		t.Errorf("the model before: %v", err)
	}
	var shape *gp.ShapeError
	if _, _, err := before.Update(ctx, x[50:], y[50:51]); !errors.As(err, &shape) {
		t.Errorf("one target for ten rows: %v", err)
	}
}

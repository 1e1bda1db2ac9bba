package gp

import (
	"context"
	"errors"
	"math"
	"testing"

	"gpfit/device"
	"gpfit/internal/must"
	"gpfit/internal/testmethod"
)

// TestOtherMethod checks that a method without a factor can use a model file that
// has one, with the same predictions, and returns errors for missing capabilities.
func TestOtherMethod(t *testing.T) {
	ctx, path, rows := context.Background(), t.TempDir()+"/m", newRows(20)
	m := newModel(t, 40)
	p := must.Get(m.Condition(ctx, backend))(t)
	defer p.Close()
	must.Do(t, p.SaveWithFactor(path))
	loaded := must.Get(Load(path))(t)
	other := must.Get(loaded.Condition(ctx, testmethod.New()))(t)
	defer other.Close()
	want := predict(t, m, rows)
	got := must.Get(other.Predict(ctx, rows, 20))(t)
	for i := range want.Mean {
		// The condition number is near 1e4, as in TestPredict.
		if math.Abs(got.Mean[i]-want.Mean[i]) > 1e-9*math.Abs(want.Mean[i]) || math.Abs(got.Std[i]-want.Std[i]) > 1e-8*want.Std[i] {
			t.Errorf("row %d: %v ± %v, want %v ± %v", i, got.Mean[i], got.Std[i], want.Mean[i], want.Std[i])
		}
	}
	_, joint := other.Joint(ctx, rows, 20, JointOptions{})
	for what, err := range map[string]error{"joint": joint, "factor": other.SaveWithFactor(path)} {
		var unsupported *device.UnsupportedError
		if !errors.As(err, &unsupported) || unsupported.Method != "textbook" {
			t.Errorf("%s: error %v, want an UnsupportedError", what, err)
		}
	}
}

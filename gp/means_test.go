package gp

import (
	"context"
	"math"
	"slices"
	"testing"

	"gpfit/cpu"
	"gpfit/device"
	"gpfit/internal/must"
	"gpfit/internal/testmethod"
)

// TestMeans checks that means alone have the bits of predictions with variances, on a
// conditioned posterior and without one, and that the CPU makes no workspace for them.
func TestMeans(t *testing.T) {
	const m = 77
	models := version2Models(t)
	models["long"] = newModel(t, 700) // longer than a tile
	rows := newRows(m)
	for name, model := range models {
		for _, threads := range []int{1, 3} {
			b := must.Get(cpu.New(device.Options{Threads: threads}))(t)
			posterior := must.Get(model.Condition(t.Context(), b))(t)
			noise := RowNoise{DefaultGroup: "a"}
			if model.Noise.GroupColumn == "" {
				noise.DefaultGroup = ""
			}
			want := must.Get(posterior.PredictTargets(t.Context(), rows, m, noise))(t)
			other := must.Get(posterior.PredictMeans(t.Context(), rows, m))(t)
			means := newMeans(t, model, b)
			if means.ws != nil {
				t.Error("the CPU made a workspace for means")
			}
			got := predictMeans(t, means, rows, m)
			for i := range want {
				if !slices.Equal(got[i], want[i].Mean) || !slices.Equal(other[i], want[i].Mean) {
					t.Errorf("%s, %d threads, target %d: means differ", name, threads, i)
				}
			}
			posterior.Close()
		}
	}
}

// TestMeansElsewhere checks that a method that needs Form before it predicts gives the
// same means up to rounding.
func TestMeansElsewhere(t *testing.T) {
	const m = 20
	model, rows := newModel(t, 40), newRows(m)
	want, got := predictMeans(t, newMeans(t, model, backend), rows, m), predictMeans(t, newMeans(t, model, testmethod.New()), rows, m)
	const tolerance = 1e-9 // rounding, times the condition of the kernel's sums
	for i := range want[0] {
		if math.Abs(want[0][i]-got[0][i]) > tolerance*math.Abs(want[0][i]) {
			t.Errorf("row %d: mean %v, want %v", i, got[0][i], want[0][i])
		}
	}
}

func TestMeansErrors(t *testing.T) {
	means := newMeans(t, newModel(t, 40), backend)
	if _, err := means.Predict(t.Context(), newRows(3)[1:], 3); err == nil {
		t.Error("rows of the wrong length")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := means.Predict(ctx, newRows(3), 3); err == nil {
		t.Error("a cancelled context")
	}
}

func newMeans(t *testing.T, m *Model, b device.Backend) *Means {
	t.Helper()
	means := must.Get(m.Means(t.Context(), b))(t)
	t.Cleanup(func() { means.Close() })
	return means
}

func predictMeans(t *testing.T, means *Means, rows []float64, m int) [][]float64 {
	t.Helper()
	out := must.Get(means.Predict(t.Context(), rows, m))(t)
	return out
}

package graph_test

import (
	"context"
	"errors"
	"math"
	"testing"

	"gpfit/device"
	"gpfit/graph"
	"gpfit/internal/must"
)

// inexact is the core of a workspace with an error of log|Σ| of known size.
type inexact struct {
	device.Workspace
}

func (inexact) Method() string { return "inexact" }

func (w inexact) LogDet() (value, stdErr float64, err error) {
	value, _, err = w.Workspace.LogDet()
	return value + 0.3, 0.2, err
}

// TestInexactMethod checks that the terms include the standard error of log|Σ|, and
// that leave-one-out, which the method cannot provide, is an error.
func TestInexactMethod(t *testing.T) {
	ctx, f := context.Background(), newFixture(t, "rbf(ard)", 40, 2, nil)
	z := f.z(1)
	want := f.value(t, z)
	if e := f.obj.Terms().LogDetStdErr; e != 0 {
		t.Errorf("standard error %v of an exact method", e)
	}
	obj := must.Get(graph.Build(inexact{f.ws}, f.spec))(t)
	got, err := obj.Value(ctx, z)
	if err != nil || math.Abs(got-want-0.15) > 1e-10*math.Abs(want) {
		t.Errorf("value %v, exactly %v, error %v", got, want, err)
	}
	if terms := obj.Terms(); terms.LogDetStdErr != 0.2 {
		t.Errorf("terms %+v", terms)
	}
	_, scored := obj.LeaveOneOut(ctx)
	f.spec.LeaveOneOut = true
	if obj, err = graph.Build(inexact{f.ws}, f.spec); err != nil {
		t.Fatal(err)
	}
	_, minimised := obj.ValueGradient(ctx, z, make([]float64, len(z)))
	for what, err := range map[string]error{"score": scored, "objective": minimised} {
		var unsupported *device.UnsupportedError
		if !errors.As(err, &unsupported) || unsupported.Method != "inexact" {
			t.Errorf("%s: error %v, want an UnsupportedError", what, err)
		}
	}
}

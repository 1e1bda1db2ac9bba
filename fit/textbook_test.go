package fit

import (
	"context"
	"errors"
	"math"
	"testing"

	"gpfit/device"
	"gpfit/fit/problem"
	"gpfit/internal/must"
	"gpfit/internal/testmethod"
	"gpfit/internal/textbook"
)

// TestTextbook fits by another method on another device. The likelihood, the optimum
// and the predictions equal the CPU's, and operations that the method lacks are
// errors.
func TestTextbook(t *testing.T) {
	ctx, d := context.Background(), synthetic(60)
	o := problem.Options{Kernel: "rbf(ard)", Mean: "linear", LeaveOneOut: true, StdErrors: true}
	backends, choice, err := device.Dispatch(ctx, device.Request{Device: textbook.Name}, []device.Driver{textbook.Driver()}, testmethod.Method{})
	if err != nil || choice.Device != textbook.Name {
		t.Fatalf("choice %+v, error %v", choice, err)
	}
	want, wantStart := mustFit(t, d, o), evaluate(t, d, o)
	start := must.Get(Evaluate(ctx, mustPrepare(t, d, o), backends[0], nil))(t)
	got := must.Get(Run(ctx, mustPrepare(t, d, o), backends...))(t)
	defer got.Close()
	for what, pair := range map[string][2]float64{
		"NLML at the start": {start.NLML, wantStart.NLML}, "NLML": {got.Report.NLML, want.Report.NLML},
		"leave-one-out": {got.Report.Scores.LeaveOneOut.Sum, want.Report.Scores.LeaveOneOut.Sum},
	} {
		if !(math.Abs(pair[0]-pair[1]) <= 1e-10*math.Abs(pair[1])) {
			t.Errorf("%s: %v, want %v", what, pair[0], pair[1])
		}
	}
	if got.Report.Device != textbook.Name {
		t.Errorf("device %s", got.Report.Device)
	}
	if err := got.SaveModel(t.TempDir()+"/m", false); err != nil {
		t.Error(err)
	}
	var unsupported *device.UnsupportedError
	if err := got.SaveModel(t.TempDir()+"/m", true); !errors.As(err, &unsupported) || unsupported.Method != "textbook" {
		t.Errorf("a model with a factor: error %v", err)
	}
}

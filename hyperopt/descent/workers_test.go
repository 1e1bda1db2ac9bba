package descent

import (
	"context"
	"errors"
	"math"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"gpfit/internal/must"
)

// waves has many local minima; each instance counts its evaluations and fails
// after limit of them.
type waves struct {
	calls atomic.Int64
	limit int64
	// broke, unless nil, is closed when the limit is reached. The first value waits
	// for wait.
	broke, wait chan struct{}
}

var errBroken = errors.New("broken")

func (w *waves) Value(ctx context.Context, z []float64) (float64, error) {
	if n := w.calls.Add(1); w.limit > 0 && n > w.limit {
		close(w.broke)
		return 0, errBroken
	}
	if w.wait != nil {
		<-w.wait
	}
	sum := 0.0
	for _, x := range z {
		sum += x*x/20 + math.Sin(3*x)
	}
	return sum, ctx.Err()
}

func (w *waves) ValueGradient(ctx context.Context, z, grad []float64) (float64, error) {
	for i, x := range z {
		grad[i] = x/10 + 3*math.Cos(3*x)
	}
	return w.Value(ctx, z)
}

// TestWorkers checks that parallel starts give the same result as sequential
// starts.
func TestWorkers(t *testing.T) {
	settings := how{Restarts: 11, Seed: 5, RestartStd: 3}
	start := []float64{0.3, -2}
	serial := must.Get(minimizeArrays(context.Background(), arrays{Objective: &waves{}, Start: start}, settings))(t)
	for range 5 {
		objectives := []*waves{{}, {}, {}}
		var last Iteration
		calls := 0
		settings.Callback = func(it Iteration) { last, calls = it, calls+1 }
		got := must.Get(minimizeArrays(context.Background(), arrays{Objective: objectives[0], Workers: []Func{objectives[1], objectives[2]}, Start: start}, settings))(t)
		if diff := cmp.Diff(serial, got, cmpopts.EquateNaNs()); diff != "" {
			t.Fatalf("with three workers:\n%s", diff)
		}
		if calls < 24 || last.Best > serial.F+1e-9 || last.Total.Value > serial.Evaluations.Value {
			t.Errorf("%d callbacks, last %+v", calls, last)
		}
	}
}

// TestBrokenWorker checks that a failing objective ends the run with its error.
func TestBrokenWorker(t *testing.T) {
	broke := make(chan struct{})
	good, bad := &waves{wait: broke}, &waves{limit: 7, broke: broke}
	r, err := minimizeArrays(context.Background(), arrays{Objective: good, Workers: []Func{bad}, Start: []float64{0.3, -2}},
		how{Restarts: 40, Seed: 5, RestartStd: 3})
	if !errors.Is(err, errBroken) || r.X == nil || r.Status != StatusFailed {
		t.Errorf("status %v, best %v, error %v", r.Status, r.X, err)
	}
}

package cuda

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"gpfit/device"
	"gpfit/internal/cuda/emulator"
	"gpfit/internal/must"
)

// TestNotPositiveDefinite expects the order of the failing minor, in any block of the
// factorisation, and a workspace that can be used again.
func TestNotPositiveDefinite(t *testing.T) {
	const n = 130
	j := newJob(t, n)
	b := checked(t)
	ctx := context.Background()
	ws := j.workspace(t, b)
	want := must.Get(j.runIn(ctx, ws))(t)
	block := int(smallSteps.factor)
	for _, row := range []int{0, 1, block - 1, block, block + 1, 2*block - 1, 2 * block, 3 * block, n - 1} {
		noise := make([]float64, n)
		for i := range noise {
			noise[i] = 0.1
		}
		for _, bad := range []float64{-10, math.NaN()} {
			noise[row] = bad
			must.Do(t, ws.Fill(ctx, j.prog, j.theta, noise))
			err := ws.Factor(ctx)
			var npd *device.NotPDError
			var notFinite *device.NonFiniteError
			switch {
			case bad < 0 && (!errors.As(err, &npd) || npd.Minor != row+1 || npd.N != n):
				t.Errorf("row %d: error %v, want a NotPDError of order %d", row, err, row+1)
			case bad != bad && (!errors.As(err, &notFinite) || notFinite.Row != row):
				t.Errorf("row %d: error %v, want a NonFiniteError of row %d", row, err, row)
			}
			if _, _, err := ws.LogDet(); !errors.Is(err, device.ErrStage) {
				t.Errorf("LogDet after it: %v", err)
			}
		}
	}
	got := must.Get(j.runIn(ctx, ws))(t)
	j.same(t, got, want)
}

// limited is a context that is cancelled after a number of polls.
type limited struct {
	context.Context
	left *int
}

func (l limited) Err() error {
	if *l.left--; *l.left < 0 {
		return context.Canceled
	}
	return nil
}

// TestCancelAnywhere cancels a job at each poll of its context in turn, in its short form at
// every fourth and the last ones, which are alone in their calls.
func TestCancelAnywhere(t *testing.T) {
	j := newJob(t, 130)
	b := checked(t)
	ws := j.workspace(t, b)
	const many = 1 << 20
	polls := many
	want := must.Get(j.runIn(limited{context.Background(), &polls}, ws))(t)
	polls = many - polls
	seen := map[string]int{}
	step := 4
	for k := 0; ; k += step {
		if emulator.Long() || k > polls-12 {
			step = 1
		}
		left := k
		got, err := j.runIn(limited{context.Background(), &left}, ws)
		if left >= 0 {
			if err != nil {
				t.Fatal(err)
			}
			j.same(t, got, want)
			break
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("poll %d: error %v", k, err)
		}
		name, _, _ := strings.Cut(err.Error(), ":")
		seen[name] += step
		if _, _, err := ws.LogDet(); !errors.Is(err, device.ErrStage) {
			t.Fatalf("LogDet after it: %v", err)
		}
		if k%(9*step) == 0 {
			got := must.Get(j.runIn(context.Background(), ws))(t)
			j.same(t, got, want)
		}
	}
	if seen["fill"] < 3 || seen["factor"] < 8 || seen["contract"] < 8 || seen["contract all"] < 8 || seen["covariance"] < 2 || seen["predict"] < 1 {
		t.Errorf("cancelled so often: %v", seen)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := openWith(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Open: %v", err)
	}
	if _, err := b.NewWorkspace(ctx, j.x); !errors.Is(err, context.Canceled) {
		t.Errorf("NewWorkspace: %v", err)
	}
}

func openWith(ctx context.Context) (device.Device, error) {
	return Driver{}.Open(ctx, "cuda:0", device.Options{})
}

// TestProgress checks that progress rises to its total in each stage that reports it.
func TestProgress(t *testing.T) {
	j := newJob(t, 300)
	b := checked(t)
	ws := j.workspace(t, b)
	last := map[string]device.Progress{}
	ws.OnProgress(func(p device.Progress) {
		before := last[p.Stage]
		if before.Done > 0.999*before.Total { // belongs to the call before
			before = device.Progress{}
		}
		if p.Done < before.Done || !(p.Done <= p.Total*1.0000001) {
			t.Errorf("%+v after %+v", p, before)
		}
		last[p.Stage] = p
	})
	must.Get(j.runIn(context.Background(), ws))(t)
	for _, stage := range []string{"factor", "gradient", "predict"} {
		if p := last[stage]; !(p.Done > 0.999*p.Total) || p.Total == 0 {
			t.Errorf("%s ends at %+v", stage, p)
		}
	}
	if len(last) != 3 {
		t.Errorf("stages %v", last)
	}
}

// TestResidualOfLastFill expects the residual of the last Fill, regardless of later
// calls with other parameters, and no residual if nothing was filled.
func TestResidualOfLastFill(t *testing.T) {
	ctx := context.Background()
	j, other := newJob(t, 90), newJob(t, 90)
	b := checked(t)
	ws := j.workspace(t, b)
	w := ws
	l, mean := make([]float64, 90*90), make([]float64, j.xs.N)
	for i := range 90 {
		l[i*91] = 1
	}
	if _, err := w.Residual(ctx); !errors.Is(err, device.ErrStage) {
		t.Errorf("before Factor: error %v", err)
	}
	must.Do(t, ws.WriteFactor(0, 90, l))
	if _, err := w.Residual(ctx); !errors.Is(err, device.ErrStage) {
		t.Errorf("of a factor that was read: error %v", err)
	}
	for i := range other.theta {
		other.theta[i] *= 2
	}
	predict := func() {
		t.Helper()
		must.Do(t, ws.Predict(ctx, other.prog, other.theta, other.y, other.xs, mean, nil))
	}
	fill := func(noise float64) {
		t.Helper()
		must.Do(t, ws.Fill(ctx, j.prog, j.theta, []float64{noise}))
		predict()
	}
	fill(-10)
	if err := ws.Factor(ctx); !device.IsNotPD(err) {
		t.Errorf("error %v, want a NotPDError", err)
	}
	fill(0.1)
	must.Do(t, ws.Factor(ctx))
	predict()
	if r, err := w.Residual(ctx); err != nil || !(r < 1e-11) || r == 0 {
		t.Errorf("residual %v, error %v", r, err)
	}
	must.Do(t, ws.ReadFactor(60, 61, l))
	l[30] += 0.1
	must.Do(t, ws.WriteFactor(60, 61, l))
	w.stage = stageFactored
	if r, err := w.Residual(ctx); err != nil || !(r > 1e-6) {
		t.Errorf("residual %v of a wrong factor, error %v", r, err)
	}
}

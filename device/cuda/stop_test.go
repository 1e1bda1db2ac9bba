package cuda

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"gpfit/device"
	"gpfit/device/cuda/emulator"
	"gpfit/internal/testcheck"
)

// TestNotPositiveDefinite expects the order of the failing minor, in any block of the
// factorization, and a workspace that can be used again.
func TestNotPositiveDefinite(t *testing.T) {
	eachSteps(t, notPositiveDefinite)
}

func notPositiveDefinite(t *testing.T, steps sizes) {
	const n = 130
	j := newJob(t, n)
	b := checked(t)
	b.sizes = steps
	ctx := context.Background()
	ws := j.workspace(t, b)
	want := testcheck.Get(j.runIn(ctx, ws))(t)
	block := int(smallSteps.factor)
	for _, row := range []int{0, 1, block - 1, block, block + 1, 2*block - 1, 2 * block, 3 * block, n - 1} {
		noise := make([]float64, n)
		for i := range noise {
			noise[i] = 0.1
		}
		for _, bad := range []float64{-10, math.NaN()} {
			noise[row] = bad
			testcheck.Do(t, ws.Fill(ctx, j.prog, j.theta, noise))
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
	got := testcheck.Get(j.runIn(ctx, ws))(t)
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
// every seventh and the last ones, which are alone in their calls.
func TestCancelAnywhere(t *testing.T) {
	eachSteps(t, cancelAnywhere)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := (Driver{}).Open(ctx, "cuda:0", device.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("Open: %v", err)
	}
}

func cancelAnywhere(t *testing.T, steps sizes) {
	j := newJob(t, 130)
	b := checked(t)
	b.sizes = steps
	ws := j.workspace(t, b)
	const many = 1 << 20
	polls := many
	want := testcheck.Get(j.runIn(limited{context.Background(), &polls}, ws))(t)
	polls = many - polls
	seen := map[string]int{}
	step := 7
	for k := 0; ; k += step {
		if testcheck.Long() || k > polls-12 {
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
			got := testcheck.Get(j.runIn(context.Background(), ws))(t)
			j.same(t, got, want)
		}
	}
	if steps == smallSteps && (seen["fill"] < 3 || seen["factor"] < 8 || seen["contract"] < 8 || seen["contract all"] < 8 || seen["covariance"] < 2 || seen["predict"] < 1) ||
		seen["contract"] < 1 {
		t.Errorf("cancelled so often: %v", seen)
	}
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
	testcheck.Get(j.runIn(context.Background(), ws))(t)
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
	testcheck.Do(t, ws.WriteFactor(0, 90, l))
	if _, err := w.Residual(ctx); !errors.Is(err, device.ErrStage) {
		t.Errorf("of a factor that was read: error %v", err)
	}
	for i := range other.theta {
		other.theta[i] *= 2
	}
	predict := func() {
		t.Helper()
		testcheck.Do(t, ws.Predict(ctx, other.prog, other.theta, other.y, other.xs, mean, nil))
	}
	fill := func(noise float64) {
		t.Helper()
		testcheck.Do(t, ws.Fill(ctx, j.prog, j.theta, []float64{noise}))
		predict()
	}
	fill(-10)
	if err := ws.Factor(ctx); !device.IsNotPD(err) {
		t.Errorf("error %v, want a NotPDError", err)
	}
	fill(0.1)
	testcheck.Do(t, ws.Factor(ctx))
	predict()
	if r, err := w.Residual(ctx); err != nil || !(r < 1e-11) || r == 0 {
		t.Errorf("residual %v, error %v", r, err)
	}
	testcheck.Do(t, ws.ReadFactor(60, 61, l))
	l[30] += 0.1
	testcheck.Do(t, ws.WriteFactor(60, 61, l))
	w.stage = stageFactored
	if r, err := w.Residual(ctx); err != nil || !(r > 1e-6) {
		t.Errorf("residual %v of a wrong factor, error %v", r, err)
	}
}

// stickyCodes are codes that destroy a context: illegal address, launch failure, memory
// error, assertion, timeout.
var stickyCodes = []int{700, 719, 214, 710, 702}

// within ends the test if f takes longer than any call can take.
func within(t *testing.T, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(30 * time.Second):
		panic("a call on a lost device did not return")
	}
}

func wantLost(t *testing.T, what string, err error) {
	t.Helper()
	var lost *device.LostError
	if !errors.As(err, &lost) || lost.Device != "cuda:0" || lost.Err == nil {
		t.Errorf("%s: error %v, want a LostError", what, err)
	}
}

// TestLostAtEachCall makes the device fail permanently at each call of a job in turn, in
// its short form at every seventh.
func TestLostAtEachCall(t *testing.T) {
	j, want := reference(t, 90)
	step := 7 // no divisor of the number of codes
	if testcheck.Long() {
		step = 1
	}
	for k := 1; ; k += step {
		code := stickyCodes[k%len(stickyCodes)]
		what := fmt.Sprintf("call %d, code %d", k, code)
		emulator.Reset() // revives the device
		b := openBare(t, 0)
		emulator.Reset() // and counts from here
		emulator.Inject(t, "*", k, code)
		checked := false
		j.failed = func(ws device.DenseWorkspace) {
			checked = true
			if emulator.Calls("*") >= k { // not an error of the very first call
				wantLostWorkspace(t, what, j, ws)
			}
		}
		var err error
		within(t, func() { _, err = j.run(context.Background(), b) })
		if calls := emulator.Calls("*"); calls < k {
			if err != nil || calls < 100 {
				t.Errorf("%d calls, error %v", calls, err)
			}
			emulator.Reset()
			mustClose(t, b)
			break
		}
		wantLost(t, what, err)
		calls := emulator.Calls("*")
		within(t, func() {
			_, err := b.NewWorkspace(context.Background(), j.x)
			wantLost(t, what+": NewWorkspace", err)
			_, err = b.DgemmRate(context.Background(), 64)
			wantLost(t, what+": DgemmRate", err)
			if info := b.Info(); info.Name != "cuda:0" || info.MemoryFree != 0 {
				t.Errorf("%s: %+v", what, info)
			}
			mustClose(t, b)
			mustClose(t, b)
		})
		if n := emulator.Calls("*"); n != calls {
			t.Errorf("%s: %d more calls to the driver", what, n-calls)
		}
		if t.Failed() {
			t.Fatalf("%s, workspace seen: %v", what, checked)
		}
	}
	// After a reset, which stands for a new process, there is a device again.
	emulator.Reset()
	j.mustRun(t, openBare(t, 0), want)
}

// wantLostWorkspace fails unless every call reports that the device is lost, without
// calling the driver.
func wantLostWorkspace(t *testing.T, what string, j *job, ws device.DenseWorkspace) {
	ctx, n := context.Background(), j.x.N
	calls := emulator.Calls("*")
	v, l := make([]float64, n), make([]float64, n*n)
	adj := device.Adjoint{Inv: 1}
	_, _, logDet := ws.LogDet()
	_, residual := ws.(device.ResidualChecker).Residual(ctx)
	for name, err := range map[string]error{
		"Fill": ws.Fill(ctx, j.prog, j.theta, j.noise), "Factor": ws.Factor(ctx), "LogDet": logDet, "Residual": residual, "Solve": ws.Solve(ctx, v, 1),
		"Contract":          ws.Contract(ctx, adj, j.prog, j.theta, make([]float64, len(j.theta)), v),
		"Predict":           ws.Predict(ctx, j.prog, j.theta, v, j.xs, make([]float64, j.xs.N), nil),
		"InverseDiagonal":   ws.InverseDiagonal(ctx, v),
		"PredictCovariance": ws.PredictCovariance(ctx, j.prog, j.theta, j.xs, make([]float64, j.xs.N*j.xs.N)),
		"Whiten":            ws.Whiten(ctx, v, 1, false),
		"Products":          ws.MultiplyDerivatives(ctx, j.prog, j.theta, v, 1, make([]float64, n*len(j.theta))),
		"ReadFactor":        ws.ReadFactor(0, n, l), "WriteFactor": ws.WriteFactor(0, n, l),
	} {
		wantLost(t, what+": "+name, err)
	}
	if more := emulator.Calls("*"); more != calls {
		t.Errorf("%s: %d calls to the driver by a workspace on a lost device", what, more-calls)
	}
}

// TestLostInOpen makes the device fail permanently at each call of Open, in its short form at
// fewer of the later ones.
func TestLostInOpen(t *testing.T) {
	emulator.Need(t)
	for k := 1; ; k = later(k) {
		emulator.Reset()
		emulator.Inject(t, "*", k, stickyCodes[k%len(stickyCodes)])
		var b device.DenseDevice
		var err error
		within(t, func() { b, err = openDevice("cuda:0") })
		if emulator.Calls("*") < k {
			if err != nil || k < 100 {
				t.Errorf("%d calls, error %v", k, err)
			}
			emulator.Reset()
			mustClose(t, b)
			return
		}
		if err == nil { // a call that only frees memory
			within(t, func() {
				_, err = b.NewWorkspace(context.Background(), newJob(t, 10).x)
				b.Close()
			})
			wantLost(t, fmt.Sprintf("call %d", k), err)
			continue
		}
		unavailable(t, err)
	}
}

// TestLostInClose makes the device fail permanently at each call of Close.
func TestLostInClose(t *testing.T) {
	emulator.Need(t)
	for k := 1; ; k++ {
		emulator.Reset()
		b := openBare(t, 0)
		emulator.Inject(t, "*", k, stickyCodes[k%len(stickyCodes)])
		calls := emulator.Calls("*")
		var err error
		within(t, func() { err = b.Close() })
		if emulator.Calls("*") < calls+k {
			if err != nil || k < 6 {
				t.Errorf("%d calls, error %v", k, err)
			}
			return
		}
		if err != nil {
			wantLost(t, fmt.Sprintf("call %d", k), err)
		}
	}
}

package cuda

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"gpfit/device"
	"gpfit/internal/cuda/emulator"
)

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
// its short form at every third.
func TestLostAtEachCall(t *testing.T) {
	j, want := reference(t, 90)
	step := 3 // no divisor of the number of codes
	if emulator.Long() {
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

package cuda

import (
	"context"
	"errors"
	"math"
	"sync"
	"testing"
	"time"

	"gpfit/device"
	"gpfit/device/cuda/emulator"
	"gpfit/internal/testcheck"
)

// TestLockstep runs jobs on four lanes of a device, whose streams work late in random orders, and wants the bits of
// one job alone on a device that works at once. Those differ from the steps of large matrices only by rounding.
func TestLockstep(t *testing.T) {
	emulator.Check(t)
	var on []device.DenseDevice
	for range 4 {
		b := openBare(t, 0)
		b.sizes = lockstepSizes
		on = append(on, b)
	}
	steps := openBare(t, 0)
	jobs := []*job{newJob(t, 97), newJob(t, 130)}
	var want [][]float64
	for _, j := range jobs {
		alone := j.mustRun(t, on[0], nil)
		for i, v := range j.mustRun(t, steps, nil) {
			if math.Abs(alone[i]-v) > 1e-10*(1+math.Abs(v)) {
				t.Fatalf("n = %d: result %d is %v in lock step, %v by the steps of large matrices", j.x.N, i, alone[i], v)
			}
		}
		want = append(want, alone)
	}
	seeds := 1
	if testcheck.Long() {
		seeds = 10
	}
	l := on[0].(*Device).lockstep
	for seed := range seeds {
		emulator.Order(t, 1+seed)
		l.company, l.linger = 4, 2*time.Millisecond
		atOnce(t, 4, jobs[:1], want[:1], on)
		atOnce(t, 4, jobs, want, on)
	}
}

// TestLockstepAlone checks errors of one partner of a group: the others go on with the same bits.
func TestLockstepAlone(t *testing.T) {
	emulator.Check(t)
	b := openBare(t, 0)
	b.sizes = lockstepSizes
	good, bad := newJob(t, 97), newJob(t, 97)
	want := good.mustRun(t, b, nil)
	bad.noise = []float64{-5}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	b.lockstep.linger = time.Second
	var wg sync.WaitGroup
	for k := range 3 {
		b.lockstep.company = 3
		wg.Go(func() {
			switch k {
			case 0:
				ws := bad.workspace(t, b)
				var npd *device.NotPDError
				if err := ws.Form(t.Context(), bad.prog, bad.theta, bad.noise); !errors.As(err, &npd) || npd.Minor < 1 {
					t.Errorf("error %v, want one of a minor", err)
				}
			case 1:
				ws := good.workspace(t, b)
				if err := ws.Form(cancelled, good.prog, good.theta, good.noise); !errors.Is(err, context.Canceled) {
					t.Errorf("error %v, want a cancellation", err)
				}
			default:
				good.mustRun(t, b, want)
			}
		})
	}
	wg.Wait()
}

// TestLockstepPanic checks that a panic of a partner continues in its own caller alone.
func TestLockstepPanic(t *testing.T) {
	emulator.Check(t)
	b := openBare(t, 0)
	b.sizes = lockstepSizes
	good := newJob(t, 65)
	want := good.mustRun(t, b, nil)
	l := b.lockstep
	l.company, l.linger = 2, time.Second
	var wg sync.WaitGroup
	wg.Go(func() { good.mustRun(t, b, want) })
	wg.Go(func() {
		defer func() {
			if p := recover(); p != "mistake" {
				t.Errorf("recovered %v", p)
			}
		}()
		t.Error(l.join(&partner{step: stepFactor, n: 65, begin: func() error { panic("mistake") }}))
	})
	wg.Wait()
}

// TestLockstepClosed checks that a closed device has no small workspaces, whatever its card still does for others.
func TestLockstepClosed(t *testing.T) {
	emulator.Check(t)
	closed, other := openBare(t, 0), openBare(t, 0)
	closed.sizes, other.sizes = lockstepSizes, lockstepSizes
	j := newJob(t, 33)
	want := j.mustRun(t, closed, nil)
	ws := j.workspace(t, other)
	mustClose(t, closed)
	if _, err := closed.NewWorkspace(t.Context(), j.x); err == nil {
		t.Error("a closed device has a workspace")
	}
	j.same(t, testcheck.Get(j.runIn(t.Context(), ws))(t), want)
}

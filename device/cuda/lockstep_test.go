package cuda

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"gpfit/device"
	"gpfit/device/cuda/emulator"
	"gpfit/device/cuda/kernels"
	"gpfit/graph"
	"gpfit/internal/testcheck"
)

// counts are calls and bytes of a computation.
type counts struct{ launches, synchronizations, bytes float64 }

func countsNow() counts {
	var c counts
	for _, entry := range []string{
		"cuLaunchKernel", "cuMemsetD8Async", "cublasDgemm_v2_64", "cublasDtrsm_v2_64", "cublasDgemmStridedBatched_64", "cublasDsymm_v2_64", "cusolverDnXpotrf",
	} {
		c.launches += float64(emulator.Calls(entry))
	}
	c.synchronizations = float64(emulator.Calls("cuStreamSynchronize"))
	c.bytes = float64(emulator.Copied())
	return c
}

// since returns the counts since before, divided by the evaluations.
func (c counts) since(before counts, evaluations float64) counts {
	return counts{(c.launches - before.launches) / evaluations, (c.synchronizations - before.synchronizations) / evaluations, (c.bytes - before.bytes) / evaluations}
}

// TestLockstepCounts counts launches, waits and bytes of a value with gradient in lock step and by the steps of large
// matrices. The long form does so at n = 1,000 in lock step of 16; the short form computes the launches there from
// their lists and from a smaller job.
func TestLockstepCounts(t *testing.T) {
	emulator.Check(t)
	n, companions := 200, 4
	if testcheck.Long() {
		n, companions = 1000, 16
	}
	evaluations := func(j *job, b *Device, count int) []func() {
		var all []func()
		for range count {
			ws := j.workspace(t, b)
			obj := testcheck.Get(graph.Build(ws, graph.Spec{Program: j.prog, X: j.x, Y: j.y, Device: "cuda:0"}))(t)
			z, g := make([]float64, len(obj.Names())), make([]float64, len(obj.Names()))
			all = append(all, func() {
				z[0] += 0.01
				if _, err := obj.ValueGradient(t.Context(), z, g); err != nil {
					t.Error(err)
				}
			})
		}
		return all
	}
	j := newJob(t, n)
	b := openBare(t, 0)
	b.sizes = lockstepSizes
	b.sizes.together = 0
	alone := evaluations(j, b, 1)[0]
	alone() // loads kernels
	before := countsNow()
	alone()
	large := countsNow().since(before, 1)

	b.sizes = lockstepSizes
	all := evaluations(j, b, companions)
	for _, f := range all {
		f()
	}
	before = countsNow()
	b.lockstep.company, b.lockstep.linger = companions, time.Minute // each group waits for all
	var wg sync.WaitGroup
	for _, f := range all {
		wg.Go(f)
	}
	wg.Wait()
	small := countsNow().since(before, float64(companions))
	t.Logf("n = %d: %+v by the steps of large matrices, %+v in lock step of %d", n, large, small, companions)

	// The library calls of n = 1,000 before there was a lock step: 39 launches (a factorization by cuSOLVER counts as
	// one) and 13 waits.
	const launches, waits = 39, 13
	shared := func(n, companions int) float64 {
		s, count := kernels.Systems{N: int64(n), Count: 1}, 0.0
		for _, l := range slices.Concat(s.Factor(), s.Solve(), s.Invert()) {
			if l.Blocks > 0 {
				count++
			}
		}
		return count / float64(companions)
	}
	if at1000 := small.launches - shared(n, companions) + shared(1000, 16); at1000 > launches/3 {
		t.Errorf("n = 1,000: %v launches in lock step of 16", at1000)
	}
	// A group waits after its factorization, its solution and its contraction, and a staging that is full.
	if most := 4 / float64(companions); small.synchronizations > most || most > waits/3 {
		t.Errorf("%v waits, want at most %v", small.synchronizations, most)
	}
	// The right-hand side, the solution and the diagonal of the adjoint pass, and some numbers more.
	if small.bytes > float64(3*8*n+1000) {
		t.Errorf("%v bytes copied", small.bytes)
	}
}

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

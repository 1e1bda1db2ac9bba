package cuda

import (
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"gpfit/device"
	"gpfit/device/cuda/emulator"
	"gpfit/internal/testcheck"
	"gpfit/kernel"
	"gpfit/kernel/kerneltest"
)

// stages are the times of a value with gradient and of its parts, by the clock of the emulated card. They are a model's.
type stages struct{ fill, factor, solve, inverse, contract, all time.Duration }

// clockedJob is a job of n points with the kernel rbf of 8 inputs on a dry card.
type clockedJob struct {
	*Workspace
	prog                            *kernel.Program
	theta, noise, grad, diag, alpha []float64
}

// dry opens a dry card.
func dry(t *testing.T, choose func(*sizes)) *Device {
	t.Helper()
	emulator.Dry(t)
	emulator.SetMemory(0, 80<<30)
	t.Cleanup(func() { emulator.SetMemory(0, 1<<30) })
	b := testcheck.Get(open(0))(t)
	t.Cleanup(func() { mustClose(t, b) })
	b.flopRate = func() float64 { return 4.5e13 }
	choose(&b.sizes)
	return b
}

func newClockedJob(t *testing.T, b *Device, n int) *clockedJob {
	t.Helper()
	const d = 8
	x := make([]float64, n*d)
	for i := range x {
		x[i] = math.Sin(float64(i))
	}
	ws := testcheck.Get(b.NewWorkspace(t.Context(), kernel.NewPoints(x, n, d)))(t)
	t.Cleanup(func() { testcheck.Do(t, ws.Close()) })
	return &clockedJob{ws.(*Workspace), kerneltest.Program(t, "rbf", d), []float64{1, 2}, []float64{0.1}, make([]float64, 2), make([]float64, n), make([]float64, n)}
}

func (j *clockedJob) contract(t *testing.T) error {
	return j.Contract(t.Context(), device.Adjoint{Inv: 0.5, Outer: []float64{-0.5}, Vectors: j.alpha}, j.prog, j.theta, j.grad, j.diag)
}

// clocked returns the stages of a second evaluation of n points.
func clocked(t *testing.T, n int, choose func(*sizes)) (s stages) {
	t.Helper()
	j, h := newClockedJob(t, dry(t, choose), n), emulator.H100(n)
	part := func(f func() error) (emulator.Work, time.Duration) {
		work := emulator.Trace(t, func() { testcheck.Do(t, f()) })
		took, _ := h.Time(work)
		return work, took
	}
	for range 2 {
		var works [5]emulator.Work
		works[0], s.fill = part(func() error { return j.Fill(t.Context(), j.prog, j.theta, j.noise) })
		works[1], s.factor = part(func() error {
			if err := j.Factor(t.Context()); err != nil {
				return err
			}
			_, _, err := j.LogDet()
			return err
		})
		works[2], s.solve = part(func() error { return j.Solve(t.Context(), j.alpha, 1) })
		works[3], s.inverse = part(func() error { return j.InverseDiagonal(t.Context(), j.diag) })
		works[4], s.contract = part(func() error { return j.contract(t) })
		s.all, _ = h.Time(slices.Concat(works[:]...))
	}
	return s
}

// TestClockOfKernels compares the cycles of a block with another program's, which executes the PTX by itself and has the same latencies.
func TestClockOfKernels(t *testing.T) {
	j := newClockedJob(t, dry(t, func(s *sizes) { s.company = 1 }), 512)
	work := emulator.Trace(t, func() {
		testcheck.Do(t, j.Form(t.Context(), j.prog, j.theta, j.noise))
		testcheck.Do(t, j.Solve(t.Context(), j.alpha, 1))
		testcheck.Do(t, j.contract(t))
	})
	for kernel, want := range map[string]int64{"leaf": 14872, "below": 8613, "trailing": 7813, "above": 8674, "expand": 7141, "forward": 6852, "backward": 7696} {
		got := work.Cycles("gpfit_batch_" + kernel)
		t.Logf("%s: %d cycles, the other program says %d", kernel, got, want)
		if math.Abs(float64(got-want)) > 0.1*float64(want) {
			t.Errorf("%s: %d cycles, the other program says %d", kernel, got, want)
		}
	}
	if pair := work.Cycles("gpfit_batch_leaf") + work.Cycles("gpfit_batch_below"); float64(pair)/1755 > 14 {
		t.Errorf("a leaf and the rows below take %d cycles", pair)
	}
}

// TestClockTogether compares jobs in lock step with one lane, by the clock.
func TestClockTogether(t *testing.T) {
	for _, c := range []struct {
		n, jobs int
		least   float64
		starts  int64
	}{{1000, 12, 8.8, 400}, {2000, 6, 2.95, 710}} {
		alone := clocked(t, c.n, func(*sizes) {}).all
		b := dry(t, func(s *sizes) { s.company = 1 })
		var jobs []*clockedJob
		for range c.jobs {
			jobs = append(jobs, newClockedJob(t, b, c.n))
		}
		b.lockstep.company, b.lockstep.linger = c.jobs, time.Minute
		var work emulator.Work
		for range 2 {
			work = emulator.Trace(t, func() {
				var wg sync.WaitGroup
				for _, j := range jobs {
					wg.Go(func() {
						if err := j.Form(t.Context(), j.prog, j.theta, j.noise); err != nil {
							t.Error(err)
						} else if err := j.Solve(t.Context(), j.alpha, 1); err != nil {
							t.Error(err)
						} else if err := j.contract(t); err != nil {
							t.Error(err)
						}
					})
				}
				wg.Wait()
			})
		}
		took, busy := emulator.H100(c.n).Time(work)
		ratio := alone.Seconds() * float64(c.jobs) / took.Seconds()
		t.Logf("%d jobs of n = %d: the model says %v, %v for one alone, %.1f times its jobs a second; the multiprocessors have tiles %.2f of the time", c.jobs, c.n, took, alone, ratio, busy)
		// By the steps of large matrices an evaluation of n = 1,000 takes 39 starts and 13 waits. The right-hand side, the solution
		// and the diagonal of the adjoint pass, and some numbers more.
		starts, waits, bytes := work.Counts()
		if starts > c.starts || waits > 3 || bytes > int64(c.jobs*(3*8*c.n+1000)) {
			t.Errorf("%d jobs of n = %d: %d starts, at most %d, %d waits, %d bytes", c.jobs, c.n, starts, c.starts, waits, bytes)
		}
		if ratio < c.least {
			t.Errorf("%d jobs of n = %d: %.1f times the jobs a second of one alone, less than %v", c.jobs, c.n, ratio, c.least)
		}
	}
}

// large are the steps of November 2026, without company and without a matrix of U.
func large(s *sizes) { s.together, s.spread = 0, 0 }

// TestClockOfMeasured compares the clock with what was measured on an H100 on 2026-11-22 with the steps of large
// matrices.
func TestClockOfMeasured(t *testing.T) {
	for _, m := range []struct {
		n                                    int
		fill, factor, inverse, contract, all float64
	}{
		{2000, 40.2e-6, 998e-6, 500e-6, 133e-6, 2.06e-3}, {5000, 63.7e-6, 3.19e-3, 3.37e-3, 245e-6, 7.77e-3},
		{10_000, 260e-6, 11.5e-3, 18.5e-3, 596e-6, 32.7e-3}, {20_000, 1.14e-3, 66.3e-3, 117.6e-3, 1.93e-3, 191e-3},
	} {
		s := clocked(t, m.n, large)
		t.Logf("n = %d: the model says %+v", m.n, s)
		for what, pair := range map[string][2]float64{
			"fill": {s.fill.Seconds(), m.fill}, "contraction": {s.contract.Seconds(), m.contract},
			"inverse": {s.inverse.Seconds(), m.inverse}, "all": {s.all.Seconds(), m.all},
		} {
			if what != "all" && what != "inverse" && m.n > 2000 {
				continue // these move memory, of which the clock knows little
			}
			if ratio := pair[0] / pair[1]; !(ratio < 1.5 && ratio > 1/1.5) {
				t.Errorf("n = %d, %s: the model says %.3g s, measured %.3g s", m.n, what, pair[0], pair[1])
			}
		}
	}
}

// TestClock compares what the clock says of a value with gradient with its budget.
func TestClock(t *testing.T) {
	for _, c := range []struct {
		n      int
		budget time.Duration
	}{{1000, 1200 * time.Microsecond}, {2000, 2 * time.Millisecond}, {5000, 6700 * time.Microsecond}, {10_000, 27700 * time.Microsecond}, {20_000, 170 * time.Millisecond}} {
		s := clocked(t, c.n, func(*sizes) {})
		t.Logf("n = %d: the model says %+v", c.n, s)
		if s.all > c.budget {
			t.Errorf("n = %d: the model says %v, more than %v", c.n, s.all, c.budget)
		}
	}
}

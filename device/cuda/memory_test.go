package cuda

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"gpfit/device"
	"gpfit/internal/cuda/emulator"
	"gpfit/internal/cuda/mathlib"
	"gpfit/internal/must"
	"gpfit/kernel"
)

// TestOutOfMemory refuses each allocation of a job in turn, including launches and
// library routines. Each time it expects a MemoryError, after which the same backend
// completes the whole job. Its short form refuses every second launch.
func TestOutOfMemory(t *testing.T) {
	emulator.Check(t)
	j, want := reference(t, 90)
	for _, c := range []struct {
		entry string
		code  int
		// calls must all have been seen to fail.
		calls []string
	}{
		{"cuMemAlloc_v2", 2, []string{"workspace", "fill", "factor", "solve many", "contract", "contract all", "predict many", "covariance", "predict", "read", "write"}},
		{"cuLaunchKernel", 2, []string{"fill", "logdet", "contract", "contract all", "covariance", "predict"}},
		{"cublasDgemm_v2_64", 3, []string{"factor", "contract", "contract all", "covariance", "predict"}},
		{"cublasDsymm_v2_64", 3, []string{"contract all"}},
		{"cublasDtrsm_v2_64", 3, []string{"factor", "solve", "covariance", "predict"}},
		{"cublasDgemmStridedBatched_64", 3, []string{"contract"}},
		{"cusolverDnXpotrf_bufferSize", 2, []string{"factor"}},
		{"cusolverDnXpotrf", 2, []string{"factor"}},
	} {
		t.Run(c.entry, func(t *testing.T) {
			seen, step := map[string]bool{}, 1
			if !emulator.Long() && c.entry == "cuLaunchKernel" {
				step = 2 // each call of the job makes two or more of these
			}
			for k := 1; ; k += step {
				before := emulator.Used(0)
				b := openBare(t, 0) // without the workspace of cuSOLVER
				emulator.Reset()
				emulator.Inject(t, c.entry, k, c.code)
				_, err := j.run(context.Background(), b)
				done := emulator.Calls(c.entry) < k
				emulator.Reset()
				if !done {
					name, _, _ := strings.Cut(fmt.Sprint(err), ":")
					again := !seen[name] || k%5 == 0 || emulator.Long()
					seen[name] = true
					var mem *device.MemoryError
					if !errors.As(err, &mem) || mem.Where != "device" || mem.Plan.N != j.x.N || mem.Need <= 0 || strings.Contains(err.Error(), "\n") {
						t.Fatalf("call %d: error %v, want a MemoryError", k, err)
					}
					if again { // every device can run the job after that
						j.mustRun(t, b, want)
					}
				} else if err != nil {
					t.Fatal(err)
				}
				mustClose(t, b)
				if used := emulator.Used(0); used != before {
					t.Fatalf("call %d: %d bytes in use after Close, %d before", k, used, before)
				}
				if done {
					break
				}
			}
			for _, name := range c.calls {
				if !seen[name] {
					t.Errorf("%s was not seen to fail, only %v", name, seen)
				}
			}
		})
	}
}

// TestOutOfMemoryInOpen refuses each allocation of Open in turn, in its short form fewer of
// the later ones.
func TestOutOfMemoryInOpen(t *testing.T) {
	emulator.Check(t)
	emulator.Reset()
	mustClose(t, openBare(t, 0))
	loadModule := "cuModuleLoadDataEx"
	if emulator.Calls(loadModule) == 0 { // with the tag cu
		loadModule = "cuModuleLoadData"
	}
	for _, entry := range []string{"cuMemAlloc_v2", "cuStreamCreate", loadModule, "cublasCreate_v2", "cusolverDnCreate", "cuDevicePrimaryCtxRetain"} {
		code := 2
		if entry == "cublasCreate_v2" {
			code = 3
		}
		for k := 1; ; k = later(k) {
			used, retained := emulator.Used(0), emulator.Retained(0)
			emulator.Reset()
			emulator.Inject(t, entry, k, code)
			b, err := openDevice("cuda:0")
			if emulator.Calls(entry) < k {
				if err != nil || k == 1 {
					t.Errorf("%s: error %v, %d calls", entry, err, k-1)
				}
				if err == nil {
					mustClose(t, b)
				}
				break
			}
			reason := unavailable(t, err)
			if !strings.Contains(reason, "out of memory") && !strings.Contains(reason, "ALLOC_FAILED") {
				t.Errorf("%s %d: reason %q", entry, k, reason)
			}
			if u, r := emulator.Used(0), emulator.Retained(0); u != used || r != retained {
				t.Errorf("%s %d: %d bytes leaked, context retained %d times more", entry, k, u-used, r-retained)
			}
		}
	}
}

// later returns the number of the next call to fail.
func later(k int) int {
	if emulator.Long() {
		return k + 1
	}
	return k + 1 + k/8
}

// TestFailedRoutine makes routines fail for other reasons. It expects their error, a
// workspace that cannot be used again and a new workspace that can.
func TestFailedRoutine(t *testing.T) {
	j := newJob(t, 90)
	b := checked(t)
	want := j.mustRun(t, b, nil)
	j.failed = func(ws device.DenseWorkspace) {
		if _, _, err := ws.LogDet(); !errors.Is(err, device.ErrStage) {
			t.Errorf("LogDet after a failure: %v", err)
		}
	}
	for entry, status := range map[string]int{"cublasDgemm_v2_64": 13, "cublasDgemmStridedBatched_64": 7, "cusolverDnXpotrf": 7} {
		emulator.Inject(t, entry, 1, status)
		_, err := j.run(context.Background(), b)
		var failure *mathlib.Error
		if !errors.As(err, &failure) || failure.Op != entry || failure.Status != status || errors.As(err, new(*device.LostError)) || errors.As(err, new(*device.MemoryError)) {
			t.Errorf("%s: error %v", entry, err)
		}
		emulator.Reset()
		j.mustRun(t, b, want)
	}
}

// TestPlanRefused checks that a job that does not fit is refused before anything is
// allocated, and that a job that fits stays within its plan.
func TestPlanRefused(t *testing.T) {
	emulator.Check(t)
	b := mustOpen(t)
	defer mustClose(t, b)
	const n = 1900 // gpfit times the device for larger jobs
	x := newJob(t, n).x
	t.Cleanup(func() { emulator.SetMemory(0, 1<<30) })
	need := b.(*Device).plan(n, x.D).DeviceBytes()
	for _, memory := range []int64{need - 1, 300 << 20, reserve, 1} {
		emulator.SetMemory(0, emulator.Used(0)+memory)
		calls := emulator.Calls("cuMemAlloc_v2")
		_, err := b.NewWorkspace(context.Background(), x)
		var mem *device.MemoryError
		if !errors.As(err, &mem) || mem.Need != need || mem.Free != memory || mem.Plan.N != n || mem.Where != "device" {
			t.Errorf("%d bytes of memory: error %v, want a MemoryError", memory, err)
		}
		if n := emulator.Calls("cuMemAlloc_v2"); n != calls {
			t.Errorf("%d bytes of memory: %d allocations", memory, n-calls)
		}
	}
	emulator.SetMemory(0, emulator.Used(0)+need)
	ws := must.Get(b.NewWorkspace(context.Background(), x))(t)
	must.Do(t, ws.Close())
}

// TestPlanHolds compares the plan with the peak memory of a job.
func TestPlanHolds(t *testing.T) {
	b := checked(t)
	for _, n := range []int{1, 50, 130} {
		j := newJob(t, n)
		before := emulator.Used(0)
		ws := must.Get(b.NewWorkspace(context.Background(), j.x))(t)
		must.Get(j.runIn(context.Background(), ws))(t)
		// These are more test points than one block of cross-covariances holds.
		many, numbers := &kernel.Points{N: 4100, D: 2, X: make([]float64, 8200)}, make([]float64, 4100)
		must.Do(t, ws.Predict(context.Background(), j.prog, j.theta, j.y, many, numbers, numbers))
		used, work, plan := emulator.Used(0)-before, ws.Work(), b.Plan(n, 2)
		// The first job also allocates the workspace of cuSOLVER.
		if work.Bytes > used || used-work.Bytes > 8192 || used+reserve > plan.DeviceBytes()+reserve/8 {
			t.Errorf("n = %d: %d bytes counted, %d used, %d planned beside the reserve", n, work.Bytes, used, plan.DeviceBytes()-reserve)
		}
		must.Do(t, ws.Close())
		if w := ws.Work(); w.Bytes != 0 || w.MatrixBytes != 0 || w.Flops != work.Flops {
			t.Errorf("after Close: %+v", w)
		}
	}
}

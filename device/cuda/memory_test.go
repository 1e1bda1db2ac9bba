package cuda

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"gpfit/cpu"
	"gpfit/device"
	"gpfit/device/cuda/emulator"
	"gpfit/device/cuda/mathlib"
	"gpfit/device/cuda/ptx"
	"gpfit/internal/testcheck"
	"gpfit/kernel"
	"gpfit/kernel/kerneltest"
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
			if !testcheck.Long() && c.entry == "cuLaunchKernel" {
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
					again := !seen[name] || k%5 == 0 || testcheck.Long()
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
	for _, entry := range []string{"cuMemAlloc_v2", "cuStreamCreateWithPriority", loadModule, "cublasCreate_v2", "cusolverDnCreate", "cuDevicePrimaryCtxRetain"} {
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

// sparse returns the number of the next call to fail: the next one in the long form, else one far later.
func sparse(k int) int {
	if testcheck.Long() {
		return k + 1
	}
	return 4*k + 3
}

// later returns the number of the next call to fail, the next one in the long form.
func later(k int) int {
	if testcheck.Long() {
		return k + 1
	}
	return k + 1 + k/4
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
	ws := testcheck.Get(b.NewWorkspace(context.Background(), x))(t)
	testcheck.Do(t, ws.Close())
}

// TestPlanHolds compares the plan with the peak memory of a job.
func TestPlanHolds(t *testing.T) { eachSteps(t, planHolds) }

func planHolds(t *testing.T, steps sizes) {
	b := checked(t)
	b.sizes = steps
	for _, n := range []int{1, 50, 130} {
		j := newJob(t, n)
		before := emulator.Used(0)
		ws := testcheck.Get(b.NewWorkspace(context.Background(), j.x))(t)
		testcheck.Get(j.runIn(context.Background(), ws))(t)
		// These are more test points than one block of cross-covariances holds.
		many, numbers := &kernel.Points{N: 4100, D: 2, X: make([]float64, 8200)}, make([]float64, 4100)
		testcheck.Do(t, ws.Predict(context.Background(), j.prog, j.theta, j.y, many, numbers, numbers))
		used, work, plan := emulator.Used(0)-before, ws.Work(), b.Plan(n, 2)
		// The first job also allocates the workspace of cuSOLVER.
		if work.Bytes > used || used-work.Bytes > 8192 || used+reserve > plan.DeviceBytes()+reserve/8 {
			t.Errorf("n = %d: %d bytes counted, %d used, %d planned beside the reserve", n, work.Bytes, used, plan.DeviceBytes()-reserve)
		}
		testcheck.Do(t, ws.Close())
		if w := ws.Work(); w.Bytes != 0 || w.MatrixBytes != 0 || w.Flops != work.Flops {
			t.Errorf("after Close: %+v", w)
		}
	}
}

// TestNoRoomLater checks that calls whose memory exceeds the plan are refused before
// they allocate, and that the workspace works again after the next Fill.
func TestNoRoomLater(t *testing.T) {
	j := newJob(t, 300)
	b := checked(t)
	ctx := context.Background()
	ws := j.workspace(t, b)
	alpha, grad, diag := append([]float64(nil), j.y...), make([]float64, len(j.theta)), make([]float64, 300)
	factor := func() {
		t.Helper()
		testcheck.Do(t, errors.Join(ws.Fill(ctx, j.prog, j.theta, j.noise), ws.Factor(ctx)))
	}
	middle := func() error {
		return ws.Contract(ctx, testAdjoint(alpha, j.y, j.y), j.prog, j.theta, grad, diag)
	}
	covariance := func() error { return ws.PredictCovariance(ctx, j.prog, j.theta, j.x, make([]float64, 300*300)) }
	products := func() error {
		return ws.MultiplyDerivatives(ctx, j.prog, j.theta, make([]float64, 600), 2, make([]float64, 600*len(j.theta)))
	}
	factor()
	// There is enough memory for a plain contraction.
	testcheck.Do(t, ws.Contract(ctx, device.Adjoint{Inv: 1, Outer: []float64{1, 1}, Vectors: make([]float64, 600)}, j.prog, j.theta, grad, diag))
	t.Cleanup(func() { emulator.SetMemory(0, 1<<30) })
	plan := b.Plan(300, 2)
	// Four vectors, their sums of two blocks of 64 rows, and 512 numbers for each sum in each block.
	perProduct := int64(8 * 4 * (304 + (2*64+2*512)*ws.program.gradient.NumSums()))
	for what, c := range map[string]struct {
		call func() error
		need int64
		name string
	}{
		"middle": {middle, plan.Middle[0].Bytes, "middle term"}, "covariance": {covariance, 8 * 300 * (2*304 + 2), "300 predictions"},
		"products": {products, perProduct, "products of derivatives"},
	} {
		factor()
		emulator.SetMemory(0, emulator.Used(0)+c.need-1)
		calls := emulator.Calls("cuMemAlloc_v2")
		err := c.call()
		var mem *device.MemoryError
		if !errors.As(err, &mem) || mem.Need != c.need || mem.Free != c.need-1 || !strings.Contains(err.Error(), c.name) {
			t.Errorf("%s: error %v, want a MemoryError of %d bytes", what, err, c.need)
		}
		if more := emulator.Calls("cuMemAlloc_v2") - calls; more != 0 {
			t.Errorf("%s: %d allocations", what, more)
		}
		emulator.SetMemory(0, 1<<30)
		factor()
		if err := c.call(); err != nil {
			t.Errorf("%s with enough memory: %v", what, err)
		}
	}
}

// TestUnsupportedKernel checks that a kernel that is too large is refused with a typed
// error, before anything is allocated, and that auto then chooses the CPU.
func TestUnsupportedKernel(t *testing.T) {
	const columns = 200
	prog := kerneltest.Program(t, strings.Repeat("rbf(ard) + ", 350)+"rbf", columns)
	b := checked(t)
	check := func(what string, err error) {
		t.Helper()
		var unsupported *device.UnsupportedKernelError
		if !errors.As(err, &unsupported) || unsupported.Device != "cuda:0" || unsupported.Kernel != prog.Text || !errors.Is(err, ptx.ErrLimit) {
			t.Errorf("%s: error %v, want an UnsupportedKernelError", what, err)
		}
	}
	check("Supports", b.Supports(prog))
	j := newJob(t, 20)
	testcheck.Do(t, b.Supports(j.prog))
	ws := testcheck.Get(b.NewWorkspace(context.Background(), kernel.NewPoints(make([]float64, 5*columns), 5, columns)))(t)
	defer ws.Close()
	calls := emulator.Calls("cuMemAlloc_v2")
	theta := slices.Repeat([]float64{1}, prog.NumParams)
	check("Fill", ws.Fill(context.Background(), prog, theta, j.noise))
	if more := emulator.Calls("cuMemAlloc_v2") - calls; more != 0 {
		t.Errorf("%d allocations by a Fill that is refused", more)
	}
	drivers := []device.Driver{Driver{}, cpu.Driver{}}
	all, choice := testcheck.Get2(device.Dispatch(context.Background(), device.Request{Workload: device.Workload{Program: prog}}, drivers))(t)
	defer mustClose(t, all[0])
	if choice.Device != "cpu" || !strings.Contains(choice.Reason, "cuda:0 cannot evaluate the kernel") {
		t.Errorf("auto takes %s because %s", choice.Device, choice.Reason)
	}
	_, _, err := device.Dispatch(context.Background(), device.Request{Device: "cuda:0", Workload: device.Workload{Program: prog}}, drivers)
	check("Dispatch", err)
}

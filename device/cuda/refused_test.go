package cuda

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"gpfit/cpu"
	"gpfit/device"
	"gpfit/internal/cuda/emulator"
	"gpfit/internal/cuda/ptx"
	"gpfit/internal/kerneltest"
	"gpfit/internal/must"
	"gpfit/kernel"
)

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
		must.Do(t, errors.Join(ws.Fill(ctx, j.prog, j.theta, j.noise), ws.Factor(ctx)))
	}
	middle := func() error {
		return ws.ContractDiagonal(ctx, testAdjoint(alpha, j.y), j.y, j.prog, j.theta, grad, diag)
	}
	covariance := func() error { return ws.PredictCovariance(ctx, j.prog, j.theta, j.x, make([]float64, 300*300)) }
	factor()
	// There is enough memory for a plain contraction.
	must.Do(t, ws.Contract(ctx, device.Adjoint{Inv: 1, Outer: []float64{1, 1}, Vectors: make([]float64, 600)}, j.prog, j.theta, grad, diag))
	t.Cleanup(func() { emulator.SetMemory(0, 1<<30) })
	plan := b.Plan(300, 2)
	for what, c := range map[string]struct {
		call func() error
		need int64
		name string
	}{
		"middle": {middle, plan.Middle[0].Bytes, "middle term"}, "covariance": {covariance, 8 * 300 * (2*304 + 2), "300 predictions"},
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
	must.Do(t, b.Supports(j.prog))
	ws := must.Get(b.NewWorkspace(context.Background(), kernel.NewPoints(make([]float64, 5*columns), 5, columns)))(t)
	defer ws.Close()
	calls := emulator.Calls("cuMemAlloc_v2")
	theta := slices.Repeat([]float64{1}, prog.NumParams)
	check("Fill", ws.Fill(context.Background(), prog, theta, j.noise))
	if more := emulator.Calls("cuMemAlloc_v2") - calls; more != 0 {
		t.Errorf("%d allocations by a Fill that is refused", more)
	}
	drivers := []device.Driver{Driver{}, cpu.Driver{}}
	all, choice := must.Get2(device.Dispatch(context.Background(), device.Request{Workload: device.Workload{Program: prog}}, drivers))(t)
	defer mustClose(t, all[0])
	if choice.Device != "cpu" || !strings.Contains(choice.Reason, "cuda:0 cannot evaluate the kernel") {
		t.Errorf("auto takes %s because %s", choice.Device, choice.Reason)
	}
	_, _, err := device.Dispatch(context.Background(), device.Request{Device: "cuda:0", Workload: device.Workload{Program: prog}}, drivers)
	check("Dispatch", err)
}

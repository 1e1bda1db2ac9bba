package cuda

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"gpfit/device"
	"gpfit/device/cuda/emulator"
	"gpfit/internal/testcheck"
)

// atOnce runs jobs from several goroutines, each three times one after the other, in turn on some
// devices, and expects the same results.
func atOnce(t *testing.T, goroutines int, jobs []*job, want [][]float64, on []device.DenseDevice) {
	t.Helper()
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			for r := range 3 {
				k := (g + r) % len(jobs)
				got, err := jobs[k].run(context.Background(), on[g%len(on)])
				if err != nil || !slices.Equal(got, want[k]) {
					t.Errorf("job %d on device %d: error %v, or other results than alone", k, g%len(on), err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// TestWorkspacesAtOnce runs workspaces of different sizes from several goroutines, on
// one backend and on two backends of one device.
func TestWorkspacesAtOnce(t *testing.T) {
	emulator.Check(t)
	on := []device.DenseDevice{openBare(t, 0), openBare(t, 0)}
	jobs := []*job{newJob(t, 60), newJob(t, 97), newJob(t, 130)}
	var want [][]float64
	for _, j := range jobs {
		want = append(want, j.mustRun(t, on[0], nil))
	}
	jobs[0].mustRun(t, on[1], want[0]) // this backend has a workspace of cuSOLVER now
	used := emulator.Used(0)
	atOnce(t, 6, jobs, want, on)
	if extra := emulator.Used(0) - used; extra != 0 {
		t.Errorf("%d bytes are left", extra)
	}
}

// TestTwoDevices evaluates on two devices at once and wants the same bits.
func TestTwoDevices(t *testing.T) {
	emulator.Need(t)
	if emulator.Rerun(t, emulator.Config{Devices: 2}) {
		return
	}
	emulator.Check(t)
	j := newJob(t, 130)
	var on []device.DenseDevice
	for i := range 2 {
		b := testcheck.Get(openDevice(fmt.Sprintf("cuda:%d", i)))(t)
		defer mustClose(t, b)
		b.(*Device).sizes = smallSteps
		on = append(on, b)
	}
	want := j.mustRun(t, on[0], nil)
	atOnce(t, 4, []*job{j}, [][]float64{want}, on)
	// One device fails and the other continues.
	emulator.Inject(t, "cublasDgemmStridedBatched_64", 1, 700)
	_, err := j.run(context.Background(), on[0])
	wantLost(t, "cuda:0", err)
	j.mustRun(t, on[1], want)
	wantLost(t, "cuda:0", func() error { _, err := on[0].NewWorkspace(context.Background(), j.x); return err }())
}

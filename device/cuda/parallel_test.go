package cuda

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"gpfit/device"
	"gpfit/internal/cuda/emulator"
	"gpfit/internal/must"
)

// TestWorkspacesAtOnce runs workspaces of different sizes from several goroutines, on
// one backend and on two backends of one device.
func TestWorkspacesAtOnce(t *testing.T) {
	emulator.Check(t)
	backends := []*Device{openBare(t, 0), openBare(t, 0)}
	jobs := []*job{newJob(t, 60), newJob(t, 97), newJob(t, 130)}
	var want [][]float64
	for _, j := range jobs {
		want = append(want, j.mustRun(t, backends[0], nil))
	}
	jobs[0].mustRun(t, backends[1], want[0]) // this backend has a workspace of cuSOLVER now
	used := emulator.Used(0)
	var wg sync.WaitGroup
	for g := range 6 {
		wg.Go(func() {
			for r := range 3 {
				k := (g + r) % len(jobs)
				got, err := jobs[k].run(context.Background(), backends[g%2])
				if err != nil {
					t.Error(err)
					return
				}
				for i, v := range got {
					if v != want[k][i] {
						t.Errorf("result %d of job %d is %v, %v when alone", i, k, v, want[k][i])
						return
					}
				}
			}
		})
	}
	wg.Wait()
	if extra := emulator.Used(0) - used; extra != 0 {
		t.Errorf("%d bytes are left", extra)
	}
	for _, b := range backends {
		mustClose(t, b)
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
	var backends []device.DenseDevice
	for i := range 2 {
		b := must.Get(openDevice(fmt.Sprintf("cuda:%d", i)))(t)
		defer mustClose(t, b)
		b.(*Device).sizes = smallSteps
		backends = append(backends, b)
	}
	want := j.mustRun(t, backends[0], nil)
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for range 3 {
				got, err := j.run(context.Background(), backends[g%2])
				if err != nil {
					t.Error(err)
					return
				}
				for i, v := range got {
					if v != want[i] {
						t.Errorf("result %d on cuda:%d is %v, %v on cuda:0", i, g%2, v, want[i])
						return
					}
				}
			}
		})
	}
	wg.Wait()
	// One device fails and the other continues.
	emulator.Inject(t, "cublasDgemmStridedBatched_64", 1, 700)
	_, err := j.run(context.Background(), backends[0])
	wantLost(t, "cuda:0", err)
	j.mustRun(t, backends[1], want)
	wantLost(t, "cuda:0", func() error { _, err := backends[0].NewWorkspace(context.Background(), j.x); return err }())
}

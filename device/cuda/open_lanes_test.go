package cuda

import (
	"context"
	"slices"
	"testing"

	"gpfit/device"
	"gpfit/device/cuda/emulator"
	"gpfit/internal/testcheck"
)

// TestOpenLanes checks that a device is opened with as many lanes as the parts of a job use, as keep it busy and as fit in its
// memory, that the lanes are devices of their own with the same bits, and that all are closed.
func TestOpenLanes(t *testing.T) {
	emulator.Check(t)
	emulator.SetMemory(0, 16<<30)
	defer emulator.SetMemory(0, 1<<30)
	found := device.Find(context.Background(), []device.Driver{Driver{}})
	open := func(n, parts int) []device.Backend {
		t.Helper()
		b, _, err := found.Open(t.Context(), device.Request{Device: "cuda:0", Workload: device.Workload{N: n, D: 2}, Parts: parts})
		testcheck.Do(t, err)
		return b
	}
	for _, c := range []struct{ n, parts, want int }{{60, 0, 1}, {60, 3, 3}, {0, 3, 1}, {1500, 100, 8}, {1990, 4, 4}} {
		b := open(c.n, c.parts)
		if len(b) != c.want {
			t.Errorf("n = %d in %d parts: %d lanes, want %d", c.n, c.parts, len(b), c.want)
		}
		for _, one := range b {
			testcheck.Do(t, one.Close())
		}
	}
	emulator.Order(t, 7)
	lanes, j := open(60, 3), newJob(t, 60)
	var on []device.DenseDevice
	for _, b := range lanes {
		on = append(on, b.Capabilities().Devices[0].(device.DenseDevice))
	}
	want := j.mustRun(t, on[0], nil)
	atOnce(t, 3, []*job{j}, [][]float64{want}, on)
	for _, b := range lanes {
		testcheck.Do(t, b.Close())
	}
	// With little memory there are fewer lanes.
	steps := defaultSizes
	steps.spread = 1500
	one := steps.plan("cuda:0", 1500, 2).DeviceBytes()
	emulator.SetMemory(0, emulator.Used(0)+5*one)
	few := open(1500, 100)
	if len(few) != 3 {
		t.Errorf("%d lanes in the memory of five", len(few))
	}
	for _, b := range few {
		testcheck.Do(t, b.Close())
	}
	// The lanes end at one that cannot be opened.
	emulator.SetMemory(0, 16<<30)
	streams := emulator.Calls("cuStreamCreateWithPriority")
	testcheck.Do(t, open(60, 1)[0].Close())
	streams = emulator.Calls("cuStreamCreateWithPriority") - streams // of a device; a lane has one
	emulator.Inject(t, "cuStreamCreateWithPriority", streams+2, 2)
	fewer := open(60, 3)
	if len(fewer) != 2 {
		t.Errorf("%d lanes, although one cannot be opened", len(fewer))
	}
	for _, b := range slices.Backward(fewer) {
		testcheck.Do(t, b.Close())
	}
}

package cuda

import (
	"testing"

	"gpfit/device"
	"gpfit/device/cuda/emulator"
	"gpfit/internal/testcheck"
)

// TestLateWork runs jobs on four lanes of a device whose streams work late, in ten random orders, or in three in the
// short form. The results have the bits of one job alone on a device that works at once.
func TestLateWork(t *testing.T) {
	emulator.Check(t)
	var on []device.DenseDevice
	for range 4 {
		on = append(on, openBare(t, 0))
	}
	jobs := []*job{newJob(t, 60), newJob(t, 97), newJob(t, 130)}
	var want [][]float64
	for _, j := range jobs {
		want = append(want, j.mustRun(t, on[0], nil))
	}
	most, seeds, together := 0, 3, 2
	if testcheck.Long() {
		seeds, together = 10, 4
	}
	for seed := range seeds {
		emulator.Order(t, 1+seed)
		atOnce(t, 4, jobs, want, on)
		most = max(most, emulator.Busy())
	}
	if most < together {
		t.Errorf("at most %d streams have work at the same time", most)
	}
}

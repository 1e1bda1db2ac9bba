package cuda

import (
	"math"
	"testing"

	"gpfit/device"
)

// TestTypical checks that the plan for a GPU which this machine does not have is the plan of
// a GPU that it has, and that its times equal the committed run's on an H100.
func TestTypical(t *testing.T) {
	for n, seconds := range map[int]float64{5000: 0.00846, 10_000: 0.0329, 20_000: 0.192, 50_000: 2.64, 100_000: 19.8} {
		d, model := Driver{}.Typical()
		p := d.(device.DenseDevice).Plan(n, 8)
		there := (&Device{gpu: &gpu{name: "cuda:0"}, sizes: defaultSizes}).plan(n, 8)
		if model != "NVIDIA H100" || p.HostBytes() != there.HostBytes() || p.DeviceBytes() != there.DeviceBytes() || p.FlopsGradient != there.FlopsGradient {
			t.Errorf("n = %d: %+v, on a GPU %+v", n, p, there)
		}
		// The rate is a line and a limit through five measurements: a fifth is as close as
		// that comes.
		if got := p.GradientTime().Seconds(); math.Abs(got/seconds-1) > 0.2 {
			t.Errorf("n = %d: %.3g s, measured %.3g s", n, got, seconds)
		}
	}
	found := device.Find(t.Context(), []device.Driver{Driver{}})
	if b, model := found.Typical("cuda:3", device.Chosen); b == nil || model == "" {
		t.Error("no plan for cuda:3")
	}
	if b, _ := found.Typical("rocm", device.Chosen); b != nil {
		t.Error("a plan for a kind without a driver")
	}
}

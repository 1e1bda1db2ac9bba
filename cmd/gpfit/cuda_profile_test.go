package main

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"gpfit/fit/summary"
	"gpfit/internal/must"
)

// TestGPUProfile compares profiles on an emulated GPU with those on the CPU.
func TestGPUProfile(t *testing.T) {
	g := newGPU(t)
	profile := func(device string) (p summary.Profile) {
		t.Helper()
		code, stdout, stderr := g.run(t, nil, "profile", "../../examples/two_optima.csv", "--set", "lengthscale=0.25", "--fix", "signal_variance=0.6",
			"--along", "noise_variance", "--range", "noise_variance=0.1:1", "--points", "3", "--device", device, "--json")
		if code != 0 {
			t.Fatalf("exit code %d: %s", code, stderr)
		}
		must.Do(t, json.NewDecoder(strings.NewReader(stdout)).Decode(&p))
		if p.Report.Device != device {
			t.Errorf("the device is %s, not %s", p.Report.Device, device)
		}
		return p
	}
	onCPU, onGPU := profile("cpu"), profile("cuda:0")
	points := onGPU.Sections[0].Points
	if len(points) != 4 {
		t.Fatalf("%d points", len(points))
	}
	for k, want := range onCPU.Sections[0].Points {
		// Two descents end within the square of their gradient's tolerance.
		if got := points[k].Objective; !(math.Abs(float64(got-want.Objective)) < 1e-7) {
			t.Errorf("point %d: %v, on the CPU %v", k, got, want.Objective)
		}
	}
}

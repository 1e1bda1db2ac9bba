package batch

import (
	"testing"

	"gpfit/cpu"
	"gpfit/device"
	"gpfit/device/cuda"
)

// TestEstimates checks the estimates on the host and for GPUs that this machine does not
// have, and that a leave-one-out objective needs more.
func TestEstimates(t *testing.T) {
	drivers := []device.Driver{cuda.Driver{}, cpu.Driver{}}
	if _, err := device.Find(t.Context(), drivers).Choose("cuda"); err == nil {
		t.Skip("SKIPPED: this machine has a GPU")
	}
	r := create(t, `
defaults: {threads: 1}
data: [big.csv]
kernels:
  - {name: host, kernel: rbf, device: cpu}
  - {name: gpu, kernel: rbf, device: "cuda:1"}
  - {name: loo, kernel: rbf, device: cuda, objective: loo-rmse, restarts: 1}
`, drivers...)
	all, err := Estimates(t.Context(), r.Jobs, drivers)
	if err != nil || len(all) != 3 {
		t.Fatal(err)
	}
	host, gpu, loo := all[0], all[1], all[2]
	if host.Model != "" || host.DeviceBytes() != 0 || host.Seconds <= 0 {
		t.Errorf("host %+v", host)
	}
	if gpu.Model == "" || gpu.DeviceBytes() < 8*200*200 || gpu.Seconds <= 0 || gpu.FlopsGradient != 8e6 {
		t.Errorf("GPU %+v", gpu)
	}
	if loo.FlopsGradient != 2*gpu.FlopsGradient || loo.DeviceBytes() <= gpu.DeviceBytes() || loo.Seconds < 3.9*gpu.Seconds {
		t.Errorf("leave-one-out %+v", loo)
	}
}

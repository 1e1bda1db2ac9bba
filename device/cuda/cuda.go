// Package cuda is the CUDA path: the backend of package device on NVIDIA GPUs.
//
// The algorithm stands apart from the device. One n×n matrix holds L in its lower
// triangle and U = L⁻ᵀ, then Σ⁻¹ = U·Uᵀ, in its upper one, as in package cpu:
// [Workspace] is a job and factor.go, solve.go, inverse.go, contract.go, predict.go
// and residual.go are its steps, cut as sizes.go says; selftest.go runs all of them.
// They call a gpu (gpu.go), which has memory, copies, kernels and matrix routines;
// behind it folder driver opens libcuda, mathlib cuBLAS and cuSOLVER, both at run
// time, so that one binary runs with and without a GPU, and kernels holds what we
// compile ourselves. [Driver] finds devices and opens a [Device].
package cuda

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"gpfit/device"
	"gpfit/device/cuda/driver"
	"gpfit/device/cuda/mathlib"
)

// Driver finds and opens NVIDIA GPUs; it implements [device.Driver].
type Driver struct{}

// Kind returns "cuda".
func (Driver) Kind() string { return "cuda" }

// Probe reports every GPU that the driver lists, or why there is none. It
// creates no context: whether a device passes its self-test is found by Open.
func (Driver) Probe(context.Context) []device.Finding {
	found := driver.Detect()
	if len(found.Devices) == 0 {
		return []device.Finding{{Name: "cuda", Detail: found.Reason}}
	}
	_, libraries := mathlib.Find(found.DriverVersion)
	var out []device.Finding
	for _, d := range found.Devices {
		f := device.Finding{Name: fmt.Sprintf("cuda:%d", d.Index), Usable: true, Detail: describe(d, found.DriverVersion)}
		switch {
		case d.Unusable != "":
			f.Usable, f.Detail = false, d.Unusable
		case libraries != nil:
			f.Usable, f.Detail = false, f.Detail+": "+libraries.Error()
		}
		out = append(out, f)
	}
	return out
}

func describe(d driver.DeviceInfo, version int) string {
	return fmt.Sprintf("%s, %s, compute capability %d.%d, driver for CUDA %s",
		d.Name, device.FormatBytes(d.TotalMemory), d.Major, d.Minor, driver.Version(version))
}

// Open opens a GPU by its name, "cuda:1", loads the math libraries and the
// kernels, and runs the self-test. Errors: [*device.UnavailableError].
func (Driver) Open(ctx context.Context, name string, _ device.Options) (device.Device, error) {
	_, number, _ := strings.Cut(name, ":")
	index, err := strconv.Atoi(number)
	if err != nil || index < 0 {
		return nil, &device.UnavailableError{Device: name, Reason: "a CUDA device is named cuda:0, cuda:1, …"}
	}
	b, err := open(index)
	if err == nil {
		if err = b.selfTest(ctx); err != nil {
			b.Close() // it cannot tell more than err
		}
	}
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, &device.UnavailableError{Device: name, Reason: reason(err)}
	}
	return b, nil
}

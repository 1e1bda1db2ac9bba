// Package cuda is the device of NVIDIA GPUs. [Driver] finds devices and opens a [Device].
//
// The algorithm does not depend on the device. One n×n matrix holds L in its lower triangle, and U
// = L⁻ᵀ and later Σ⁻¹ = U·Uᵀ in its upper one, as in package cpu. A [Workspace] is one job.
// factor.go, solve.go, inverse.go, contract.go and predict.go hold its steps, sizes.go their sizes;
// lockstep.go lets small ones compute together, tracks.go has the streams of medium ones, and selftest.go runs all of
// them. Matrices that are divided over several memories are tiles in the slots of a tileBank (tilebank.go, tile.go,
// tilefill.go), whose loads and stores overlap with products in an order that tileslots.go keeps. They make their calls through a queue (queue.go), which keeps the
// first error, on a gpu (gpu.go). Behind it, package driver opens libcuda, and mathlib opens cuBLAS
// and cuSOLVER, both at run time, so that one binary runs with and without a GPU. Package kernels
// contains gpfit's own kernels.
package cuda

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"gpfit/device"
	"gpfit/device/cuda/driver"
	"gpfit/device/cuda/mathlib"
	"gpfit/device/tiling"
	"gpfit/kernel"
)

// Driver finds and opens NVIDIA GPUs; it implements [device.Driver].
type Driver struct{}

// Kind returns "cuda".
func (Driver) Kind() string { return "cuda" }

// Probe reports every GPU that the driver lists, or why it lists none. It creates no
// context; Open runs the self-test.
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

// The rate of an H100 (80 GB, SXM) in a value with gradient: it grows with n, up to a limit.
// The run of benchmarks/results/2026-11-22-gpu-h100-2.jsonl took 0.00846, 0.0329, 0.192, 2.64
// and 19.8 seconds at n = 5,000, 10,000, 20,000, 50,000 and 100,000.
const (
	typicalModel        = "NVIDIA H100"
	typicalRatePerPoint = 3e9
	typicalRate         = 5e13
	typicalMemory       = 80 << 30
)

// Typical implements [device.Planner] with an H100.
func (d Driver) Typical() (device.Device, string) { return typical{}, typicalModel }

// typical is an H100 that can only plan.
type typical struct{}

func (typical) Info() device.Info              { return device.Info{Name: Driver{}.Kind()} }
func (typical) Close() error                   { return nil }
func (typical) Supports(*kernel.Program) error { return nil }
func (t typical) NewWorkspace(context.Context, *kernel.Points) (device.DenseWorkspace, error) {
	return nil, t.elsewhere()
}

func (typical) TileSpace(n, columns, order int) (tile, rest int64) {
	return tileSpace(n, columns, order)
}

func (t typical) NewTileBank(context.Context, *kernel.Points, int, int, []float64) (tiling.Bank, error) {
	return nil, t.elsewhere()
}

func (t typical) elsewhere() error {
	return &device.UnavailableError{Device: t.Info().Name, Reason: "it stands for a GPU of another machine"}
}

func (t typical) Plan(n, d int) device.Plan {
	s := defaultSizes
	s.spread = roomFor(typicalMemory)
	p := s.plan(t.Info().Name, n, d)
	p.FlopRate = min(typicalRate, typicalRatePerPoint*float64(n))
	return p
}

var _ device.Planner = Driver{}

// Open opens a GPU by its name, such as "cuda:1", loads the math libraries and the
// kernels, and runs the self-test. Errors are [*device.UnavailableError].
func (Driver) Open(ctx context.Context, name string, _ device.Options) (device.Device, error) {
	_, number, _ := strings.Cut(name, ":")
	index, err := strconv.Atoi(number)
	if err != nil || index < 0 {
		return nil, &device.UnavailableError{Device: name, Reason: "a CUDA device is named cuda:0, cuda:1, …"}
	}
	b, err := open(index)
	if err == nil {
		if err = b.selfTest(ctx); err != nil {
			b.Close() // its error adds nothing to err
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

// Package cpu is the device of the host: it evaluates covariances, likelihoods, gradients and
// predictions.
//
// A workspace holds one matrix of package cpu/spd, which does the n³ work: the covariance
// matrix, then its Cholesky factor L, and Σ⁻¹ beside it when a gradient is requested. Start
// with workspace.go; factor.go forms and factors Σ, contract.go computes gradients,
// predict.go predictions.
package cpu

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"

	"gpfit/cpu/spd"
	"gpfit/device"
	"gpfit/internal/hostmem"
	"gpfit/internal/textform"
	"gpfit/kernel"
)

// Driver opens the CPU; it implements [device.Driver].
type Driver struct{}

// name is the name of the device and of its kind.
const name = "cpu"

// Kind returns "cpu".
func (Driver) Kind() string { return name }

// Probe reports the CPU device, which always exists.
func (Driver) Probe(context.Context) []device.Finding {
	return []device.Finding{{Name: name, Host: true, Usable: true, Detail: description(runtime.GOMAXPROCS(0))}}
}

// Open returns the CPU, like the function [Open].
func (Driver) Open(_ context.Context, _ string, opts device.Options) (device.Device, error) {
	d, err := Open(opts)
	if err != nil {
		return nil, &device.UnavailableError{Device: name, Reason: err.Error()}
	}
	return d, nil
}

// Device is the CPU as a [device.DenseDevice].
type Device struct {
	engines  engines
	flopRate func() float64
}

// New returns the exact method on the CPU, for callers that do not choose among
// devices. It returns the errors of [Open].
func New(opts device.Options) (device.Backend, error) {
	d, err := Open(opts)
	if err != nil {
		return nil, err
	}
	return device.Dense{}.On(d), nil
}

// Open returns the CPU with the given options. It returns an error if the variable
// GPFIT_CPU selects a variant that this processor lacks.
func Open(opts device.Options) (*Device, error) {
	engine, err := spd.Open(opts.Threads)
	if err != nil {
		return nil, err
	}
	dev := &Device{engines: engines{all: engine}}
	dev.engines.spare.New = func() any { return spd.NewEngine(engine.Variant(), 1) }
	dev.flopRate = sync.OnceValue(dev.measureFlopRate)
	return dev, nil
}

func description(threads int) string {
	return fmt.Sprintf("%s, %s, %s/%s", processor(), textform.Counted(threads, "thread"), runtime.GOOS, runtime.GOARCH)
}

// processor returns processorName, evaluated once.
var processor = sync.OnceValue(processorName)

// Info returns a description of the CPU.
func (dev *Device) Info() device.Info {
	return device.Info{Name: name, Description: description(dev.engines.all.Threads()), Host: true, Threads: dev.engines.all.Threads(), MemoryFree: hostmem.Free()}
}

// Plan returns memory and work for n points of d columns: one n×n matrix, the working
// space of the routines, and vectors.
func (dev *Device) Plan(n, d int) device.Plan {
	engine, threads := dev.engines.all, int64(dev.engines.all.Threads())
	numbers := engine.Numbers(n) + engine.WorkNumbers(n) + predictNumbers(engine, n, dev.engines.all.Threads())
	numbers += threads*int64(engine.Lanes()+1)*tileStride + int64(n)*(2*int64(d)+4*threads+16)
	plan := device.MatrixPlan(n, d, "", 8*numbers)
	plan.Middle, plan.MiddleFlops = []device.Need{{Bytes: 8 * middleElements(engine, n), What: middleTerm}}, cube(n)
	if n >= 1000 {
		plan.FlopRate = dev.flopRate()
	}
	return plan
}

// measureFlopRate measures the rate of a small product. Whole evaluations
// reach about two thirds of it.
func (dev *Device) measureFlopRate() float64 {
	rate, _ := dev.DgemmRate(context.Background(), 256)
	return 0.66 * rate
}

// productRows is the number of rows in a product of [Device.DgemmRate].
const productRows = 288

// DgemmRate returns the speed of this device's products of matrices of n columns, in floating-point
// operations per second: the best of three runs after a warm-up, each the product of up to 288 rows
// with all rows of a symmetric matrix. It allocates this matrix and polls ctx during the products.
func (dev *Device) DgemmRate(ctx context.Context, n int) (float64, error) {
	m, row := dev.engines.all.New(n), make([]float64, n*dev.engines.all.Lanes())
	for i := range row {
		row[i] = 1 / float64(i+1)
	}
	for i := 0; i < n; i += m.Lanes() {
		m.SetRows(i, i, n, row, n)
	}
	rows := min(n, productRows)
	q, r := m.NewRowBlock(rows), m.NewRowBlock(rows)
	if err := q.ScaledInverse(ctx, 0, rows, nil); err != nil {
		return 0, err
	}
	best := time.Hour
	for range 4 {
		start := time.Now()
		if err := r.MultiplyInverse(ctx, q, nil); err != nil {
			return 0, err
		}
		best = min(best, max(time.Since(start), time.Microsecond))
	}
	return 2 * float64(rows) * float64(n) * float64(n) / best.Seconds(), nil
}

// Supports returns nil: the CPU evaluates every kernel.
func (dev *Device) Supports(*kernel.Program) error { return nil }

// NewWorkspace checks x and the memory plan and then allocates the buffer.
func (dev *Device) NewWorkspace(ctx context.Context, x *kernel.Points) (device.DenseWorkspace, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := device.CheckInputs(x); err != nil {
		return nil, err
	}
	if err := dev.Plan(x.N, x.D).Check(dev.Info()); err != nil {
		return nil, err
	}
	return newWorkspace(&dev.engines, x), nil
}

// Close does nothing, because the device holds no resources.
func (dev *Device) Close() error { return nil }

var _ device.MeanPredictor = (*Device)(nil)

// PredictMeans implements [device.MeanPredictor].
func (dev *Device) PredictMeans(ctx context.Context, x *kernel.Points, prog *kernel.Program, theta, alpha []float64, xs *kernel.Points, mean []float64) error {
	return predictMeans(ctx, dev.engines.all, x, prog, theta, alpha, xs, mean)
}

package cuda

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"gpfit/device"
	"gpfit/device/cuda/driver"
	"gpfit/device/cuda/kernels"
	"gpfit/device/cuda/mathlib"
	"gpfit/kernel"
)

// Backend is one GPU as a [device.ExactDevice]. Workspaces of one backend share its
// stream: their calls run one after the other.
type Backend struct {
	name      string
	dev       *driver.Device
	info      driver.DeviceInfo
	stream    *driver.Stream
	module    *driver.Module
	functions map[string]*driver.Function
	library   *mathlib.Library
	math      *mathlib.Handle
	sizes     sizes
	flopRate  func() float64
	close     sync.Once
}

// open opens a device without its self-test.
func open(index int) (*Backend, error) {
	dev, err := driver.Open(index)
	if err != nil {
		return nil, err
	}
	b := &Backend{name: fmt.Sprintf("cuda:%d", index), dev: dev, info: dev.Info(), sizes: defaultSizes, functions: map[string]*driver.Function{}}
	if err := b.load(); err != nil {
		err = b.translate(err, device.Plan{})
		b.Close() // it cannot tell more than err
		return nil, err
	}
	b.flopRate = sync.OnceValue(b.measureFlopRate)
	return b, nil
}

// load makes the stream and loads kernels and libraries.
func (b *Backend) load() error {
	var err error
	if b.stream, err = b.dev.NewStream(); err != nil {
		return err
	}
	code, err := kernels.Module(b.info.Major, b.info.Minor)
	if err != nil {
		return err
	}
	if b.module, err = b.dev.LoadModule(code); err != nil {
		return err
	}
	for _, k := range kernels.Table() {
		if b.functions[k.Name], err = b.module.Function(k.Name); err != nil {
			return err
		}
	}
	if b.library, err = mathlib.Load(); err != nil {
		return err
	}
	b.math, err = b.library.New(b.stream)
	return err
}

// launch starts a kernel on the stream.
func (b *Backend) launch(l kernels.Launch) error {
	if l.Blocks == 0 {
		return nil
	}
	return b.functions[l.Kernel].Launch(b.stream, l.Blocks, kernels.Threads, l.Args...)
}

func (b *Backend) launchAll(launches [2]kernels.Launch) error {
	for _, l := range launches {
		if err := b.launch(l); err != nil {
			return err
		}
	}
	return nil
}

// Info describes the GPU.
func (b *Backend) Info() device.Info {
	free, _, err := b.dev.MemInfo()
	if err != nil {
		free = 0
	}
	return device.Info{
		Name: b.name, Description: describe(b.info, b.dev.DriverVersion()) + ", cuBLAS " + b.library.BLAS + ", cuSOLVER " + b.library.Solver,
		Threads: 1, MemoryFree: free,
	}
}

// reserve is memory for the libraries' workspaces and the driver.
const reserve = 256 << 20

// Plan returns memory and work: on the device one n×n matrix, a block of Σ⁻¹, a
// block of cross-covariances, points and vectors; on the host the points and
// vectors. For large n it times the device, once.
func (b *Backend) Plan(n, d int) device.Plan {
	p := b.plan(n, d)
	if n >= 2000 {
		p.FlopRate = b.flopRate()
	}
	return p
}

// plan is Plan without the rate: it does not touch the device.
func (b *Backend) plan(n, d int) device.Plan {
	n64 := int64(n)
	width := b.panelWidth(n64)
	columns := leadingDim(n64) + crossWidth(n64) + int64(d+7+2*residualColumns)
	p := device.MatrixPlan(n, d, b.name, 8*(n64*columns+width*width)+8*crossWidth(n64)*int64(d+2)+reserve)
	p.Middle, p.MiddleFlops = []device.Need{{Device: b.name, Bytes: 8 * b.middleElements(n64), What: middleTerm}}, cube(n64)
	return p.With(device.Need{Bytes: 8 * n64 * int64(2*d+8), What: "points and vectors"})
}

// DgemmRate times C = A·Bᵀ of order n on the device, once after a first run, and
// returns floating-point operations a second.
func (b *Backend) DgemmRate(ctx context.Context, n int) (rate float64, err error) {
	err = b.dev.Do(func() error {
		local := &buffers{dev: b.dev}
		rate, err = b.dgemmRate(ctx, local, int64(n))
		return errors.Join(err, local.free())
	})
	return rate, b.translate(err, device.MatrixPlan(n, 0, b.name, 16*int64(n)*int64(n)))
}

func (b *Backend) dgemmRate(ctx context.Context, local *buffers, n int64) (float64, error) {
	var m [2]kernels.Matrix
	for i := range m {
		p, err := local.alloc(n * n)
		if err != nil {
			return 0, err
		}
		m[i] = kernels.Matrix{A: p, LD: n}
		if err := b.launch(kernels.Set(m[i], n, n, 0.5)); err != nil {
			return 0, err
		}
	}
	begin, err := b.dev.NewEvent()
	if err != nil {
		return 0, err
	}
	defer begin.Destroy()
	end, err := b.dev.NewEvent()
	if err != nil {
		return 0, err
	}
	defer end.Destroy()
	for range 2 { // the first run warms up
		if err := errors.Join(ctx.Err(), begin.Record(b.stream)); err != nil {
			return 0, err
		}
		if err := b.math.Gemm(plain, transposed, n, n, n, 1, m[0], m[0], 0, m[1]); err != nil {
			return 0, err
		}
		if err := errors.Join(end.Record(b.stream), end.Synchronize()); err != nil {
			return 0, err
		}
	}
	elapsed, err := end.Since(begin)
	if err != nil || elapsed <= 0 {
		return 0, err
	}
	return 2 * cube(n) / elapsed.Seconds(), nil
}

// measureFlopRate is the rate of plans: four fifths of a product's.
func (b *Backend) measureFlopRate() float64 {
	rate, err := b.DgemmRate(context.Background(), 2048)
	if err != nil {
		return 0
	}
	return 0.8 * rate
}

// Supports returns a [*device.UnsupportedKernelError] for a program with leaves
// written in Go, or one that is too large for the kernels.
func (b *Backend) Supports(prog *kernel.Program) error {
	_, err := b.encode(prog)
	return err
}

func (b *Backend) encode(prog *kernel.Program) (*kernels.Encoded, error) {
	enc, err := kernels.Encode(prog)
	if err != nil {
		return nil, &device.UnsupportedKernelError{Device: b.name, Kernel: prog.Text, Err: err}
	}
	return enc, nil
}

// NewWorkspace checks x and the memory plan, then allocates.
func (b *Backend) NewWorkspace(ctx context.Context, x *kernel.Points) (device.ExactWorkspace, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := b.translate(b.dev.Err(), device.Plan{}); err != nil {
		return nil, err
	}
	if err := device.CheckInputs(x); err != nil {
		return nil, err
	}
	plan := b.plan(x.N, x.D)
	if err := plan.Check(b.Info()); err != nil {
		return nil, err
	}
	w, err := b.newWorkspace(x, plan)
	if err != nil {
		return nil, err
	}
	return w, nil
}

// Close releases the device.
func (b *Backend) Close() (err error) {
	b.close.Do(func() {
		var errs []error
		if b.math != nil {
			errs = append(errs, b.math.Close())
		}
		errs = append(errs, b.module.Unload(), b.stream.Destroy(), b.dev.Close())
		err = b.translate(errors.Join(errs...), device.Plan{})
	})
	return err
}

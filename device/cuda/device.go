package cuda

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"gpfit/device"
	"gpfit/device/cuda/driver"
	"gpfit/device/cuda/kernels"
	"gpfit/device/cuda/mathlib"
	"gpfit/kernel"
)

// Device is one GPU as a [device.DenseDevice]. Workspaces of one device share its
// stream, so their calls run one after the other.
type Device struct {
	gpu      *gpu
	sizes    sizes
	flopRate func() float64
	closing  sync.Once
	// lockstep is acquired by the first small workspace, before the device is closed.
	acquiring sync.Mutex
	lockstep  *lockstep
	closed    bool
	// lanes counts the lanes of the card, with the device itself. They share it.
	lanes *atomic.Int32
}

var (
	_ device.DenseDevice = (*Device)(nil)
	_ device.Laned       = (*Device)(nil)
)

// stepsVariable is an environment variable. Its value "large" makes matrices of every size take the steps of matrices for
// which a card holds only once, to compare the two.
const stepsVariable = "GPFIT_CUDA_STEPS"

// open opens a device without its self-test.
func open(index int) (*Device, error) {
	g, err := openGPU(index)
	if err != nil {
		return nil, err
	}
	d := &Device{gpu: g, sizes: defaultSizes, lanes: new(atomic.Int32)}
	d.lanes.Store(1)
	d.sizes.spread = roomFor(g.info.TotalMemory)
	if os.Getenv(stepsVariable) == "large" {
		d.sizes.together, d.sizes.spread = 0, 0
	}
	d.flopRate = sync.OnceValue(d.measureFlopRate)
	return d, nil
}

// Lane implements [device.Laned]. The device has passed its self-test, which is not repeated. The bits of small matrices
// depend on whether there are enough lanes for lock step.
func (d *Device) Lane() (device.Device, error) {
	lane, err := open(d.gpu.info.Index)
	if err != nil {
		return nil, d.gpu.translate(err, device.Plan{})
	}
	lane.sizes, lane.flopRate, lane.lanes = d.sizes, d.flopRate, d.lanes
	d.lanes.Add(1)
	return lane, nil
}

// Info describes the GPU.
func (d *Device) Info() device.Info {
	free, err := d.gpu.free()
	if err != nil {
		free = 0
	}
	return device.Info{
		Name: d.gpu.name, Description: describe(d.gpu.info, d.gpu.dev.DriverVersion()) + ", " + d.gpu.libraries,
		Threads: 1, MemoryFree: free,
	}
}

// Plan returns memory and work. The device holds one n×n matrix, or two if they fit easily, a panel of Σ⁻¹, the
// diagonal blocks of L⁻ᵀ, a block of cross-covariances, points and vectors; the host
// holds the points and vectors. The first call for a large n times the device.
func (d *Device) Plan(n, columns int) device.Plan {
	p := d.plan(n, columns)
	if n >= timedFrom {
		p.FlopRate = d.flopRate()
	}
	return p
}

// plan is Plan without the rate and does not use the device.
func (d *Device) plan(rows, cols int) device.Plan { return d.sizes.plan(d.gpu.name, rows, cols) }

// plan is the plan for the GPU of a name, without a rate.
func (s sizes) plan(gpu string, rows, cols int) device.Plan {
	n, x := int64(rows), int64(cols)
	width := s.panelWidth(n)
	columns := n + width + crossWidth(n) + 2*residualColumns // of leadingDim(n) numbers
	libraries := int64(reserve)
	if s.spreads(n) {
		columns += n + width
		libraries += streams * workspaceOfStream
	}
	p := device.MatrixPlan(rows, cols, gpu, 8*(leadingDim(n)*columns+n*(x+7)+blockElements(n, width))+8*crossWidth(n)*(x+2)+libraries)
	p.Middle, p.MiddleFlops = []device.Need{{Device: gpu, Bytes: 8 * s.middleElements(n), What: nameOfMiddle}}, cube(n)
	return p.With(device.Need{Bytes: 8 * n * (2*x + 8), What: "points and vectors"})
}

// sizesFor returns the step sizes for n points at the rate of the device. Small jobs
// have no long steps.
func (d *Device) sizesFor(n int) sizes {
	if n < timedFrom {
		return d.sizes
	}
	return d.sizes.at(d.flopRate(), int64(n))
}

// timedFrom is the number of points from which gpfit times the device.
const timedFrom = 2000

// DgemmRate times C = A·Aᵀ of order n on the device, once after a warm-up run, and
// returns floating-point operations per second. A has random elements, because a GPU at
// its power limit multiplies equal numbers faster.
func (d *Device) DgemmRate(ctx context.Context, n int) (rate float64, err error) {
	q := &queue{gpu: d.gpu, ctx: ctx}
	err = d.gpu.do(func() error {
		q.local(func(m *memory) { rate = dgemmRate(q, m, int64(n)) })
		return q.err
	})
	return rate, d.gpu.translate(err, device.MatrixPlan(n, 0, d.gpu.name, 16*int64(n)*int64(n)))
}

func dgemmRate(q *queue, m *memory, n int64) float64 {
	var factor, product buffer
	q.need(m, &factor, n*n)
	q.need(m, &product, n*n)
	a, c := kernels.Matrix{A: factor.at, LD: n}, kernels.Matrix{A: product.at, LD: n}
	fillRandom(q, a, n)
	var elapsed time.Duration
	for range 2 { // the first run warms up
		q.poll()
		q.then(func() (err error) {
			elapsed, err = q.gpu.timed(func() error { return q.gpu.Gemm(plain, transposed, n, n, n, 1, a, a, 0, c) })
			return err
		})
	}
	if q.err != nil || elapsed <= 0 {
		return 0
	}
	return 2 * cube(n) / elapsed.Seconds()
}

// fillRandom writes random numbers to an n×n matrix: a square of them, side by side.
func fillRandom(q *queue, a kernels.Matrix, n int64) {
	side := min(n, 512)
	square, rng := make([]float64, side*side), rand.New(rand.NewPCG(1, 1))
	for i := range square {
		square[i] = rng.Float64() - 0.5
	}
	q.uploadBlock(a, square, side, side, side)
	for at := side; at < n; at += side { // rows, then columns
		q.run(kernels.Copy(a, a.At(at, 0), min(side, n-at), side, false))
	}
	for at := side; at < n; at += side {
		q.run(kernels.Copy(a, a.At(0, at), n, min(side, n-at), false))
	}
}

// measureFlopRate returns the rate for plans: four fifths of the rate of a product.
func (d *Device) measureFlopRate() float64 {
	rate, err := d.DgemmRate(context.Background(), 2048)
	if err != nil {
		return 0
	}
	return 0.8 * rate
}

// Supports returns a [*device.UnsupportedKernelError] for a program that
// is too large for the kernels.
func (d *Device) Supports(prog *kernel.Program) error { return d.gpu.supports(prog) }

// NewWorkspace checks x and the memory plan, then allocates.
func (d *Device) NewWorkspace(ctx context.Context, x *kernel.Points) (device.DenseWorkspace, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := d.gpu.translate(d.gpu.dev.Err(), device.Plan{}); err != nil {
		return nil, err
	}
	if err := device.CheckInputs(x); err != nil {
		return nil, err
	}
	plan := d.plan(x.N, x.D)
	if err := plan.Check(d.Info()); err != nil {
		return nil, err
	}
	g, l, err := d.gpu, (*lockstep)(nil), error(nil)
	if int64(x.N) <= d.sizes.together && d.lanes.Load() >= d.sizes.company {
		if l, err = d.small(); err != nil {
			return nil, d.gpu.translate(err, plan)
		}
		g = l.gpu
	}
	w, err := newWorkspace(g, l, d.sizesFor(x.N), x, plan)
	if err != nil {
		return nil, err
	}
	return w, nil
}

// small returns where small workspaces compute.
func (d *Device) small() (l *lockstep, err error) {
	d.acquiring.Lock()
	defer d.acquiring.Unlock()
	if d.closed {
		return nil, driver.ErrClosed
	}
	if d.lockstep == nil {
		d.lockstep, err = acquire(d.gpu.info.Index)
	}
	return d.lockstep, err
}

// Close releases the device.
func (d *Device) Close() (err error) {
	d.closing.Do(func() {
		d.acquiring.Lock()
		defer d.acquiring.Unlock()
		if d.closed = true; d.lockstep != nil {
			err = d.lockstep.release()
		}
		err = d.gpu.translate(errors.Join(err, d.gpu.close()), device.Plan{})
	})
	return err
}

func describe(d driver.DeviceInfo, version int) string {
	return fmt.Sprintf("%s, %s, compute capability %d.%d, driver for CUDA %s%s",
		d.Name, device.FormatBytes(d.TotalMemory), d.Major, d.Minor, driver.Version(version), slowness(d))
}

// slowness says that float64 is slow on a card, as on cards for consumers, and what may help.
func slowness(d driver.DeviceInfo) string {
	const slow, integers = 16, 10 // the first compute capability with fast integer products in cuBLAS
	switch {
	case d.SinglePerDouble < slow:
		return ""
	case d.Major < integers:
		return fmt.Sprintf(", SLOW in float64: 1/%d of its float32 rate, so that a CPU may be faster ('gpfit bench' compares them)", d.SinglePerDouble)
	}
	return fmt.Sprintf(", SLOW in float64: 1/%d of its float32 rate; %s=1 lets cuBLAS of CUDA 13 compute products by integers ('gpfit bench' compares them)", d.SinglePerDouble, mathlib.EmulationVariable)
}

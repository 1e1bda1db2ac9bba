package cuda

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"gpfit/device"
	"gpfit/device/cuda/driver"
	"gpfit/device/cuda/kernels"
	"gpfit/device/cuda/mathlib"
	"gpfit/device/cuda/ptx"
	"gpfit/kernel"
)

// gpu is the device that the algorithm uses: memory, copies, our kernels and, through the handle,
// the matrix routines. All of them run in the order of one stream. Copies wait for it.
type gpu struct {
	*mathlib.Handle
	name    string
	dev     *driver.Device
	info    driver.DeviceInfo
	stream  *driver.Stream
	staging *driver.Staging
	tracks  tracks
	// parcel, if not nil, takes the calls of queues.
	parcel    *parcel
	module    *driver.Module
	functions map[string]*driver.Function
	// compiled holds the modules generated for covariance functions, keyed by their
	// text, so that other workspaces do not compile them again.
	compiled map[string]*driver.Module
	// libraries names cuBLAS and cuSOLVER with their versions.
	libraries string
}

// These are short names of the arguments of the matrix routines.
const (
	plain      = mathlib.NoTrans
	transposed = mathlib.Trans
	left       = mathlib.Left
	right      = mathlib.Right
)

// openGPU opens a device with its kernels and libraries.
func openGPU(index int) (*gpu, error) {
	dev, err := driver.Open(index)
	if err != nil {
		return nil, err
	}
	g := &gpu{name: fmt.Sprintf("cuda:%d", index), dev: dev, info: dev.Info(), functions: map[string]*driver.Function{}, compiled: map[string]*driver.Module{}}
	if err := g.load(); err != nil {
		err = g.translate(err, device.Plan{})
		_ = g.close() // its error adds nothing to err
		return nil, err
	}
	return g, nil
}

func (g *gpu) load() error {
	var err error
	if g.stream, err = g.dev.NewFirstStream(); err != nil {
		return err
	}
	if g.staging, err = g.stream.NewStaging(stagingBytes); err != nil {
		return err
	}
	code, err := kernels.Module(g.info.Major, g.info.Minor)
	if err != nil {
		return err
	}
	if g.module, err = g.dev.LoadModule(code); err != nil {
		return err
	}
	for _, k := range kernels.Table() {
		if g.functions[k.Name], err = g.module.Function(k.Name); err != nil {
			return err
		}
	}
	library, err := mathlib.Load()
	if err != nil {
		return err
	}
	g.tracks = tracks{main: g.stream, library: library}
	if g.Handle, err = library.New(g.stream, mathlib.RequestedEmulation(os.Getenv)); err != nil {
		return err
	}
	g.libraries = fmt.Sprintf("cuBLAS %s, cuSOLVER %s, %s", library.BLAS, library.Solver, arithmetic(g.Emulation(), mathlib.RequestedEmulation(os.Getenv)))
	return nil
}

// stagingBytes holds the vectors of an evaluation of a few ten thousand points.
const stagingBytes = 4 << 20

// arithmetic describes the arithmetic of the libraries' products for the user, given
// the setting in use and the user's request.
func arithmetic(set, asked mathlib.Emulation) string {
	switch {
	case set != mathlib.Native:
		return fmt.Sprintf("float64 EMULATED (%s=1, %v)", mathlib.EmulationVariable, set)
	case asked != mathlib.Native:
		return fmt.Sprintf("native float64 (%s=1 has no effect before CUDA 13)", mathlib.EmulationVariable)
	}
	return "native float64"
}

func (g *gpu) close() error {
	errs := []error{g.tracks.close()}
	if g.Handle != nil {
		errs = append(errs, g.Handle.Close())
	}
	for _, m := range g.compiled {
		errs = append(errs, m.Unload())
	}
	return errors.Join(append(errs, g.module.Unload(), g.staging.Free(), g.stream.Destroy(), g.dev.Close())...)
}

// do runs f on the thread of the device, unless the device is lost.
func (g *gpu) do(f func() error) error {
	return g.dev.Do(func() error {
		if err := g.dev.Err(); err != nil {
			return err
		}
		return f()
	})
}

func (g *gpu) start(s *driver.Stream, f *driver.Function, l kernels.Launch) error {
	return f.Launch(s, l.Blocks, kernels.Threads, l.Args...)
}

// task returns the start of a kernel on a track.
func (g *gpu) task(f *driver.Function, l kernels.Launch) task {
	return func(t *track) error { return g.start(t.stream, f, l) }
}

// supports returns a [*device.UnsupportedKernelError] for a program that is too large.
func (g *gpu) supports(prog *kernel.Program) error {
	_, err := g.compile(prog, ptx.New)
	if err == nil {
		_, err = g.compile(prog, ptx.NewGradient)
	}
	return err
}

func (g *gpu) compile(prog *kernel.Program, compile func(*kernel.Program) (*ptx.Kernel, error)) (*ptx.Kernel, error) {
	k, err := compile(prog)
	if err != nil {
		return nil, &device.UnsupportedKernelError{Device: g.name, Kernel: prog.Text, Err: err}
	}
	return k, nil
}

// generated returns a kernel generated for a covariance function. It compiles a text
// that it meets for the first time.
func (g *gpu) generated(l kernels.Launch) (*driver.Function, error) {
	text, err := l.Text(g.info.Major, g.info.Minor)
	if err != nil {
		return nil, err
	}
	module := g.compiled[string(text)]
	if module == nil {
		if module, err = g.dev.LoadModule(text); err != nil {
			return nil, err
		}
		g.compiled[string(text)] = module
	}
	return module.Function(l.Kernel)
}

// timed returns how long the device works on the calls of f.
func (g *gpu) timed(f func() error) (time.Duration, error) {
	begin, err := g.dev.NewEvent()
	if err != nil {
		return 0, err
	}
	defer begin.Destroy()
	end, err := g.dev.NewEvent()
	if err != nil {
		return 0, err
	}
	defer end.Destroy()
	for _, step := range []func() error{
		func() error { return begin.Record(g.stream) }, f, func() error { return end.Record(g.stream) }, end.Synchronize,
	} {
		if err := step(); err != nil {
			return 0, err
		}
	}
	return end.Since(begin)
}

// free returns the bytes of memory that can be allocated.
func (g *gpu) free() (int64, error) {
	bytes, _, err := g.dev.MemInfo()
	return bytes, err
}

// A buffer is device memory that is allocated, or replaced by a larger one, on demand.
type buffer struct {
	at    kernels.Ptr
	bytes int64
}

// memory is a set of buffers that are freed together.
type memory struct {
	gpu  *gpu
	held []*buffer
	// bytes is the total size.
	bytes int64
}

// need makes b at least as large as count numbers. Growing b discards its contents.
func (m *memory) need(b *buffer, count int64) error {
	bytes := 8 * max(count, 1)
	if bytes <= b.bytes {
		return nil
	}
	if err := m.gpu.dev.Free(b.at); err != nil {
		return err
	}
	m.bytes -= b.bytes
	*b = buffer{}
	at, err := m.gpu.dev.Alloc(bytes)
	if err != nil {
		return err
	}
	*b = buffer{at, bytes}
	m.bytes += bytes
	if !slices.Contains(m.held, b) {
		m.held = append(m.held, b)
	}
	return nil
}

func (m *memory) free() error {
	var errs []error
	for _, b := range m.held {
		errs = append(errs, m.gpu.dev.Free(b.at))
		*b = buffer{}
	}
	m.held, m.bytes = nil, 0
	return errors.Join(errs...)
}

// translate converts errors of the driver and the libraries to the errors of package
// device, which has types for exhausted memory and a lost device. On a lost device it
// converts every error to a lost device.
func (g *gpu) translate(err error, plan device.Plan) error {
	if err == nil {
		return nil
	}
	if g.dev.Err() != nil || driver.IsSticky(err) {
		return &device.LostError{Device: g.name, Err: err}
	}
	if driver.IsOutOfMemory(err) {
		free, _ := g.free()
		return fmt.Errorf("%w (%w)", &device.MemoryError{Plan: plan, Where: "device", Need: plan.DeviceBytes(), Free: free}, err)
	}
	var unavailable *driver.UnavailableError
	if errors.As(err, &unavailable) {
		return &device.UnavailableError{Device: g.name, Reason: unavailable.Reason}
	}
	return err
}

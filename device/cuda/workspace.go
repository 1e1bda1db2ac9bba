package cuda

import (
	"context"
	"errors"

	"gpfit/device"
	"gpfit/internal/cuda/driver"
	"gpfit/internal/cuda/kernels"
	"gpfit/internal/cuda/ptx"
	"gpfit/kernel"
)

type stage uint8

const (
	stageEmpty stage = iota
	stageFilled
	stageFactored
	stageInverted // L below, Σ⁻¹ strictly above the diagonal
)

// Workspace implements [device.DenseWorkspace]. Its matrix is column-major on the
// device. The lower triangle holds Σ and then L, the strict upper triangle Σ⁻¹ once a
// gradient has been computed.
type Workspace struct {
	device.Meter
	gpu    *gpu
	sizes  sizes
	plan   device.Plan
	x      *kernel.Points
	n      int64
	stage  stage
	closed bool

	// memory contains all buffers below.
	memory memory
	sigma  buffer
	matrix kernels.Matrix // in sigma
	xs     buffer
	points kernels.Points // in xs
	// These vectors have n elements; noise may use only one. In stageInverted ldia is
	// the diagonal of L and kappa the diagonal of Σ⁻¹.
	noise, alpha, diag, ldia, kappa buffer
	small                           buffer // MaxParts partial results and one number
	program                         program

	// The following are allocated by the first call that needs them.
	blocks  buffer // the diagonal blocks of U = L⁻ᵀ
	panel   buffer // panelWidth columns
	vectors buffer // the vectors of an adjoint, and as many factors
	middle  buffer // a panel of a middle term, and its diagonal matrix
	folds   buffer // the blocks of a block-diagonal middle term
	cross   buffer // a block of cross-covariances

	filled filled
}

var _ device.DenseWorkspace = (*Workspace)(nil)
var _ device.ResidualChecker = (*Workspace)(nil)

// filled describes the last Fill.
type filled struct {
	program      *kernel.Program // nil before the first Fill
	theta, noise []float64
}

func newWorkspace(g *gpu, s sizes, x *kernel.Points, plan device.Plan) (*Workspace, error) {
	w := &Workspace{gpu: g, sizes: s, plan: plan, x: x, n: int64(x.N), memory: memory{gpu: g}}
	if err := g.do(w.allocate); err != nil {
		return nil, errors.Join(g.translate(err, plan), w.memory.free())
	}
	return w, nil
}

func (w *Workspace) allocate() error {
	ld := leadingDim(w.n)
	for _, part := range []struct {
		b     *buffer
		count int64
	}{
		{&w.sigma, w.n * ld}, {&w.xs, w.n * int64(w.x.D)}, {&w.noise, w.n}, {&w.alpha, w.n}, {&w.diag, w.n},
		{&w.ldia, w.n}, {&w.kappa, w.n}, {&w.small, kernels.MaxParts + 1},
	} {
		if err := w.memory.need(part.b, part.count); err != nil {
			return err
		}
	}
	w.matrix = kernels.Matrix{A: w.sigma.at, LD: ld}
	w.points = kernels.Points{X: w.xs.at, N: w.n}
	return w.gpu.upload(w.xs.at, w.x.X)
}

// Method returns "exact".
func (w *Workspace) Method() string { return device.Dense{}.Name() }

// N returns the number of points.
func (w *Workspace) N() int { return int(w.n) }

// Work returns the counters.
func (w *Workspace) Work() device.Work {
	return device.Work{Flops: w.Flops, MatrixBytes: w.sigma.bytes, Bytes: w.memory.bytes}
}

// Close frees the device's memory.
func (w *Workspace) Close() error {
	w.stage, w.closed = stageEmpty, true
	return w.gpu.translate(w.memory.free(), w.plan)
}

// do runs a call of the device contract, which needs a stage, on the device's thread
// and translates its error. After an error other than the caller's or the data's, the
// workspace is empty.
func (w *Workspace) do(needs stage, f func() error) error {
	if w.closed {
		return device.ErrStage
	}
	err := w.gpu.do(func() error {
		if w.stage < needs {
			return device.ErrStage
		}
		return f()
	})
	if err != nil && !errors.Is(err, device.ErrStage) && !errors.Is(err, errArgument) {
		w.stage = stageEmpty
	}
	return w.gpu.translate(err, w.plan)
}

// worked counts operations submitted to the device. For large matrices it waits for
// them, so that progress is accurate and a cancelled context is noticed.
func (w *Workspace) worked(ctx context.Context, flops float64) error {
	const wait = 1e9
	if flops > wait {
		if err := w.gpu.synchronize(); err != nil {
			return err
		}
	}
	w.Worked(flops)
	return ctx.Err()
}

// require returns a [*device.MemoryError] unless the given number of bytes is free for
// what.
func (w *Workspace) require(bytes int64, what string) error {
	free, err := w.gpu.free()
	if err == nil && bytes > free {
		err = &device.MemoryError{Plan: w.plan, Where: "device", Need: bytes, Free: free, What: what}
	}
	return err
}

// at returns the part of the matrix that begins at element (i, j).
func (w *Workspace) at(i, j int64) kernels.Matrix { return w.matrix.At(i, j) }

// diagonalL returns the diagonal of L, diagonalInverse the diagonal of Σ⁻¹.
func (w *Workspace) diagonalL() kernels.Vector { return kernels.Vector{A: w.ldia.at, N: w.n} }

func (w *Workspace) diagonalInverse() kernels.Vector { return kernels.Vector{A: w.kappa.at, N: w.n} }

// program is a covariance function on the device, with the buffers that it needs. It
// includes the derivatives after the first contraction.
type program struct {
	of                     *kernel.Program // nil before the first bind
	value, gradient        function
	sums, scratch, partial buffer
	work                   kernels.ContractWork
}

// function is a function on the device. Its first run loads its kernels; values are the
// uniform values of the last bind.
type function struct {
	kernels.Function
	uniforms buffer
	host     []float64
	values   []float64
	loaded   map[string]*driver.Function
}

// supports returns a [*device.UnsupportedKernelError] for a program that is too large.
func (g *gpu) supports(prog *kernel.Program) error {
	for _, f := range []func(*kernel.Program) (*ptx.Kernel, error){ptx.New, ptx.NewGradient} {
		if _, err := f(prog); err != nil {
			return &device.UnsupportedKernelError{Device: g.name, Kernel: prog.Text, Err: err}
		}
	}
	return nil
}

// bind selects the program for the following calls and copies its uniforms at θ to the
// device.
func (w *Workspace) bind(prog *kernel.Program, theta []float64) error {
	if prog.D != w.x.D {
		return argumentf("kernel for %d columns on points of %d", prog.D, w.x.D)
	}
	if err := prog.CheckTheta(theta); err != nil {
		return argumentf("%v", err)
	}
	p := &w.program
	if p.of != prog {
		p.of, p.gradient.Kernel = nil, nil
		if err := w.compile(&p.value, prog, ptx.New); err != nil {
			return err
		}
		p.of = prog
	}
	return w.setUniforms(&p.value, theta)
}

// bindGradient does the same for the derivatives of the bound program.
func (w *Workspace) bindGradient(theta []float64) error {
	p := &w.program
	if p.gradient.Kernel == nil {
		if err := w.compile(&p.gradient, p.of, ptx.NewGradient); err != nil {
			return err
		}
		p.work.Blocks = kernels.ContractBlocks(w.gpu.info.Multiprocessors)
		scratch, partial := kernels.ContractSpace(p.gradient.Kernel, p.work.Blocks)
		for _, part := range []struct {
			b     *buffer
			bytes int64
		}{{&p.sums, 8 * int64(p.gradient.Rows())}, {&p.scratch, scratch}, {&p.partial, partial}} {
			if err := w.memory.need(part.b, part.bytes/8); err != nil {
				p.gradient.Kernel = nil
				return err
			}
		}
		p.work.Scratch, p.work.Partial = p.scratch.at, p.partial.at
	}
	return w.setUniforms(&p.gradient, theta)
}

func (w *Workspace) compile(f *function, prog *kernel.Program, compile func(*kernel.Program) (*ptx.Kernel, error)) error {
	f.Kernel = nil
	k, err := compile(prog)
	if err != nil {
		return &device.UnsupportedKernelError{Device: w.gpu.name, Kernel: prog.Text, Err: err}
	}
	if err := w.memory.need(&f.uniforms, int64(k.Size())); err != nil {
		return err
	}
	f.Function, f.host, f.loaded = kernels.Function{Kernel: k, Uniforms: f.uniforms.at}, make([]float64, k.Size()), map[string]*driver.Function{}
	return nil
}

func (w *Workspace) setUniforms(f *function, theta []float64) error {
	f.values = f.Kernel.Uniforms(f.host, theta)
	return w.gpu.upload(f.uniforms.at, f.host)
}

// run starts kernels, either of the bound program or on matrices, one after the other.
func (w *Workspace) run(launches ...kernels.Launch) error {
	for _, l := range launches {
		if l.Blocks == 0 {
			continue
		}
		f := &w.program.value
		switch l.Of {
		case nil:
			if err := w.gpu.run(l); err != nil {
				return err
			}
			continue
		case w.program.gradient.Kernel:
			f = &w.program.gradient
		}
		if f.loaded[l.Kernel] == nil {
			loaded, err := w.gpu.generated(l)
			if err != nil {
				return err
			}
			f.loaded[l.Kernel] = loaded
		}
		if err := w.gpu.start(f.loaded[l.Kernel], l); err != nil {
			return err
		}
	}
	return nil
}

package cuda

import (
	"context"
	"errors"

	"gpfit/device"
	"gpfit/device/cuda/driver"
	"gpfit/device/cuda/kernels"
	"gpfit/device/cuda/ptx"
	"gpfit/kernel"
)

type stage uint8

const (
	stageEmpty stage = iota
	stageFilled
	stageFactored
	stageInverted // L below, Σ⁻¹ strictly above the diagonal
)

// Workspace implements [device.DenseWorkspace]. Its matrix is column-major on the device. The lower
// triangle holds Σ and then L, the strict upper triangle Σ⁻¹ once a gradient has been computed.
type Workspace struct {
	device.Meter
	covariance
	// lockstep is where a small workspace computes, nil for a large one. logs is Σ log L_ii if that computed L.
	lockstep *lockstep
	logs     *float64
	// solution is a copy of what alpha holds, nil if that is not the result of a solution.
	solution []float64
	stage    stage
	closed   bool
}

// covariance is Σ, or what it becomes, with the queue of the current call.
type covariance struct {
	queue
	storage
	plan    device.Plan
	program program
	filled  filled
}

var _ device.DenseWorkspace = (*Workspace)(nil)
var _ device.ResidualChecker = (*Workspace)(nil)

// storage is the memory of a workspace, with the points.
type storage struct {
	sizes sizes
	x     *kernel.Points
	n     int64

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

	// The following are allocated by the first call that needs them.
	blocks buffer // the diagonal blocks of U = L⁻ᵀ, or of Σ⁻¹
	system buffer // the words of a [kernels.System] with its results
	upper  buffer // U, if there is room for it
	// zeros says that upper has zeros below its diagonal.
	zeros bool
	// updates are the products that update the columns to the right of each block of [lookAhead].
	updates []phase
	// phases are the products of an [inversionSpread].
	phases  []phase
	panel   buffer // panelWidth columns
	vectors buffer // the vectors of an adjoint, and as many factors
	middle  buffer // a panel of a middle term, and its diagonal matrix
	folds   buffer // the blocks of a block-diagonal middle term
	cross   buffer // a block of cross-covariances
}

// at returns the part of the matrix that begins at element (i, j).
func (s *storage) at(i, j int64) kernels.Matrix { return s.matrix.At(i, j) }

// diagonalL returns the diagonal of L, diagonalInverse the diagonal of Σ⁻¹.
func (s *storage) diagonalL() kernels.Vector { return kernels.Vector{A: s.ldia.at, N: s.n} }

func (s *storage) diagonalInverse() kernels.Vector { return kernels.Vector{A: s.kappa.at, N: s.n} }

// restoreDiagonal writes the diagonal of L to the matrix again.
func (s *storage) restoreDiagonal() kernels.Launch {
	return kernels.SetDiagonal(s.matrix, s.diagonalL(), false)
}

// columns returns the matrix of columns of n numbers in a buffer.
func (s *storage) columns(b buffer) kernels.Matrix {
	return kernels.Matrix{A: b.at, LD: leadingDim(s.n)}
}

// filled describes the last Fill.
type filled struct {
	program      *kernel.Program // nil before the first Fill
	theta, noise []float64
}

// newWorkspace allocates a workspace on g. l is nil for a large one.
func newWorkspace(g *gpu, l *lockstep, s sizes, x *kernel.Points, plan device.Plan) (*Workspace, error) {
	w := &Workspace{lockstep: l, covariance: covariance{plan: plan, storage: storage{sizes: s, x: x, n: int64(x.N), memory: memory{gpu: g}}}}
	w.queue = queue{gpu: g, meter: &w.Meter, limit: s.gemm}
	if err := g.do(func() error { return w.allocate() }); err != nil {
		return nil, errors.Join(g.translate(err, plan), w.memory.free())
	}
	return w, nil
}

func (w *covariance) allocate() error {
	ld := leadingDim(w.n)
	w.need(&w.memory, &w.sigma, w.n*ld)
	w.need(&w.memory, &w.xs, w.n*int64(w.x.D))
	for _, b := range []*buffer{&w.noise, &w.alpha, &w.diag, &w.ldia, &w.kappa} {
		w.need(&w.memory, b, w.n)
	}
	w.need(&w.memory, &w.small, kernels.MaxParts+1)
	w.matrix = kernels.Matrix{A: w.sigma.at, LD: ld}
	w.points = kernels.Points{X: w.xs.at, N: w.n}
	w.upload(w.xs.at, w.x.X)
	return w.err
}

// Method returns "exact".
func (w *Workspace) Method() string { return device.DenseName }

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

// do runs a call of the device contract, which needs a stage and leaves its error in the
// queue, on the device's thread, and translates the error. After an error other than the
// caller's or the data's, the workspace is empty.
func (w *Workspace) do(ctx context.Context, needs stage, call func()) error {
	if w.closed {
		return device.ErrStage
	}
	err := w.gpu.do(func() error {
		if w.stage < needs {
			return device.ErrStage
		}
		w.ctx, w.err = ctx, nil
		call()
		if w.err != nil {
			w.gpu.staging.Forget()
		}
		return w.err
	})
	return ended(w, err)
}

// together runs a call of the contract as do does, by a step of its lockstep: prepare before the step, which may be
// nil, queued after the step is queued and after with its results.
type together struct {
	*Workspace
	ctx             context.Context
	needs           stage
	step            *jointStep
	prepare, queued func()
	after           func(results []float64)
}

// call makes the call.
func (c together) call() error {
	if c.closed {
		return device.ErrStage
	}
	return ended(c.Workspace, c.lockstep.join(c.partner()))
}

func (c together) partner() *partner {
	w := c.Workspace
	m := &partner{step: c.step, n: w.n}
	m.begin = func() error {
		if w.stage < c.needs {
			return device.ErrStage
		}
		w.ctx, w.err = c.ctx, nil
		w.poll()
		if c.step != stepFactor && c.step != stepLogDet {
			w.need(&w.memory, &w.panel, max(kernels.MaxInvert, w.sizes.panelWidth(w.n))*leadingDim(w.n))
		}
		if c.prepare != nil {
			c.prepare()
		}
		m.problem = kernels.System{A: w.sigma.at, Panel: w.panel.at, Diagonal: w.kappa.at, Pivots: w.ldia.at, RHS: w.alpha.at}
		return w.err
	}
	if c.queued != nil {
		m.queued = func() error {
			c.queued()
			return w.err
		}
	}
	if c.after != nil {
		m.after = func(results []float64) error {
			c.after(results)
			return w.err
		}
	}
	return m
}

// ended translates the error of a call.
func ended(w *Workspace, err error) error {
	if err != nil && !errors.Is(err, device.ErrStage) && !errors.Is(err, errArgument) {
		w.stage = stageEmpty
	}
	return w.gpu.translate(err, w.plan)
}

// bind selects the program and its parameters for the following calls.
func (w *covariance) bind(prog *kernel.Program, theta []float64) bool {
	return w.program.bind(&w.queue, &w.memory, w.x, prog, theta)
}

// require fails with a [*device.MemoryError] unless the given number of bytes is free for what.
func (w *covariance) require(bytes int64, what string) {
	w.then(func() error {
		free, err := w.gpu.free()
		if err == nil && bytes > free {
			err = &device.MemoryError{Plan: w.plan, Where: "device", Need: bytes, Free: free, What: what}
		}
		return err
	})
}

// program is a covariance function on the device, with the buffers that it needs. It
// includes the derivatives after the first contraction.
type program struct {
	of                     *kernel.Program // nil before the first bind
	value, gradient        function
	sums, scratch, partial buffer
	work                   kernels.ContractWork
}

// function is a function on the device; values are the uniform values of the last bind.
type function struct {
	kernels.Function
	uniforms buffer
	host     []float64
	values   []float64
}

// bind selects the program for the following calls and copies its uniforms at θ to the
// device. It reports whether that succeeded.
func (p *program) bind(q *queue, m *memory, x *kernel.Points, prog *kernel.Program, theta []float64) bool {
	q.check(device.CheckProgram(prog, theta, x.D))
	if q.err == nil && p.of != prog {
		p.of, p.gradient.Kernel, q.generated = nil, nil, map[string]*driver.Function{}
		if p.value.compile(q, m, prog, ptx.New); q.err == nil {
			p.of = prog
		}
	}
	p.value.setUniforms(q, theta)
	return q.err == nil
}

// bindGradient does the same for the derivatives of the bound program.
func (p *program) bindGradient(q *queue, m *memory, theta []float64) bool {
	if p.gradient.Kernel == nil {
		if p.gradient.compile(q, m, p.of, ptx.NewGradient); q.err != nil {
			return false
		}
		p.work.Blocks = kernels.ContractBlocks(q.gpu.info.Multiprocessors)
		scratch, partial := kernels.ContractSpace(p.gradient.Kernel, p.work.Blocks)
		q.need(m, &p.sums, int64(p.gradient.Rows()))
		q.need(m, &p.scratch, scratch/8)
		q.need(m, &p.partial, partial/8)
		if q.err != nil {
			p.gradient.Kernel = nil
		}
		p.work.Scratch, p.work.Partial = p.scratch.at, p.partial.at
	}
	p.gradient.setUniforms(q, theta)
	return q.err == nil
}

func (f *function) compile(q *queue, m *memory, prog *kernel.Program, compile func(*kernel.Program) (*ptx.Kernel, error)) {
	f.Kernel = nil
	q.then(func() error {
		k, err := q.gpu.compile(prog, compile)
		if err != nil {
			return err
		}
		if err := m.need(&f.uniforms, int64(k.Size())); err != nil {
			return err
		}
		f.Function, f.host = kernels.Function{Kernel: k, Uniforms: f.uniforms.at}, make([]float64, k.Size())
		return nil
	})
}

func (f *function) setUniforms(q *queue, theta []float64) {
	if q.err == nil {
		f.values = f.Kernel.Uniforms(f.host, theta)
		q.upload(f.uniforms.at, f.host)
	}
}

// explainMinor returns the error for a leading minor of the given order.
func (w *covariance) explainMinor(order int64) error {
	return device.ExplainMinor(int(order), w.x, w.filled.program, w.filled.theta, w.filled.noise)
}

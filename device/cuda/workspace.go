package cuda

import (
	"context"
	"errors"

	"gpfit/device"
	"gpfit/internal/cuda/kernels"
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
	queue // of the current call
	storage
	plan    device.Plan
	stage   stage
	closed  bool
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
	blocks  buffer // the diagonal blocks of U = L⁻ᵀ
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

func newWorkspace(g *gpu, s sizes, x *kernel.Points, plan device.Plan) (*Workspace, error) {
	w := &Workspace{plan: plan, storage: storage{sizes: s, x: x, n: int64(x.N), memory: memory{gpu: g}}}
	w.queue = queue{gpu: g, meter: &w.Meter, limit: s.gemm}
	if err := g.do(w.allocate); err != nil {
		return nil, errors.Join(g.translate(err, plan), w.memory.free())
	}
	return w, nil
}

func (w *Workspace) allocate() error {
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
		return w.err
	})
	if err != nil && !errors.Is(err, device.ErrStage) && !errors.Is(err, errArgument) {
		w.stage = stageEmpty
	}
	return w.gpu.translate(err, w.plan)
}

// bind selects the program and its parameters for the following calls.
func (w *Workspace) bind(prog *kernel.Program, theta []float64) bool {
	return w.program.bind(&w.queue, &w.memory, w.x, prog, theta)
}

// runProgram starts kernels of the bound program or on matrices.
func (w *Workspace) runProgram(launches ...kernels.Launch) { w.program.run(&w.queue, launches...) }

// require fails with a [*device.MemoryError] unless the given number of bytes is free for
// what.
func (w *Workspace) require(bytes int64, what string) {
	w.then(func() error {
		free, err := w.gpu.free()
		if err == nil && bytes > free {
			err = &device.MemoryError{Plan: w.plan, Where: "device", Need: bytes, Free: free, What: what}
		}
		return err
	})
}

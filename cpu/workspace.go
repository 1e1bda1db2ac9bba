package cpu

import (
	"context"
	"errors"
	"sync"

	"gpfit/cpu/spd"
	"gpfit/device"
	"gpfit/kernel"
)

const (
	// tileCols bounds the length of the rows passed to an evaluator, so that its
	// scratch space (8 rows of 4 KiB) stays in the first-level cache.
	tileCols = 512
	// tileStride is the distance of the parts of rows of a panel in memory. A power of two
	// would put them into the same sets of the cache.
	tileStride = tileCols + 8
	// tileRows is the number of rows in one task, a multiple of the rows of a panel.
	tileRows = 16
	// serialBelow is the size below which one thread is faster than several.
	serialBelow = 192
)

type stage uint8

const (
	stageEmpty stage = iota
	stageFilled
	stageFactored
	stageInverted // L below, Σ⁻¹ strictly above the diagonal
)

// engines are the threads of a device: an engine with all of them, and others for workspaces that
// leave some to others, so that workspaces can compute side by side.
type engines struct {
	all   *spd.Engine
	spare sync.Pool
}

// workspace implements [device.DenseWorkspace].
type workspace struct {
	device.Meter
	engines *engines
	// engine has the threads of calls. own, if not nil, has fewer threads than the device.
	engine, own *spd.Engine
	x           *kernel.Points
	n           int
	matrix      *spd.Symmetric
	stage       stage
	// written counts the rows of L that WriteFactor has set since Fill, in order.
	written int
	space   vectorSpace
	tiles   tiles
	// adjoint holds a part of a row of an adjoint for each thread.
	adjoint []float64
	// middle holds two panels of rows. The first contraction of a middle term allocates them.
	middle [2]*spd.RowBlock
	// filled, theta and noise are the arguments of the last Fill.
	filled       *kernel.Program
	theta, noise []float64
	evaluators   evaluators
}

var (
	_ device.DenseWorkspace = (*workspace)(nil)
	_ device.ThreadLimiter  = (*workspace)(nil)
)

func newWorkspace(e *engines, x *kernel.Points) *workspace {
	matrix, threads := e.all.New(x.N), e.all.Threads()
	return &workspace{
		engines: e, engine: e.all, x: x, n: x.N, matrix: matrix,
		tiles: newTiles(matrix.Lanes(), threads), adjoint: make([]float64, threads*tileCols),
	}
}

// tiles holds parts of the rows of a panel for each thread, tileStride apart.
type tiles struct {
	numbers []float64
	size    int // of a thread
}

func newTiles(lanes, threads int) tiles {
	size := lanes * tileStride
	return tiles{make([]float64, threads*size), size}
}

func (t tiles) of(worker int) []float64 { return t.numbers[worker*t.size:][:t.size] }

// vectorSpace is the working space of predictions, kept between calls: groups of vectors, and
// numbers for each thread.
type vectorSpace struct {
	vectors []*spd.Vectors
	scratch [][]float64
}

// grow makes sure that there are enough groups of vectors, and working space for each thread.
func (s *vectorSpace) grow(m *spd.Symmetric, threads, groups int) {
	for len(s.vectors) < groups {
		s.vectors = append(s.vectors, m.NewVectors())
	}
	for len(s.scratch) < threads {
		s.scratch = append(s.scratch, make([]float64, m.Lanes()*m.N()))
	}
}

// size returns the size of the space, in numbers.
func (s *vectorSpace) size() (numbers int64) {
	for _, v := range s.vectors {
		numbers += int64(v.Numbers())
	}
	for _, v := range s.scratch {
		numbers += int64(len(v))
	}
	return numbers
}

// Method returns "exact".
func (w *workspace) Method() string { return device.DenseName }

// N returns the number of points.
func (w *workspace) N() int { return w.n }

// LimitThreads makes later calls use at most n of the device's threads.
func (w *workspace) LimitThreads(n int) {
	w.engine = w.engines.all
	if n = max(n, 1); n < w.engine.Threads() {
		if w.own == nil {
			w.own = w.engines.spare.Get().(*spd.Engine)
		}
		w.own.SetThreads(n)
		w.engine = w.own
	}
	if w.matrix != nil {
		w.matrix.Engine = w.engine
	}
}

// ready returns an error if a call cannot begin: the matrix has not reached the stage that it needs, or the arguments are
// invalid.
func (w *workspace) ready(needs stage, invalid error) error {
	if w.matrix == nil || w.stage < needs {
		return device.ErrStage
	}
	return device.Invalid(name, invalid)
}

// emptyIfStopped resets a workspace to its state before Fill if err is a context
// error. Calls that poll a context defer it.
func emptyIfStopped(s *stage, err *error) {
	if errors.Is(*err, context.Canceled) || errors.Is(*err, context.DeadlineExceeded) {
		*s = stageEmpty
	}
}

// Work returns the counters.
func (w *workspace) Work() device.Work {
	matrix, held := int64(0), int64(0)
	if w.matrix != nil {
		matrix = w.engine.Numbers(w.n)
		held = matrix + w.space.size()
		for _, rows := range w.middle {
			if rows != nil {
				held += int64(rows.Numbers())
			}
		}
	}
	return device.Work{Flops: w.Flops, MatrixBytes: 8 * matrix, Bytes: 8 * held}
}

// Close frees the matrix.
func (w *workspace) Close() error {
	if w.own != nil {
		w.engines.spare.Put(w.own)
	}
	w.own, w.engine = nil, w.engines.all
	w.matrix, w.evaluators, w.stage = nil, evaluators{}, stageEmpty
	w.space, w.middle = vectorSpace{}, [2]*spd.RowBlock{}
	return nil
}

// bind returns one evaluator per thread, bound to theta.
func (w *workspace) bind(prog *kernel.Program, theta []float64) ([]*kernel.Evaluator, error) {
	return w.evaluators.bind(w.engines.all.Threads(), w.x.D, prog, theta)
}

// parallelFor calls f for every task, as [spd.Engine.For] does, on one thread if there are
// few points.
func (w *workspace) parallelFor(ctx context.Context, tasks int, f func(worker, task int)) error {
	threads := w.engine.Threads()
	if w.n < serialBelow {
		threads = 1
	}
	return w.engine.For(ctx, threads, tasks, f)
}

func cube(n int) float64 { return float64(n) * float64(n) * float64(n) }

// bands returns the number of bands of tileRows rows in n rows.
func bands(n int) int { return (n + tileRows - 1) / tileRows }

package cpu

import (
	"context"
	"errors"
	"fmt"

	"gpfit/device"
	"gpfit/internal/spd"
	"gpfit/kernel"
)

type stage uint8

const (
	stageEmpty stage = iota
	stageFilled
	stageFactored
	stageInverted // L below, Σ⁻¹ strictly above the diagonal
)

// Workspace implements [device.DenseWorkspace].
type Workspace struct {
	dev *Device
	// engine has the threads of calls. own, if not nil, has fewer threads than the device's
	// engine.
	engine, own *spd.Engine
	x           *kernel.Points
	n           int
	matrix      *spd.Symmetric
	stage       stage
	// written counts the rows of L that WriteFactor has set since Fill, in order.
	written int
	// vectors and scratch are the working space of predictions (reduce.go), kept between
	// calls.
	vectors []*spd.Vectors
	scratch [][]float64
	// tiles holds parts of the rows of a panel for each thread, and adjoint a part of a row
	// of an adjoint.
	tiles, adjoint []float64
	// middle holds two panels of rows (middle.go). The first contraction of a
	// middle term allocates them.
	middle [2]*spd.RowBlock
	// filled, theta and noise are the arguments of the last Fill.
	filled       *kernel.Program
	theta, noise []float64
	evaluators   []*kernel.Evaluator
	evaluated    *kernel.Program
	onProgress   func(device.Progress)
	progress     device.Progress
	flops        float64
}

var (
	_ device.DenseWorkspace = (*Workspace)(nil)
	_ device.ThreadLimiter  = (*Workspace)(nil)
)

func newWorkspace(dev *Device, x *kernel.Points) *Workspace {
	matrix := dev.engine.New(x.N)
	return &Workspace{
		dev: dev, engine: dev.engine, x: x, n: x.N, matrix: matrix,
		tiles:   make([]float64, dev.engine.Threads()*matrix.Lanes()*tileStride),
		adjoint: make([]float64, dev.engine.Threads()*tileCols),
	}
}

// Method returns "exact".
func (w *Workspace) Method() string { return device.Dense{}.Name() }

// N returns the number of points.
func (w *Workspace) N() int { return w.n }

// LimitThreads makes later calls use at most n of the device's threads.
func (w *Workspace) LimitThreads(n int) {
	w.engine = w.dev.engine
	if n = max(n, 1); n < w.engine.Threads() {
		if w.own == nil {
			w.own = w.dev.borrow()
		}
		w.own.SetThreads(n)
		w.engine = w.own
	}
	if w.matrix != nil {
		w.matrix.Engine = w.engine
	}
}

// OnProgress sets the progress function.
func (w *Workspace) OnProgress(f func(device.Progress)) { w.onProgress = f }

// begin starts a stage with the given number of operations for progress reports.
func (w *Workspace) begin(stage string, flops float64) {
	w.progress = device.Progress{Stage: stage, Total: flops}
}

// worked counts operations and reports progress.
func (w *Workspace) worked(flops float64) {
	w.flops += flops
	w.progress.Done = min(w.progress.Done+flops, w.progress.Total)
	if w.onProgress != nil {
		w.onProgress(w.progress)
	}
}

// emptyIfStopped resets the workspace to its state before Fill if err is a context
// error. Calls that poll a context defer it.
func (w *Workspace) emptyIfStopped(err *error) {
	if errors.Is(*err, context.Canceled) || errors.Is(*err, context.DeadlineExceeded) {
		w.empty()
	}
}

// empty returns to the state before Fill.
func (w *Workspace) empty() { w.stage = stageEmpty }

// Work returns the counters.
func (w *Workspace) Work() device.Work {
	matrix, held := int64(0), int64(0)
	if w.matrix != nil {
		matrix = w.dev.engine.Numbers(w.n)
		held = matrix + w.predictElements()
		if w.middle[0] != nil {
			held += middleElements(w.dev.engine, w.n)
		}
	}
	return device.Work{Flops: w.flops, MatrixBytes: 8 * matrix, Bytes: 8 * held}
}

// Close frees the matrix.
func (w *Workspace) Close() error {
	w.dev.giveBack(w.own)
	w.own, w.engine = nil, w.dev.engine
	w.matrix, w.evaluators, w.stage = nil, nil, stageEmpty
	w.vectors, w.scratch, w.middle = nil, nil, [2]*spd.RowBlock{}
	return nil
}

// bind returns one evaluator per thread, bound to theta.
func (w *Workspace) bind(prog *kernel.Program, theta []float64) ([]*kernel.Evaluator, error) {
	if prog.D != w.x.D {
		return nil, fmt.Errorf("cpu: kernel for %d columns on points with %d columns", prog.D, w.x.D)
	}
	if err := prog.CheckTheta(theta); err != nil {
		return nil, err
	}
	if w.evaluated != prog {
		w.evaluated, w.evaluators = prog, make([]*kernel.Evaluator, w.dev.engine.Threads())
		for i := range w.evaluators {
			w.evaluators[i] = kernel.NewEvaluator(prog)
		}
	}
	for _, e := range w.evaluators {
		e.Bind(theta)
	}
	return w.evaluators, nil
}

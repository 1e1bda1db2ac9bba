package cpu

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gpfit/device"
	"gpfit/kernel"
)

type stage uint8

const (
	stageEmpty stage = iota
	stageFilled
	stageFactored
	stageInverted // L below, Σ⁻¹ strictly above the diagonal
)

// Workspace implements [device.ExactWorkspace]. Element (i, j) of its matrix is
// a[i·ld + j].
type Workspace struct {
	dev   *Device
	x     *kernel.Points
	n, ld int
	a     []float64
	stage stage
	// written counts the rows of L that WriteFactor has set since Fill, in order.
	written int
	// inverseDiag is the diagonal of Σ⁻¹ in stageInverted.
	inverseDiag []float64
	// cross is a block of cross-covariances (predict.go), kept between calls.
	cross []float64
	// tile holds a row of a tile of an adjoint for each thread.
	tile []float64
	// middle holds two panels of rows (middle.go). The first contraction of a
	// middle term allocates them.
	middle []float64
	// filled, theta and noise are the arguments of the last Fill.
	filled       *kernel.Program
	theta, noise []float64
	evaluators   []*kernel.Evaluator
	evaluated    *kernel.Program
	onProgress   func(device.Progress)
	progress     device.Progress
	flops        float64
}

var _ device.ExactWorkspace = (*Workspace)(nil)

// leadingDim returns n padded to whole cache lines. It pads further if rows would
// start at multiples of a page and compete for the same cache sets.
func leadingDim(n int) int {
	ld := (n + 7) &^ 7
	if ld%512 == 0 {
		ld += 8
	}
	return ld
}

func newWorkspace(dev *Device, x *kernel.Points) *Workspace {
	n, ld := x.N, leadingDim(x.N)
	return &Workspace{dev: dev, x: x, n: n, ld: ld, a: make([]float64, n*ld)}
}

// Method returns "exact".
func (w *Workspace) Method() string { return device.Exact{}.Name() }

// N returns the number of points.
func (w *Workspace) N() int { return w.n }

// OnProgress sets the progress function.
func (w *Workspace) OnProgress(f func(device.Progress)) { w.onProgress = f }

// begin starts a stage with the given number of operations for progress reports.
func (w *Workspace) begin(stage string, flops float64) {
	w.progress = device.Progress{Stage: stage, Total: flops}
}

// worked counts operations, reports progress and polls ctx.
func (w *Workspace) worked(ctx context.Context, flops float64) error {
	w.flops += flops
	w.progress.Done += flops
	if w.onProgress != nil {
		w.onProgress(w.progress)
	}
	return ctx.Err()
}

// emptyIfStopped resets the workspace to its state before Fill if err is a context
// error. Calls that poll a context defer it.
func (w *Workspace) emptyIfStopped(err *error) {
	if errors.Is(*err, context.Canceled) || errors.Is(*err, context.DeadlineExceeded) {
		w.stage = stageEmpty
	}
}

// Work returns the counters.
func (w *Workspace) Work() device.Work {
	matrix := int64(len(w.a)) * 8
	return device.Work{Flops: w.flops, MatrixBytes: matrix, Bytes: matrix + int64(len(w.inverseDiag)+len(w.cross)+len(w.middle))*8}
}

// Close frees the buffer.
func (w *Workspace) Close() error {
	w.a, w.inverseDiag, w.cross, w.middle, w.evaluators, w.stage = nil, nil, nil, nil, nil, stageEmpty
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
		w.evaluated, w.evaluators = prog, make([]*kernel.Evaluator, w.dev.threads)
		for i := range w.evaluators {
			w.evaluators[i] = kernel.NewEvaluator(prog)
		}
	}
	for _, e := range w.evaluators {
		e.Bind(theta)
	}
	return w.evaluators, nil
}

const (
	// tileCols bounds the length of the rows passed to an evaluator, so that its
	// scratch space (8 rows of 4 KiB) stays in the first-level cache.
	tileCols = 512
	// tileRows is the number of rows in one task.
	tileRows = 16
	// serialBelow is the size below which goroutines cost more than they save.
	serialBelow = 256
)

func (w *Workspace) threadsFor(n int) int {
	if n < serialBelow {
		return 1
	}
	return w.dev.threads
}

// Form forms and factors Σ.
func (w *Workspace) Form(ctx context.Context, prog *kernel.Program, theta, noise []float64) error {
	if err := w.Fill(ctx, prog, theta, noise); err != nil {
		return err
	}
	return w.Factor(ctx)
}

// Fill forms Σ in the lower triangle.
func (w *Workspace) Fill(ctx context.Context, prog *kernel.Program, theta, noise []float64) error {
	if w.a == nil {
		return device.ErrStage
	}
	if len(noise) != 1 && len(noise) != w.n {
		return fmt.Errorf("cpu: %d noise variances for %d points", len(noise), w.n)
	}
	w.written = 0
	if err := w.fillFrom(ctx, 0, prog, theta, noise); err != nil {
		return err
	}
	w.stage = stageFilled
	return nil
}

// fillFrom forms the rows of Σ from row first on.
func (w *Workspace) fillFrom(ctx context.Context, first int, prog *kernel.Program, theta, noise []float64) error {
	evaluators, err := w.bind(prog, theta)
	if err != nil {
		return err
	}
	w.stage = stageEmpty
	w.filled = prog
	w.theta, w.noise = append(w.theta[:0], theta...), append(w.noise[:0], noise...)
	tasks := (w.n - first + tileRows - 1) / tileRows
	return parallelFor(ctx, w.threadsFor(w.n), tasks, func(worker, task int) {
		task = tasks - 1 - task // long rows first
		for i := first + task*tileRows; i < min(first+(task+1)*tileRows, w.n); i++ {
			w.fillRow(evaluators[worker], i, w.a[i*w.ld:])
		}
	})
}

// fillRow writes Σ_ij for j ≤ i to row.
func (w *Workspace) fillRow(e *kernel.Evaluator, i int, row []float64) {
	for j := 0; j <= i; j += tileCols {
		e.Row(row[j:], w.x, i, w.x, j, min(j+tileCols, i+1))
	}
	row[i] += w.noise[min(i, len(w.noise)-1)]
}

// Factor overwrites Σ by L.
func (w *Workspace) Factor(ctx context.Context) error {
	if w.stage != stageFilled {
		return device.ErrStage
	}
	w.stage = stageEmpty
	w.begin("factor", cube(w.n)/3)
	if err := w.cholesky(ctx, 0, w.n); err != nil {
		return err
	}
	w.stage = stageFactored
	return nil
}

// LogDet returns 2 Σ log L_ii.
func (w *Workspace) LogDet() (value, stdErr float64, err error) {
	if w.stage < stageFactored {
		return 0, 0, device.ErrStage
	}
	sum := 0.0
	for i := range w.n {
		sum += math.Log(w.a[i*w.ld+i])
	}
	return 2 * sum, 0, nil
}

// ReadFactor copies rows of L.
func (w *Workspace) ReadFactor(r0, r1 int, dst []float64) error {
	if w.stage < stageFactored {
		return device.ErrStage
	}
	for i := r0; i < r1; i++ {
		row := dst[(i-r0)*w.n : (i-r0+1)*w.n]
		copy(row, w.a[i*w.ld:i*w.ld+i+1])
		clear(row[i+1:])
	}
	return nil
}

// WriteFactor sets rows of L.
func (w *Workspace) WriteFactor(r0, r1 int, src []float64) error {
	if w.a == nil {
		return device.ErrStage
	}
	w.stage = stageEmpty
	if r0 == 0 {
		w.written = 0
	}
	for i := r0; i < r1; i++ {
		row := src[(i-r0)*w.n : (i-r0)*w.n+i+1]
		if !(row[i] > 0) || slices.ContainsFunc(row, func(v float64) bool { return v-v != 0 }) {
			return &device.NonFiniteError{What: "Cholesky factor", Row: i, Col: -1}
		}
		copy(w.a[i*w.ld:], row)
	}
	if r0 == w.written {
		w.written = r1
	}
	if r1 == w.n {
		w.stage = stageFactored
	}
	return nil
}

func cube(n int) float64 { return float64(n) * float64(n) * float64(n) }

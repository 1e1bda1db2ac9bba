package cpu

import (
	"context"
	"fmt"
	"math"
	"slices"

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

// parallelFor calls f for every task, as [spd.Engine.For] does, on one thread if there are
// few points.
func (w *Workspace) parallelFor(ctx context.Context, tasks int, f func(worker, task int)) error {
	threads := w.engine.Threads()
	if w.n < serialBelow {
		threads = 1
	}
	return w.engine.For(ctx, threads, tasks, f)
}

// tile returns a worker's space for parts of the rows of a panel, tileStride apart.
func (w *Workspace) tile(worker int) []float64 {
	size := w.matrix.Lanes() * tileStride
	return w.tiles[worker*size : (worker+1)*size]
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
	if w.matrix == nil {
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

// fillFrom forms the rows of Σ from row first on, the first of a panel.
func (w *Workspace) fillFrom(ctx context.Context, first int, prog *kernel.Program, theta, noise []float64) error {
	evaluators, err := w.bind(prog, theta)
	if err != nil {
		return err
	}
	w.empty()
	w.filled = prog
	w.theta, w.noise = append(w.theta[:0], theta...), append(w.noise[:0], noise...)
	lanes := w.matrix.Lanes()
	tasks := bands(w.n - first)
	return w.parallelFor(ctx, tasks, func(worker, task int) {
		i0 := first + (tasks-1-task)*tileRows // long rows first
		for i := i0; i < min(i0+tileRows, w.n); i += lanes {
			w.fillPanel(evaluators[worker], i, w.tile(worker))
		}
	})
}

// fillPanel writes the rows of Σ in the panel that begins with row i, up to the diagonal.
func (w *Workspace) fillPanel(e *kernel.Evaluator, i int, tile []float64) {
	end := i + w.matrix.Lanes()
	for j0 := 0; j0 < end; j0 += tileCols {
		j1 := min(j0+tileCols, end)
		for k := i; k < min(end, w.n); k++ {
			row := tile[(k-i)*tileStride:][:tileCols]
			own := min(j1, k+1)
			e.Row(row, w.x, k, w.x, j0, own)
			if own == k+1 && j1 > k {
				row[k-j0] += w.noise[min(k, len(w.noise)-1)]
			}
			clear(row[own-j0 : j1-j0])
		}
		w.matrix.SetRows(i, j0, j1, tile, tileStride)
	}
}

// Factor overwrites Σ by L.
func (w *Workspace) Factor(ctx context.Context) error {
	if w.stage != stageFilled {
		return device.ErrStage
	}
	w.empty()
	w.begin("factor", cube(w.n)/3)
	return w.factorFrom(ctx, 0)
}

// factorFrom computes the rows of L from row first on, the first of a panel.
func (w *Workspace) factorFrom(ctx context.Context, first int) error {
	minor, err := w.matrix.Factor(ctx, first, w.worked)
	if err != nil {
		return err
	}
	if minor > 0 {
		return device.ExplainMinor(minor, w.x, w.filled, w.theta, w.noise)
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
	for _, v := range w.matrix.FactorDiagonal() {
		sum += math.Log(v)
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
		w.matrix.FactorRow(i, row[:i+1])
		clear(row[i+1:])
	}
	return nil
}

// WriteFactor sets rows of L.
func (w *Workspace) WriteFactor(r0, r1 int, src []float64) error {
	if w.matrix == nil {
		return device.ErrStage
	}
	w.empty()
	if r0 == 0 {
		w.written = 0
	}
	for i := r0; i < r1; i++ {
		row := src[(i-r0)*w.n : (i-r0)*w.n+i+1]
		if !(row[i] > 0) || slices.ContainsFunc(row, func(v float64) bool { return v-v != 0 }) {
			return &device.NonFiniteError{What: "Cholesky factor", Row: i, Col: -1}
		}
		w.matrix.SetFactorRow(i, row)
	}
	if r0 == w.written {
		w.written = r1
	}
	if r1 == w.n {
		w.stage = stageFactored
	}
	return nil
}

// Solve overwrites b by Σ⁻¹b.
func (w *Workspace) Solve(ctx context.Context, b []float64, m int) (err error) {
	defer w.emptyIfStopped(&err)
	if w.stage < stageFactored {
		return device.ErrStage
	}
	if len(b) < w.n*m {
		return fmt.Errorf("cpu: right-hand side of %d elements for %d×%d", len(b), w.n, m)
	}
	return w.matrix.SolveEquations(ctx, b, m)
}

func cube(n int) float64 { return float64(n) * float64(n) * float64(n) }

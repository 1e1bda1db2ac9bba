package cpu

import (
	"context"
	"math"

	"gpfit/device"
	"gpfit/kernel"
)

// Form forms and factors Σ.
func (w *workspace) Form(ctx context.Context, prog *kernel.Program, theta, noise []float64) error {
	if err := w.Fill(ctx, prog, theta, noise); err != nil {
		return err
	}
	return w.Factor(ctx)
}

// Fill forms Σ in the lower triangle.
func (w *workspace) Fill(ctx context.Context, prog *kernel.Program, theta, noise []float64) error {
	if err := w.ready(stageEmpty, device.CheckNoise(noise, w.n)); err != nil {
		return err
	}
	w.written = 0
	if err := w.fillFrom(ctx, 0, prog, theta, noise); err != nil {
		return err
	}
	w.stage = stageFilled
	return nil
}

// fillFrom forms the rows of Σ from row first on, the first of a panel.
func (w *workspace) fillFrom(ctx context.Context, first int, prog *kernel.Program, theta, noise []float64) error {
	evaluators, err := w.bind(prog, theta)
	if err != nil {
		return err
	}
	w.stage = stageEmpty
	w.filled = prog
	w.theta, w.noise = append(w.theta[:0], theta...), append(w.noise[:0], noise...)
	lanes := w.matrix.Lanes()
	tasks := bands(w.n - first)
	return w.parallelFor(ctx, tasks, func(worker, task int) {
		i0 := first + (tasks-1-task)*tileRows // long rows first
		for i := i0; i < min(i0+tileRows, w.n); i += lanes {
			fillPanel(w, evaluators[worker], i, w.tiles.of(worker))
		}
	})
}

// fillPanel writes the rows of Σ in the panel that begins with row i, up to the diagonal.
func fillPanel(w *workspace, e *kernel.Evaluator, i int, tile []float64) {
	end := i + w.matrix.Lanes()
	for j0 := 0; j0 < end; j0 += tileCols {
		j1 := min(j0+tileCols, end)
		for k := i; k < min(end, w.n); k++ {
			sigmaRow(tile[(k-i)*tileStride:], e, w.x, w.noise, k, j0, j1)
		}
		w.matrix.SetRows(i, j0, j1, tile, tileStride)
	}
}

// Factor overwrites Σ by L.
func (w *workspace) Factor(ctx context.Context) error {
	if w.stage != stageFilled {
		return device.ErrStage
	}
	w.stage = stageEmpty
	w.Begin("factor", cube(w.n)/3)
	return factorFrom(ctx, w, 0)
}

// factorFrom computes the rows of L from row first on, the first of a panel.
func factorFrom(ctx context.Context, w *workspace, first int) error {
	minor, err := w.matrix.Factor(ctx, first, w.Worked)
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
func (w *workspace) LogDet() (value, stdErr float64, err error) {
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
func (w *workspace) ReadFactor(r0, r1 int, dst []float64) error {
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
func (w *workspace) WriteFactor(r0, r1 int, src []float64) error {
	if w.matrix == nil {
		return device.ErrStage
	}
	w.stage = stageEmpty
	if r0 == 0 {
		w.written = 0
	}
	for i := r0; i < r1; i++ {
		row := src[(i-r0)*w.n : (i-r0)*w.n+i+1]
		if err := device.CheckFactorRow(row, i); err != nil {
			return err
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
func (w *workspace) Solve(ctx context.Context, b []float64, m int) (err error) {
	defer emptyIfStopped(&w.stage, &err)
	if err := w.ready(stageFactored, device.CheckColumns(b, w.n, m)); err != nil {
		return err
	}
	return w.matrix.SolveEquations(ctx, b, m)
}

// ExtendFactor implements [device.FactorExtender].
func (w *workspace) ExtendFactor(ctx context.Context, prog *kernel.Program, theta, noise []float64, known int) error {
	if w.written != known {
		return device.ErrStage
	}
	if err := w.ready(stageEmpty, device.CheckNoise(noise, w.n)); err != nil {
		return err
	}
	w.written = 0
	if known == w.n {
		if _, err := w.bind(prog, theta); err != nil {
			return err
		}
		w.stage = stageFactored
		return nil
	}
	// The rows that share a panel with new ones are computed again.
	first := known - known%w.matrix.Lanes()
	if err := w.fillFrom(ctx, first, prog, theta, noise); err != nil {
		return err
	}
	w.Begin("factor", (cube(w.n)-cube(first))/3)
	return factorFrom(ctx, w, first)
}

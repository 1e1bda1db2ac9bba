package cuda

import (
	"context"
	"math"

	"gpfit/device"
	"gpfit/device/cuda/kernels"
)

// residualColumns is the number of sampled columns: as many as the kernel that
// regenerates Σ takes at a time.
const residualColumns = 4

// Residual implements [device.ResidualChecker]: it solves Σv = e_j for columns j
// spread over the matrix and multiplies by Σ, which is generated anew from the
// points. Libraries have returned wrong factors of large matrices without an
// error; this finds them.
func (w *Workspace) Residual(ctx context.Context) (worst float64, err error) {
	err = w.do(stageFactored, func() error {
		if w.filled.program == nil {
			return device.ErrStage
		}
		if err := w.bind(w.filled.program, w.filled.theta); err != nil {
			return err
		}
		return w.gpu.local(func(local *memory) (err error) {
			worst, err = w.residual(ctx, local)
			return err
		})
	})
	return worst, err
}

func (w *Workspace) residual(ctx context.Context, local *memory) (float64, error) {
	m := min(residualColumns, w.n)
	var solution, product buffer
	for _, b := range []*buffer{&solution, &product} {
		if err := local.need(b, w.n*m); err != nil {
			return 0, err
		}
	}
	host := make([]float64, w.n*m)
	column := func(q int64) int64 { return q * (w.n - 1) / max(m-1, 1) }
	for q := range m {
		host[q*w.n+column(q)] = 1
	}
	if err := w.gpu.upload(solution.at, host); err != nil {
		return 0, err
	}
	if err := w.solve(solution.at, m); err != nil {
		return 0, err
	}
	const rows = 8192
	v, y := kernels.Matrix{A: solution.at, LD: w.n}, kernels.Matrix{A: product.at, LD: w.n}
	for i0 := int64(0); i0 < w.n; i0 += rows {
		i1 := min(i0+rows, w.n)
		if err := w.run(kernels.Multiply(w.program.value.Function, w.points, w.noiseOfFill(), i0, i1, v, m, y.At(i0, 0))); err != nil {
			return 0, err
		}
		if err := w.worked(ctx, 0); err != nil {
			return 0, err
		}
	}
	if err := w.gpu.download(host, product.at); err != nil {
		return 0, err
	}
	worst := 0.0
	for q := range m {
		host[q*w.n+column(q)]--
	}
	for _, r := range host {
		if math.IsNaN(r) {
			return r, nil
		}
		worst = max(worst, math.Abs(r))
	}
	return worst, nil
}

package cuda

import (
	"context"
	"errors"
	"math"

	"gpfit/device"
	"gpfit/device/cuda/driver"
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
	err = w.do(func() error {
		if w.stage < stageFactored || w.filled == nil {
			return device.ErrStage
		}
		if err := w.bind(w.filled, w.theta); err != nil {
			return err
		}
		local := &buffers{dev: w.b.dev}
		worst, err = w.residual(ctx, local)
		return errors.Join(err, local.free())
	})
	return worst, err
}

func (w *Workspace) residual(ctx context.Context, local *buffers) (float64, error) {
	m := min(residualColumns, w.n)
	v, err := local.alloc(w.n * m)
	if err != nil {
		return 0, err
	}
	y, err := local.alloc(w.n * m)
	if err != nil {
		return 0, err
	}
	host := make([]float64, w.n*m)
	column := func(q int64) int64 { return q * (w.n - 1) / max(m-1, 1) }
	for q := range m {
		host[q*w.n+column(q)] = 1
	}
	if err := errors.Join(driver.CopyToDevice(w.b.stream, v, host), w.solve(v, m)); err != nil {
		return 0, err
	}
	const rows = 8192
	at := func(p driver.Ptr) kernels.Matrix { return kernels.Matrix{A: p, LD: w.n} }
	for i0 := int64(0); i0 < w.n; i0 += rows {
		i1 := min(i0+rows, w.n)
		err := w.b.launch(kernels.Multiply(w.compiled, w.points, w.noise, i0, i1, at(v), m, at(y).At(i0, 0)))
		if err == nil {
			err = w.worked(ctx, 0)
		}
		if err != nil {
			return 0, err
		}
	}
	if err := driver.CopyToHost(w.b.stream, host, y); err != nil {
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

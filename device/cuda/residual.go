package cuda

import (
	"context"
	"math"
	"math/rand/v2"

	"gpfit/device"
	"gpfit/internal/cuda/kernels"
)

// residualColumns is the number of vectors, which is the number of columns that the
// kernel that regenerates Σ processes at a time.
const residualColumns = 4

// Residual implements [device.ResidualChecker]. It solves Σv = e for four vectors e and
// multiplies v by Σ, which it generates again from the points. This detects the wrong
// factors of large matrices that libraries have returned without an error. Two vectors
// are the first and the last column of the identity. The other two have random signs,
// so that an error anywhere in the factor shows; if the points are far apart, a column
// of the identity misses it.
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
		if err := local.need(b, leadingDim(w.n)*m); err != nil {
			return 0, err
		}
	}
	e, got := probes(w.n, m), make([]float64, w.n*m)
	v, y := w.columns(solution), w.columns(product)
	if err := w.gpu.uploadBlock(v, e, w.n, w.n, m); err != nil {
		return 0, err
	}
	if err := w.solve(v, m); err != nil {
		return 0, err
	}
	const rows = 8192
	for i0 := int64(0); i0 < w.n; i0 += rows {
		i1 := min(i0+rows, w.n)
		if err := w.run(kernels.Multiply(w.program.value.Function, w.points, w.noiseOfFill(), i0, i1, v, m, y.At(i0, 0))); err != nil {
			return 0, err
		}
		if err := w.worked(ctx, 0); err != nil {
			return 0, err
		}
	}
	if err := w.gpu.downloadBlock(got, w.n, y, w.n, m); err != nil {
		return 0, err
	}
	worst := 0.0
	for i, v := range got {
		r := math.Abs(v - e[i])
		if math.IsNaN(r) {
			return r, nil
		}
		worst = max(worst, r)
	}
	return worst, nil
}

// probes returns m vectors of n numbers: the first and the last column of the identity,
// then random signs, the same in every call.
func probes(n, m int64) []float64 {
	e := make([]float64, n*m)
	e[0] = 1
	if m > 1 {
		e[n+n-1] = 1
	}
	signs := rand.New(rand.NewPCG(1, 1))
	for i := 2 * n; i < n*m; i++ {
		e[i] = float64(2*signs.IntN(2) - 1)
	}
	return e
}

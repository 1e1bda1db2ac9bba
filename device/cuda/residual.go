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
	m := min(residualColumns, w.n)
	e, got := probes(w.n, m), make([]float64, w.n*m)
	err = w.do(ctx, stageFactored, func() {
		if w.filled.program == nil {
			w.fail(device.ErrStage)
			return
		}
		if w.bind(w.filled.program, w.filled.theta) {
			w.local(func(local *memory) { multiplySolution(w, local, e, m, got) })
		}
	})
	if err != nil {
		return 0, err
	}
	for i, v := range got {
		r := math.Abs(v - e[i])
		if math.IsNaN(r) {
			return r, nil
		}
		worst = max(worst, r)
	}
	return worst, nil
}

// multiplySolution writes Σ·Σ⁻¹e to got, both n×m.
func multiplySolution(w *Workspace, local *memory, e []float64, m int64, got []float64) {
	var solution, product buffer
	w.need(local, &solution, leadingDim(w.n)*m)
	w.need(local, &product, leadingDim(w.n)*m)
	v, y := w.columns(solution), w.columns(product)
	w.uploadBlock(v, e, w.n, w.n, m)
	solve(w, v, m)
	const rows = 8192
	for i0 := int64(0); i0 < w.n; i0 += rows {
		i1 := min(i0+rows, w.n)
		w.runProgram(kernels.Multiply(w.program.value.Function, w.points, w.noiseOfFill(), i0, i1, v, m, y.At(i0, 0)))
		w.worked(0)
	}
	w.downloadBlock(got, w.n, y, w.n, m)
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

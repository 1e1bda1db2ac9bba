package cpu

import (
	"context"

	"gpfit/device"
	"gpfit/kernel"
	"gpfit/kernel/vec"
)

// manyVectors is the number of vectors from which rows of derivatives, once formed, are
// multiplied by all vectors. With fewer, sums without these rows are faster.
const manyVectors = 4

// MultiplyDerivatives implements [device.DerivativeProducts].
func (w *workspace) MultiplyDerivatives(ctx context.Context, prog *kernel.Program, theta, vectors []float64, m int, dst []float64) (err error) {
	defer emptyIfStopped(&w.stage, &err)
	if err := w.ready(stageEmpty, device.CheckProducts(prog, w.n, vectors, m, dst)); err != nil {
		return err
	}
	evaluators, err := w.bind(prog, theta)
	if err != nil {
		return err
	}
	params := prog.NumParams
	row := func(e *kernel.Evaluator, sums, rows []float64, i, j0, j1 int) {
		for k := range m {
			e.RowGradient(sums[k*params:(k+1)*params], vectors[k*w.n+j0:k*w.n+j1], w.x, i, w.x, j0, j1)
		}
	}
	space := 0
	if m >= manyVectors {
		space = params * tileCols
		row = func(e *kernel.Evaluator, sums, rows []float64, i, j0, j1 int) {
			e.RowDerivatives(rows, w.x, i, w.x, j0, j1)
			for k := range m {
				v := vectors[k*w.n+j0 : k*w.n+j1]
				for p := range params {
					sums[k*params+p] += vec.Dot(v, rows[p*(j1-j0):])
				}
			}
		}
	}
	size := params*m + space
	scratch := make([]float64, w.engines.all.Threads()*size)
	return w.parallelFor(ctx, bands(w.n), func(worker, band int) {
		own := scratch[worker*size:][:size]
		sums, rows := own[:params*m], own[params*m:]
		for i := band * tileRows; i < min((band+1)*tileRows, w.n); i++ {
			clear(sums)
			for j0 := 0; j0 < w.n; j0 += tileCols {
				row(evaluators[worker], sums, rows, i, j0, min(j0+tileCols, w.n))
			}
			for k := range m {
				for p := range params {
					dst[(p*m+k)*w.n+i] = sums[k*params+p]
				}
			}
		}
	})
}

// Whiten implements [device.DerivativeProducts].
func (w *workspace) Whiten(ctx context.Context, b []float64, m int, transposed bool) (err error) {
	defer emptyIfStopped(&w.stage, &err)
	if err := w.ready(stageFactored, device.CheckColumns(b, w.n, m)); err != nil {
		return err
	}
	return w.matrix.SolveTriangle(ctx, b, m, transposed)
}

package cpu

import (
	"context"
	"errors"
	"fmt"

	"gpfit/device"
	"gpfit/internal/vec"
	"gpfit/kernel"
)

// manyVectors is the number of vectors from which rows of derivatives, once formed, are
// multiplied by all vectors. With fewer, sums without these rows are faster.
const manyVectors = 4

// MultiplyDerivatives implements [device.DerivativeProducts].
func (w *workspace) MultiplyDerivatives(ctx context.Context, prog *kernel.Program, theta, vectors []float64, m int, dst []float64) (err error) {
	defer emptyIfStopped(&w.stage, &err)
	if err := device.CheckProducts(prog, w.n, vectors, m, dst); err != nil {
		return fmt.Errorf("cpu: %w", err)
	}
	if w.matrix == nil {
		return device.ErrStage
	}
	evaluators, err := w.bind(prog, theta)
	if err != nil {
		return err
	}
	return multiplyDerivatives(w.x, prog, evaluators, vectors, m, dst, func(tasks int, f func(worker, task int)) error {
		return w.parallelFor(ctx, tasks, f)
	})
}

// MultiplyDerivatives implements [device.DerivativeMultiplier].
func (dev *Device) MultiplyDerivatives(ctx context.Context, x *kernel.Points, prog *kernel.Program, theta, vectors []float64, m int, dst []float64) error {
	if err := errors.Join(device.CheckProducts(prog, x.N, vectors, m, dst), prog.CheckTheta(theta)); err != nil {
		return fmt.Errorf("cpu: %w", err)
	}
	if prog.D != x.D {
		return fmt.Errorf("cpu: kernel for %d columns on points with %d columns", prog.D, x.D)
	}
	engine := dev.engines.all
	evaluators := make([]*kernel.Evaluator, engine.Threads())
	for i := range evaluators {
		evaluators[i] = kernel.NewEvaluator(prog)
		evaluators[i].Bind(theta)
	}
	return multiplyDerivatives(x, prog, evaluators, vectors, m, dst, func(tasks int, f func(worker, task int)) error {
		return engine.For(ctx, engine.Threads(), tasks, f)
	})
}

// multiplyDerivatives computes the products of derivatives at the parameters of the evaluators, one for each worker of the
// loop parallel.
func multiplyDerivatives(x *kernel.Points, prog *kernel.Program, evaluators []*kernel.Evaluator, vectors []float64, m int, dst []float64, parallel func(tasks int, f func(worker, task int)) error) error {
	n, params := x.N, prog.NumParams
	row := func(e *kernel.Evaluator, sums, rows []float64, i, j0, j1 int) {
		for k := range m {
			e.RowGradient(sums[k*params:(k+1)*params], vectors[k*n+j0:k*n+j1], x, i, x, j0, j1)
		}
	}
	space := 0
	if m >= manyVectors {
		space = params * tileCols
		row = func(e *kernel.Evaluator, sums, rows []float64, i, j0, j1 int) {
			e.RowDerivatives(rows, x, i, x, j0, j1)
			for k := range m {
				v := vectors[k*n+j0 : k*n+j1]
				for p := range params {
					sums[k*params+p] += vec.Dot(v, rows[p*(j1-j0):])
				}
			}
		}
	}
	size := params*m + space
	scratch := make([]float64, len(evaluators)*size)
	return parallel(bands(n), func(worker, band int) {
		own := scratch[worker*size:][:size]
		sums, rows := own[:params*m], own[params*m:]
		for i := band * tileRows; i < min((band+1)*tileRows, n); i++ {
			clear(sums)
			for j0 := 0; j0 < n; j0 += tileCols {
				row(evaluators[worker], sums, rows, i, j0, min(j0+tileCols, n))
			}
			for k := range m {
				for p := range params {
					dst[(p*m+k)*n+i] = sums[k*params+p]
				}
			}
		}
	})
}

// Whiten implements [device.DerivativeProducts].
func (w *workspace) Whiten(ctx context.Context, b []float64, m int, transposed bool) (err error) {
	defer emptyIfStopped(&w.stage, &err)
	if w.stage < stageFactored {
		return device.ErrStage
	}
	if len(b) != w.n*m {
		return fmt.Errorf("cpu: right-hand side of %d elements for %d×%d", len(b), w.n, m)
	}
	return w.matrix.SolveTriangle(ctx, b, m, transposed)
}

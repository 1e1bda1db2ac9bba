package gp

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"

	"gpfit/kernel"
)

// MeanGradient returns the derivatives of the posterior mean by the features at
// m rows, m×len(FeatureNames) row-major, in units of the target over units of
// the feature; 0 for features that are not in use. From the mean's formula,
//
//	∂/∂x* (m(x*) + k*ᵀα) = ∂m/∂x* + Σ_i α_i ∂k(x*, x_i)/∂x*
//
// evaluated on the host, O(nd) a row. Where the kernel has a kink (matern12 at a
// training point) it is the mean of both sides. Errors: [*kernel.CompileError]
// if a kernel of the user's own has no such derivative.
func (p *Posterior) MeanGradient(ctx context.Context, rows []float64, m int) ([]float64, error) {
	mod := p.model
	all, d := len(mod.FeatureNames), len(mod.Columns)
	scaled, err := mod.scaledRows(rows, m)
	if err != nil {
		return nil, err
	}
	if err := p.prog.CheckInputGradient(); err != nil {
		return nil, err
	}
	grad := make([]float64, m*d)
	if err := p.kernelGradient(ctx, kernel.NewPoints(scaled, m, d), grad); err != nil {
		return nil, err
	}
	mod.meanSlopes(scaled, grad)
	out := make([]float64, m*all)
	for i := range m {
		for q, c := range mod.Columns {
			out[i*all+c] = grad[i*d+q] * mod.Scaling.YScale / mod.Scaling.XScale[q]
		}
	}
	return out, nil
}

// rowPiece is the length of the rows that an evaluator sees, so that its scratch
// stays in the first-level cache.
const rowPiece = 512

// kernelGradient adds Σ_i α_i ∂k(x*, x_i)/∂x* for every point of xs to its row
// of grad.
func (p *Posterior) kernelGradient(ctx context.Context, xs *kernel.Points, grad []float64) error {
	mod := p.model
	n, d, x := mod.N(), xs.D, mod.points()
	return eachRow(ctx, xs.N, p.prog, mod.Theta, func(e *kernel.Evaluator, i int) {
		for j := 0; j < n; j += rowPiece {
			end := min(j+rowPiece, n)
			e.RowInputGradient(grad[i*d:(i+1)*d], mod.Alpha[j:end], xs, i, x, j, end)
		}
	})
}

// eachRow calls f for every row in parallel, with an evaluator of the kernel. A
// row is one goroutine's: results do not depend on their number.
func eachRow(ctx context.Context, rows int, prog *kernel.Program, theta []float64, f func(e *kernel.Evaluator, i int)) error {
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), rows) {
		group.Go(func() {
			e := kernel.NewEvaluator(prog)
			e.Bind(theta)
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= rows {
					return
				}
				f(e, i)
			}
		})
	}
	group.Wait()
	return ctx.Err()
}

// points returns the scaled training inputs.
func (m *Model) points() *kernel.Points {
	return kernel.NewPoints(m.Scaling.Inputs(m.X), m.N(), len(m.Columns))
}

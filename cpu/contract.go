package cpu

import (
	"context"
	"fmt"

	"gpfit/device"
	"gpfit/internal/vec"
	"gpfit/kernel"
)

// Contract makes the upper triangle hold Σ⁻¹, if it does not yet, and contracts
// it with ∂K. L stays below it; the diagonal is L's again in the end.
func (w *Workspace) Contract(ctx context.Context, adj device.Adjoint, prog *kernel.Program, theta, grad, diag []float64) error {
	if w.stage < stageFactored {
		return device.ErrStage
	}
	if len(adj.Alpha) != w.n || len(diag) != w.n || len(grad) != prog.NumParams {
		return fmt.Errorf("cpu: contraction with %d weights, %d diagonal elements and %d parameters for n = %d, %d parameters",
			len(adj.Alpha), len(diag), len(grad), w.n, prog.NumParams)
	}
	evaluators, err := w.bind(prog, theta)
	if err != nil {
		return err
	}
	if err := w.invert(ctx); err != nil {
		return err
	}
	return w.contract(ctx, evaluators, adj, grad, diag)
}

// contract adds ⟨G, ∂K/∂log θ⟩ over the upper triangle to grad, elements off the
// diagonal counted twice, and writes G_ii to diag. Every task has its own
// partial sums, added in order: the result does not depend on scheduling.
func (w *Workspace) contract(ctx context.Context, evaluators []*kernel.Evaluator, adj device.Adjoint, grad, diag []float64) error {
	p := len(grad)
	tasks := (w.n + tileRows - 1) / tileRows
	sums := make([]float64, tasks*p)
	err := parallelFor(ctx, w.threadsFor(w.n), tasks, func(worker, task int) {
		part := sums[task*p : (task+1)*p]
		var g [tileCols]float64
		for i := task * tileRows; i < min((task+1)*tileRows, w.n); i++ {
			row := w.a[i*w.ld:]
			for j := i; j < w.n; j += tileCols {
				m := min(tileCols, w.n-j)
				vec.Combine(g[:m], row[j:j+m], adj.Alpha[j:j+m], 2*adj.Inv, -2*adj.Outer*adj.Alpha[i])
				if j == i {
					g[0] = adj.Inv*w.inverseDiag[i] - adj.Outer*adj.Alpha[i]*adj.Alpha[i]
					diag[i] = g[0]
				}
				evaluators[worker].RowGradient(part, g[:m], w.x, i, w.x, j, j+m)
			}
		}
	})
	if err != nil {
		return err
	}
	for t := range tasks {
		for q, v := range sums[t*p : (t+1)*p] {
			grad[q] += v
		}
	}
	return nil
}

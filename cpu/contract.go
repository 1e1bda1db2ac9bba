package cpu

import (
	"context"
	"fmt"

	"gonum.org/v1/gonum/blas"

	"gpfit/device"
	"gpfit/kernel"
)

// contractRows returns the height of the panels of Σ⁻¹. Higher panels make
// faster products; they also reach further over the diagonal, which matters for
// small n, and cost 8·height·n bytes.
func contractRows(n int) int {
	switch {
	case n <= 512:
		return min(n, 64)
	case n <= 1024:
		return 128
	}
	return 256
}

// Contract inverts the factor into the upper triangle if that is not done yet,
// forms Σ⁻¹ = U·Uᵀ in panels of rows and contracts each with ∂K at once.
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
	diagL := w.diagonal()
	defer w.setDiagonal(diagL)
	if w.stage == stageFactored {
		w.begin("gradient", cube(w.n)/3+panelFlops(w.n))
		if err := w.invert(ctx, diagL); err != nil {
			w.stage = stageEmpty
			return err
		}
		w.stage = stageInverted
	} else {
		w.begin("gradient", panelFlops(w.n))
		for i, v := range diagL {
			w.a[i*w.ld+i] = 1 / v
		}
	}
	height := contractRows(w.n)
	if w.panel == nil {
		w.panel, w.corner = make([]float64, height*w.n), make([]float64, height*height)
	}
	for i0 := 0; i0 < w.n; i0 += height {
		i1 := min(i0+height, w.n)
		if err := w.inversePanel(ctx, i0, i1); err != nil {
			return err
		}
		if err := w.contractPanel(ctx, evaluators, adj, grad, diag, i0, i1); err != nil {
			return err
		}
	}
	return nil
}

// panelFlops is the work of all panels: n³/3, and O(height·n²) because
// panels reach over the diagonal.
func panelFlops(n int) float64 {
	sum, height := 0.0, contractRows(n)
	for i0 := 0; i0 < n; i0 += height {
		i1 := min(i0+height, n)
		rows := float64(i1 - i0)
		sum += 2*rows*rows*float64(i0) + rows*rows*rows + 2*rows*float64(i1)*float64(n-i1)
	}
	return sum
}

// inversePanel forms rows i0 … i1−1 of Σ⁻¹, columns 0 … i1−1, in w.panel with
// leading dimension i1; what is above the diagonal is not used. Row i of U begins at its diagonal, so that
//
//	Σ⁻¹[I, 0:i1] = U[I, I]·U[0:i1, I]ᵀ + U[I, i1:]·U[0:i1, i1:]ᵀ.
func (w *Workspace) inversePanel(ctx context.Context, i0, i1 int) error {
	rows, ld := i1-i0, i1
	// The block U[I, I], zeros for the part of L below its diagonal.
	for r := range rows {
		row := w.corner[r*rows : (r+1)*rows]
		clear(row[:r])
		copy(row[r:], w.at(i0+r, i0+r)[:rows-r])
	}
	err := w.gemm(ctx, blas.NoTrans, blas.Trans, rows, i0, rows, 1, w.corner, rows, w.at(0, i0), w.ld, 0, w.panel, ld)
	if err != nil {
		return err
	}
	w.backend.blas.Dsyrk(blas.Lower, blas.NoTrans, rows, rows, 1, w.corner, rows, 0, w.panel[i0:], ld)
	if err := w.worked(ctx, cube(rows)); err != nil || i1 == w.n {
		return err
	}
	k := w.n - i1
	return w.gemm(ctx, blas.NoTrans, blas.Trans, rows, i1, k, 1, w.at(i0, i1), w.ld, w.at(0, i1), w.ld, 1, w.panel, ld)
}

// contractPanel adds ⟨G, ∂K/∂log θ⟩ over rows i0 … i1−1 of the lower triangle
// to grad, elements off the diagonal counted twice, and writes G_ii to diag.
// Every task has its own partial sums, added in order: the result does not
// depend on scheduling.
func (w *Workspace) contractPanel(ctx context.Context, evaluators []*kernel.Evaluator, adj device.Adjoint, grad, diag []float64, i0, i1 int) error {
	ld, p := i1, len(grad)
	tasks := (i1 - i0 + tileRows - 1) / tileRows
	sums := make([]float64, tasks*p)
	err := parallelFor(ctx, w.threadsFor(w.n), tasks, func(worker, task int) {
		part := sums[task*p : (task+1)*p]
		for i := i0 + task*tileRows; i < min(i0+(task+1)*tileRows, i1); i++ {
			g := w.panel[(i-i0)*ld : (i-i0)*ld+i+1]
			ai := adj.Outer * adj.Alpha[i]
			for j := range g {
				g[j] = 2 * (adj.Inv*g[j] - ai*adj.Alpha[j])
			}
			g[i] /= 2
			diag[i] = g[i]
			for j := 0; j <= i; j += tileCols {
				j1 := min(j+tileCols, i+1)
				evaluators[worker].RowGradient(part, g[j:j1], w.x, i, w.x, j, j1)
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

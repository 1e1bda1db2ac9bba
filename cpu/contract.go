package cpu

import (
	"context"
	"fmt"

	"gonum.org/v1/gonum/blas"

	"gpfit/device"
	"gpfit/internal/vec"
	"gpfit/kernel"
)

const (
	// wholeElements is the size up to which Σ⁻¹ is formed as a whole in a
	// second buffer (16 MiB, n ≤ 1448), which is faster than panels there.
	wholeElements = 2 << 20
	// panelRows is the height of the panels of Σ⁻¹ beyond that: high enough
	// for products at full speed, and 8·panelRows·n bytes.
	panelRows = 256
)

func formsWhole(n int) bool { return n*n <= wholeElements }

// Contract forms Σ⁻¹, as a whole if it is small, else in panels, and contracts
// it with ∂K at once.
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
	c := contraction{w: w, evaluators: evaluators, adj: adj, grad: grad, diag: diag}
	if formsWhole(w.n) {
		return c.whole(ctx)
	}
	return c.panels(ctx)
}

// contraction is one call of Contract.
type contraction struct {
	w          *Workspace
	evaluators []*kernel.Evaluator
	adj        device.Adjoint
	grad, diag []float64
}

// whole inverts a copy of the factor.
func (c *contraction) whole(ctx context.Context) error {
	w := c.w
	w.begin("gradient", 2*cube(w.n)/3)
	if w.panel == nil {
		w.panel = make([]float64, w.n*w.ld)
	}
	for i := range w.n {
		copy(w.panel[i*w.ld:], w.at(i, 0)[:i+1])
	}
	if err := w.worked(ctx, 0); err != nil {
		return err
	}
	w.backend.blas.Dpotri(blas.Lower, w.n, w.panel, w.ld)
	if err := w.worked(ctx, 2*cube(w.n)/3); err != nil {
		return err
	}
	return c.add(ctx, w.ld, 0, w.n)
}

// panels inverts the factor into the strict upper triangle, if that is not done
// yet, and forms Σ⁻¹ = U·Uᵀ in panels of rows.
func (c *contraction) panels(ctx context.Context) error {
	w := c.w
	diagL := w.diagonal()
	defer w.setDiagonal(diagL)
	if w.stage == stageFactored {
		w.begin("gradient", 2*cube(w.n)/3)
		if err := w.invert(ctx, diagL); err != nil {
			w.stage = stageEmpty
			return err
		}
		w.stage = stageInverted
	} else {
		w.begin("gradient", cube(w.n)/3)
		for i, v := range diagL {
			w.a[i*w.ld+i] = 1 / v
		}
	}
	if w.panel == nil {
		w.panel, w.corner = make([]float64, panelRows*w.ld), make([]float64, panelRows*panelRows)
	}
	for i0 := 0; i0 < w.n; i0 += panelRows {
		i1 := min(i0+panelRows, w.n)
		if err := w.inversePanel(ctx, i0, i1); err != nil {
			return err
		}
		if err := c.add(ctx, w.ld, i0, i1); err != nil {
			return err
		}
	}
	return nil
}

// inversePanel forms rows i0 … i1−1 of Σ⁻¹ up to the diagonal in w.panel. Row i
// of U begins at its diagonal, so that with J the columns before i0
//
//	Σ⁻¹[I, J] = U[I, I]·U[J, I]ᵀ + U[I, i1:]·U[J, i1:]ᵀ
//	Σ⁻¹[I, I] = U[I, I]·U[I, I]ᵀ + U[I, i1:]·U[I, i1:]ᵀ.
func (w *Workspace) inversePanel(ctx context.Context, i0, i1 int) error {
	rows, k, ld := i1-i0, w.n-i1, w.ld
	// U[I, I] with zeros for the part of L below its diagonal.
	for r := range rows {
		row := w.corner[r*rows : (r+1)*rows]
		clear(row[:r])
		copy(row[r:], w.at(i0+r, i0+r)[:rows-r])
	}
	corner := w.panel[i0:]
	w.backend.blas.Dsyrk(blas.Lower, blas.NoTrans, rows, rows, 1, w.corner, rows, 0, corner, ld)
	if k > 0 {
		w.backend.blas.Dsyrk(blas.Lower, blas.NoTrans, rows, k, 1, w.at(i0, i1), w.ld, 1, corner, ld)
	}
	if err := w.worked(ctx, float64(rows)*float64(rows)*float64(rows+k)); err != nil || i0 == 0 {
		return err
	}
	if err := w.transposeColumns(ctx, i0, rows); err != nil {
		return err
	}
	w.backend.blas.Dtrmm(blas.Left, blas.Upper, blas.NoTrans, blas.NonUnit, rows, i0, 1, w.at(i0, i0), w.ld, w.panel, ld)
	if err := w.worked(ctx, float64(rows)*float64(rows)*float64(i0)); err != nil || k == 0 {
		return err
	}
	return w.gemm(ctx, blas.Trans, rows, i0, k, 1, w.at(i0, i1), w.ld, w.at(0, i1), w.ld, 1, w.panel, ld)
}

// transposeColumns copies U[0:i0, i0:i0+rows]ᵀ to the panel.
func (w *Workspace) transposeColumns(ctx context.Context, i0, rows int) error {
	return w.tiles(ctx, i0, func(j0, j1 int) {
		for r0 := 0; r0 < rows; r0 += transposeTile {
			for r := r0; r < min(r0+transposeTile, rows); r++ {
				out := w.panel[r*w.ld:]
				for j := j0; j < j1; j++ {
					out[j] = w.a[j*w.ld+i0+r]
				}
			}
		}
	})
}

// add adds ⟨G, ∂K/∂log θ⟩ over rows i0 … i1−1 of the lower triangle, which the
// panel holds, to grad, elements off the diagonal counted twice, and writes
// G_ii to diag. Every task has its own partial sums, added in order: the result
// does not depend on scheduling.
func (c *contraction) add(ctx context.Context, ld, i0, i1 int) error {
	w, p := c.w, len(c.grad)
	tasks := (i1 - i0 + tileRows - 1) / tileRows
	sums := make([]float64, tasks*p)
	err := parallelFor(ctx, w.threadsFor(w.n), tasks, func(worker, task int) {
		task = tasks - 1 - task // long rows first
		part := sums[task*p : (task+1)*p]
		for i := i0 + task*tileRows; i < min(i0+(task+1)*tileRows, i1); i++ {
			g := w.panel[(i-i0)*ld : (i-i0)*ld+i+1]
			vec.Combine(g, g, c.adj.Alpha[:len(g)], 2*c.adj.Inv, -2*c.adj.Outer*c.adj.Alpha[i])
			g[i] /= 2
			c.diag[i] = g[i]
			for j := 0; j <= i; j += tileCols {
				j1 := min(j+tileCols, i+1)
				c.evaluators[worker].RowGradient(part, g[j:j1], w.x, i, w.x, j, j1)
			}
		}
	})
	if err != nil {
		return err
	}
	for t := range tasks {
		for q, v := range sums[t*p : (t+1)*p] {
			c.grad[q] += v
		}
	}
	return nil
}

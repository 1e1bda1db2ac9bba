package cuda

import (
	"context"

	"gpfit/device"
	"gpfit/device/cuda/driver"
	"gpfit/device/cuda/kernels"
	"gpfit/kernel"
)

// panelWidth is the number of columns of Σ⁻¹ formed at a time: wide enough for
// products at full speed, and at most a few per cent of the matrix.
func panelWidth(n int64) int64 {
	switch {
	case n <= 4096:
		return min(n, 128)
	case n <= 32768:
		return 512
	}
	return 1024
}

func (b *Backend) panelWidth(n int64) int64 {
	if b.sizes.panel > 0 {
		return min(n, b.sizes.panel)
	}
	return panelWidth(n)
}

// Contract inverts the factor into the strict upper triangle, if that is not
// done yet, forms Σ⁻¹ = U·Uᵀ in panels of columns, and contracts each with ∂K at
// once.
func (w *Workspace) Contract(ctx context.Context, adj device.Adjoint, prog *kernel.Program, theta, grad, diag []float64) error {
	return w.do(func() error {
		if w.stage < stageFactored {
			return device.ErrStage
		}
		if int64(len(adj.Alpha)) != w.n || int64(len(diag)) != w.n || len(grad) != prog.NumParams {
			return argumentf("contraction with %d weights, %d diagonal elements and %d parameters for n = %d, %d parameters",
				len(adj.Alpha), len(diag), len(grad), w.n, prog.NumParams)
		}
		if err := w.bind(prog, theta); err != nil {
			return err
		}
		if err := w.prepareContract(adj); err != nil {
			return err
		}
		if err := w.invert(ctx); err != nil {
			return err
		}
		if err := w.contractPanels(ctx, adj); err != nil {
			return err
		}
		return w.collect(grad, diag)
	})
}

func (w *Workspace) prepareContract(adj device.Adjoint) error {
	if w.panel == 0 {
		panel, err := w.main.alloc(w.n * w.b.panelWidth(w.n))
		if err != nil {
			return err
		}
		w.panel = panel
	}
	if err := w.b.stream.Memset(w.grad, 0, 8*int64(w.program.NumParams)); err != nil {
		return err
	}
	return driver.CopyToDevice(w.b.stream, w.alpha, adj.Alpha)
}

// invert makes the matrix hold U = L⁻ᵀ on and above the diagonal; L's diagonal
// is kept in ldia and put back by collect.
func (w *Workspace) invert(ctx context.Context) error {
	if w.stage == stageInverted {
		w.begin("gradient", panelFlops(w.n, w.b.panelWidth(w.n)))
		return w.b.launch(kernels.SetDiagonal(w.matrix, w.diagonalL(), true))
	}
	w.begin("gradient", cube(w.n)/3+panelFlops(w.n, w.b.panelWidth(w.n)))
	if err := w.b.launch(kernels.GetDiagonal(w.matrix, w.diagonalL(), false)); err != nil {
		return err
	}
	if err := w.b.launch(kernels.Mirror(w.matrix, w.n)); err != nil {
		return err
	}
	if err := w.invertUpper(ctx, 0, w.n); err != nil {
		return err
	}
	w.stage = stageInverted
	return nil
}

func (w *Workspace) diagonalL() kernels.Vector { return kernels.Vector{A: kernels.Ptr(w.ldia), N: w.n} }

// invertUpper inverts the upper triangle Lᵀ of the n×n diagonal block at o in
// place. With the blocks of Lᵀ and of its inverse U,
//
//	U₁₂ = −U₁₁ (Lᵀ)₁₂ U₂₂
//
// (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., §14.2).
func (w *Workspace) invertUpper(ctx context.Context, o, n int64) error {
	if n <= w.b.sizes.invert {
		if err := w.b.math.trtri(n, w.at(o, o)); err != nil {
			return err
		}
		return w.worked(ctx, cube(n)/3)
	}
	n1 := half(n)
	n2 := n - n1
	if err := w.invertUpper(ctx, o, n1); err != nil {
		return err
	}
	if err := w.invertUpper(ctx, o+n1, n2); err != nil {
		return err
	}
	if err := w.multiplyLeft(ctx, o, n1, w.at(o, o+n1), n2); err != nil {
		return err
	}
	return w.multiplyRight(ctx, o+n1, n2, w.at(o, o+n1), n1)
}

// half splits n at a multiple of 32.
func half(n int64) int64 { return (n/2 + 31) &^ 31 }

// multiplyLeft overwrites the k×m block b by −U·b, for the k×k diagonal block
// of U at o.
func (w *Workspace) multiplyLeft(ctx context.Context, o, k int64, b kernels.Matrix, m int64) error {
	if k <= w.b.sizes.invert {
		if err := w.b.math.trmm(left, plain, k, m, -1, w.at(o, o), b); err != nil {
			return err
		}
		return w.worked(ctx, float64(m)*float64(k)*float64(k))
	}
	k1 := half(k)
	b2 := b.At(k1, 0)
	if err := w.multiplyLeft(ctx, o, k1, b, m); err != nil {
		return err
	}
	if err := w.gemm(ctx, plain, k1, m, k-k1, -1, w.at(o, o+k1), b2, 1, b); err != nil {
		return err
	}
	return w.multiplyLeft(ctx, o+k1, k-k1, b2, m)
}

// multiplyRight overwrites the m×k block b by b·U.
func (w *Workspace) multiplyRight(ctx context.Context, o, k int64, b kernels.Matrix, m int64) error {
	if k <= w.b.sizes.invert {
		if err := w.b.math.trmm(right, plain, m, k, 1, w.at(o, o), b); err != nil {
			return err
		}
		return w.worked(ctx, float64(m)*float64(k)*float64(k))
	}
	k1 := half(k)
	b2 := b.At(0, k1)
	if err := w.multiplyRight(ctx, o+k1, k-k1, b2, m); err != nil {
		return err
	}
	if err := w.gemm(ctx, plain, m, k-k1, k1, 1, b, w.at(o, o+k1), 1, b2); err != nil {
		return err
	}
	return w.multiplyRight(ctx, o, k1, b, m)
}

// contractPanels forms columns J = j0 … j1−1 of Σ⁻¹ down to the diagonal and
// contracts them. Row i of U begins at its diagonal, so that
//
//	Σ⁻¹[0:j1, J] = U[0:j1, J]·U[J, J]ᵀ + U[0:j1, j1:]·U[J, j1:]ᵀ.
func (w *Workspace) contractPanels(ctx context.Context, adj device.Adjoint) error {
	width := w.b.panelWidth(w.n)
	panel := kernels.Matrix{A: kernels.Ptr(w.panel), LD: w.n}
	for j0 := int64(0); j0 < w.n; j0 += width {
		j1 := min(j0+width, w.n)
		cols := j1 - j0
		// U[0:j1, J] with zeros for the part of L below its diagonal.
		if err := w.b.launch(kernels.Copy(w.at(0, j0), panel, j0, cols, kernels.Whole)); err != nil {
			return err
		}
		if err := w.b.launch(kernels.Copy(w.at(j0, j0), panel.At(j0, 0), cols, cols, kernels.Upper)); err != nil {
			return err
		}
		if err := w.b.math.trmm(right, transposed, j1, cols, 1, w.at(j0, j0), panel); err != nil {
			return err
		}
		if err := w.worked(ctx, float64(j1)*float64(cols)*float64(cols)); err != nil {
			return err
		}
		if k := w.n - j1; k > 0 {
			if err := w.gemm(ctx, transposed, j1, cols, k, 1, w.at(0, j1), w.at(j0, j1), 1, panel); err != nil {
				return err
			}
		}
		launches := kernels.Contract(w.compiled, w.points, panel, j0, j1, kernels.Ptr(w.alpha), adj.Inv, adj.Outer,
			kernels.Ptr(w.diag), kernels.Ptr(w.grad), w.work)
		if err := w.b.launchAll(launches); err != nil {
			return err
		}
	}
	return nil
}

// panelFlops is the work of all panels: n³/3, and O(width·n²) because a panel
// reaches over the diagonal.
func panelFlops(n, width int64) float64 {
	sum := 0.0
	for j0 := int64(0); j0 < n; j0 += width {
		j1 := min(j0+width, n)
		cols := float64(j1 - j0)
		sum += float64(j1)*cols*cols + 2*float64(j1)*cols*float64(n-j1)
	}
	return sum
}

// collect restores L's diagonal and brings the results to the host; the
// gradient is added.
func (w *Workspace) collect(grad, diag []float64) error {
	if err := w.b.launch(kernels.SetDiagonal(w.matrix, w.diagonalL(), false)); err != nil {
		return err
	}
	sum := make([]float64, len(grad))
	if err := driver.CopyToHost(w.b.stream, sum, w.grad); err != nil {
		return err
	}
	for i, v := range sum {
		grad[i] += v
	}
	return driver.CopyToHost(w.b.stream, diag, w.diag)
}

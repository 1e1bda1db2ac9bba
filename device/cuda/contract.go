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

// Contract makes the upper triangle hold Σ⁻¹, if it does not yet, and contracts
// it with ∂K.
func (w *Workspace) Contract(ctx context.Context, adj device.Adjoint, prog *kernel.Program, theta, grad, diag []float64) error {
	return w.do(func() error {
		if w.stage < stageFactored {
			return device.ErrStage
		}
		if err := adj.CheckSizes(int(w.n), diag, grad, prog); err != nil {
			return &argumentError{err.Error()}
		}
		if err := w.bind(prog, theta); err != nil {
			return err
		}
		on, err := w.prepareContract(adj)
		if err != nil {
			return err
		}
		contract, more := w.contract, 0.0
		if adj.Middle != nil {
			contract, more = w.contractMiddle, middleFlops(w.n, w.b.panelWidth(w.n))
			if err := w.prepareMiddle(adj.Middle); err != nil {
				return err
			}
		}
		if err := w.invert(ctx, more); err != nil {
			return err
		}
		if err := w.b.launch(kernels.SetDiagonal(w.matrix, w.diagonalInverse(), false)); err != nil {
			return err
		}
		if err := contract(ctx, on); err != nil {
			return err
		}
		if err := w.restoreDiagonal(); err != nil {
			return err
		}
		return w.collect(grad, diag)
	})
}

// InverseDiagonal copies the diagonal of Σ⁻¹, which it forms if it is not there.
func (w *Workspace) InverseDiagonal(ctx context.Context, dst []float64) error {
	return w.do(func() error {
		if w.stage < stageFactored {
			return device.ErrStage
		}
		if int64(len(dst)) != w.n {
			return argumentf("diagonal of %d elements for n = %d", len(dst), w.n)
		}
		if err := w.prepareInverse(); err != nil {
			return err
		}
		if err := w.invert(ctx, 0); err != nil {
			return err
		}
		return driver.CopyToHost(w.b.stream, dst, w.kappa)
	})
}

// prepareInverse allocates the block that diagonal blocks of Σ⁻¹ are formed in.
func (w *Workspace) prepareInverse() (err error) {
	if w.square == 0 {
		width := w.b.panelWidth(w.n)
		w.square, err = w.main.alloc(width * width)
	}
	return err
}

// prepareContract puts the vectors of adj on the device.
func (w *Workspace) prepareContract(adj device.Adjoint) (on kernels.Adjoint, err error) {
	if err := w.prepareInverse(); err != nil {
		return on, err
	}
	count := int64(len(adj.Outer))
	if w.vectorCount < count {
		if err := w.vectors.free(); err != nil {
			return on, err
		}
		w.vectors, w.vectorCount = &buffers{dev: w.b.dev}, 0
		if w.vector, err = w.vectors.alloc((w.n + 1) * count); err != nil {
			return on, err
		}
		w.vectorCount = count
	}
	outer := w.vector.Offset(8 * w.n * count)
	on = kernels.Adjoint{Inv: adj.Inv, Vectors: w.vector, Outer: outer, Count: count}
	if err := w.b.stream.Memset(w.grad, 0, 8*int64(w.program.NumParams)); err != nil {
		return on, err
	}
	if err := driver.CopyToDevice(w.b.stream, w.vector, adj.Vectors); err != nil {
		return on, err
	}
	return on, driver.CopyToDevice(w.b.stream, outer, adj.Outer)
}

// contract contracts an adjoint without a middle term. The diagonal of the matrix is
// that of Σ⁻¹.
func (w *Workspace) contract(ctx context.Context, on kernels.Adjoint) error {
	for j0 := int64(0); j0 < w.n; j0 += w.b.sizes.fill {
		on.Inverse = w.at(0, j0)
		if err := w.contractColumns(ctx, on, j0, min(j0+w.b.sizes.fill, w.n)); err != nil {
			return err
		}
	}
	return nil
}

func (w *Workspace) contractColumns(ctx context.Context, on kernels.Adjoint, j0, j1 int64) error {
	if err := w.b.launchAll(kernels.Contract(w.compiled, w.points, on, j0, j1, w.diag, w.grad, w.work)); err != nil {
		return err
	}
	return ctx.Err()
}

// invert makes the strict upper triangle hold that of Σ⁻¹ = U·Uᵀ, U = L⁻ᵀ, and
// kappa its diagonal, unless they do already. Meanwhile the diagonal of the matrix
// is U's and then that of Σ⁻¹; in the end it is L's again. more is the number of
// operations that follow it in the same call.
func (w *Workspace) invert(ctx context.Context, more float64) error {
	if w.stage == stageInverted {
		w.begin("gradient", more)
		return ctx.Err()
	}
	w.begin("gradient", cube(w.n)/3+panelFlops(w.n, w.b.panelWidth(w.n))+more)
	if err := w.b.launch(kernels.GetDiagonal(w.matrix, w.diagonalL(), false)); err != nil {
		return err
	}
	if err := w.b.launch(kernels.Mirror(w.matrix, w.n)); err != nil {
		return err
	}
	if err := w.invertUpper(ctx, 0, w.n); err != nil {
		return err
	}
	if err := w.squareUpper(ctx); err != nil {
		return err
	}
	if err := w.b.launch(kernels.GetDiagonal(w.matrix, w.diagonalInverse(), false)); err != nil {
		return err
	}
	if err := w.restoreDiagonal(); err != nil {
		return err
	}
	w.stage = stageInverted
	return nil
}

func (w *Workspace) diagonalL() kernels.Vector { return kernels.Vector{A: w.ldia, N: w.n} }

// restoreDiagonal makes the diagonal L's again.
func (w *Workspace) restoreDiagonal() error {
	return w.b.launch(kernels.SetDiagonal(w.matrix, w.diagonalL(), false))
}

func (w *Workspace) diagonalInverse() kernels.Vector {
	return kernels.Vector{A: w.kappa, N: w.n}
}

// invertUpper inverts the upper triangle Lᵀ of the n×n diagonal block at o in
// place. With the blocks of Lᵀ and of its inverse U,
//
//	U₁₂ = −U₁₁ (Lᵀ)₁₂ U₂₂
//
// (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., §14.2).
func (w *Workspace) invertUpper(ctx context.Context, o, n int64) error {
	if n <= w.b.sizes.invert {
		if err := w.b.math.Trtri(n, w.at(o, o)); err != nil {
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
		if err := w.b.math.Trmm(left, plain, k, m, -1, w.at(o, o), b); err != nil {
			return err
		}
		return w.worked(ctx, float64(m)*float64(k)*float64(k))
	}
	k1 := half(k)
	b2 := b.At(k1, 0)
	if err := w.multiplyLeft(ctx, o, k1, b, m); err != nil {
		return err
	}
	if err := w.gemm(ctx, plain, plain, k1, m, k-k1, -1, w.at(o, o+k1), b2, 1, b); err != nil {
		return err
	}
	return w.multiplyLeft(ctx, o+k1, k-k1, b2, m)
}

// multiplyRight overwrites the m×k block b by b·U.
func (w *Workspace) multiplyRight(ctx context.Context, o, k int64, b kernels.Matrix, m int64) error {
	if k <= w.b.sizes.invert {
		if err := w.b.math.Trmm(right, plain, m, k, 1, w.at(o, o), b); err != nil {
			return err
		}
		return w.worked(ctx, float64(m)*float64(k)*float64(k))
	}
	k1 := half(k)
	b2 := b.At(0, k1)
	if err := w.multiplyRight(ctx, o+k1, k-k1, b2, m); err != nil {
		return err
	}
	if err := w.gemm(ctx, plain, plain, m, k-k1, k1, 1, b, w.at(o, o+k1), 1, b2); err != nil {
		return err
	}
	return w.multiplyRight(ctx, o, k1, b, m)
}

// squareUpper overwrites U by the upper triangle of U·Uᵀ, in panels of columns J =
// j0 … j1−1 from left to right. Row i of U begins at its diagonal, so that
//
//	Σ⁻¹[0:j1, J] = U[0:j1, J]·U[J, J]ᵀ + U[0:j1, j1:]·U[J, j1:]ᵀ
//
// needs none of the columns that are overwritten before. The rows of J itself, with
// L below their diagonal, are formed in a block of their own.
func (w *Workspace) squareUpper(ctx context.Context) error {
	width := w.b.panelWidth(w.n)
	square := kernels.Matrix{A: w.square, LD: width}
	for j0 := int64(0); j0 < w.n; j0 += width {
		cols := min(width, w.n-j0)
		j1, diagonal := j0+cols, w.at(j0, j0)
		if j0 > 0 {
			if err := w.multiplyTransposed(ctx, j0, cols, j1, w.at(0, j0), w.at(0, j1)); err != nil {
				return err
			}
		}
		if err := w.b.launch(kernels.Copy(diagonal, square, cols, cols, kernels.Upper)); err != nil {
			return err
		}
		if err := w.multiplyTransposed(ctx, cols, cols, j1, square, w.at(j0, j1)); err != nil {
			return err
		}
		if err := w.b.launch(kernels.Copy(square, diagonal, cols, cols, kernels.UpperOnly)); err != nil {
			return err
		}
	}
	return nil
}

// multiplyTransposed overwrites b, some rows of columns J = j1−cols … j1−1 of U, by
// b·U[J, J]ᵀ + rest·U[J, j1:]ᵀ.
func (w *Workspace) multiplyTransposed(ctx context.Context, rows, cols, j1 int64, b, rest kernels.Matrix) error {
	j0 := j1 - cols
	if err := w.b.math.Trmm(right, transposed, rows, cols, 1, w.at(j0, j0), b); err != nil {
		return err
	}
	if err := w.worked(ctx, float64(rows)*float64(cols)*float64(cols)); err != nil {
		return err
	}
	if j1 == w.n {
		return nil
	}
	return w.gemm(ctx, plain, transposed, rows, cols, w.n-j1, 1, rest, w.at(j0, j1), 1, b)
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

// collect brings the results to the host; the gradient is added.
func (w *Workspace) collect(grad, diag []float64) error {
	sum := make([]float64, len(grad))
	if err := driver.CopyToHost(w.b.stream, sum, w.grad); err != nil {
		return err
	}
	for i, v := range sum {
		grad[i] += v
	}
	return driver.CopyToHost(w.b.stream, diag, w.diag)
}

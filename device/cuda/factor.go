package cuda

import (
	"context"
	"fmt"
	"slices"

	"gpfit/device"
	"gpfit/device/cuda/driver"
	"gpfit/device/cuda/kernels"
	"gpfit/device/cuda/mathlib"
)

// sizes are the steps of the large computations. Within one, cuSOLVER, cuBLAS
// or a kernel works alone; between them progress is reported and the context
// polled.
type sizes struct {
	// fill is the number of columns of Σ filled, factor that of a block of the
	// Cholesky factorisation, invert the order up to which a triangle is
	// inverted in one call, panel that of columns of Σ⁻¹ formed at a time, 0 for
	// what [panelWidth] says.
	fill, factor, invert, panel int64
	// gemm bounds the operations of a product.
	gemm float64
}

// defaultSizes: at 50 TFLOP/s a step takes up to a tenth of a second.
var defaultSizes = sizes{fill: 8192, factor: 8192, invert: 4096, gemm: 5e12}

// Factor overwrites Σ by L.
func (w *Workspace) Factor(ctx context.Context) error {
	return w.do(func() error {
		if w.stage != stageFilled {
			return device.ErrStage
		}
		w.stage = stageEmpty
		w.begin("factor", choleskyFlops(w.n, w.b.sizes.factor, w.b.panelWidth(w.n)))
		if err := w.cholesky(ctx); err != nil {
			return err
		}
		w.stage = stageFactored
		return nil
	})
}

func cube(n int64) float64 { return float64(n) * float64(n) * float64(n) }

// at is the part of the matrix that begins at element (i, j).
func (w *Workspace) at(i, j int64) kernels.Matrix { return w.matrix.At(i, j) }

// cholesky goes by blocks of columns (right-looking): factor the diagonal
// block, solve the rows below, update the columns to the right. Each panel of
// these is a matrix product that reaches a little over the diagonal: panels are
// narrower than blocks to keep that small.
func (w *Workspace) cholesky(ctx context.Context) error {
	block := w.b.sizes.factor
	for o := int64(0); o < w.n; o += block {
		width := min(block, w.n-o)
		minor, err := w.b.math.Potrf(width, w.at(o, o))
		if err != nil {
			return err
		}
		if int64(minor) > width {
			return fmt.Errorf("cuda: cuSOLVER reports minor %d of a block of order %d", minor, width)
		}
		if minor > 0 {
			return device.ExplainMinor(int(o)+minor, w.x, w.filled, w.theta, w.noiseHost)
		}
		if err := w.worked(ctx, cube(width)/3); err != nil {
			return err
		}
		below := w.n - o - width
		if below == 0 {
			break
		}
		if err := w.b.math.Trsm(right, transposed, below, width, w.at(o, o), w.at(o+width, o)); err != nil {
			return err
		}
		if err := w.worked(ctx, float64(below)*float64(width)*float64(width)); err != nil {
			return err
		}
		panel := min(block, w.b.panelWidth(w.n))
		for j := o + width; j < w.n; j += panel {
			cols := min(panel, w.n-j)
			if err := w.gemm(ctx, plain, transposed, w.n-j, cols, width, -1, w.at(j, o), w.at(j, o), 1, w.at(j, j)); err != nil {
				return err
			}
		}
	}
	return w.checkDiagonal()
}

// checkDiagonal looks for a diagonal element of L that is not a positive number:
// cuSOLVER may report success on a matrix with a NaN.
func (w *Workspace) checkDiagonal() error {
	look := kernels.FirstBad(w.matrix.A, w.n, w.matrix.LD+1, true, w.small)
	if err := w.b.launch(look); err != nil {
		return err
	}
	first := make([]int64, look.Blocks)
	if err := driver.CopyToHost(w.b.stream, first, w.small); err != nil {
		return err
	}
	at := slices.Min(first)
	if at < 0 {
		return fmt.Errorf("cuda: kernel %s does not work: it finds element %d", look.Kernel, at)
	}
	if at < w.n {
		return device.ExplainMinor(int(at)+1, w.x, w.filled, w.theta, w.noiseHost)
	}
	return nil
}

// choleskyFlops is the work of cholesky: n³/3, and O(panel·n²) because panels
// reach over the diagonal.
func choleskyFlops(n, block, panel int64) float64 {
	sum, panel := 0.0, min(block, panel)
	for o := int64(0); o < n; o += block {
		width := min(block, n-o)
		below := float64(n - o - width)
		sum += cube(width)/3 + below*float64(width)*float64(width)
		for j := o + width; j < n; j += panel {
			sum += 2 * float64(n-j) * float64(min(panel, n-j)) * float64(width)
		}
	}
	return sum
}

// gemm computes C = alpha·op(A)·op(B) + beta·C, C m×n, in bands of rows.
func (w *Workspace) gemm(ctx context.Context, opA, opB mathlib.Transpose, m, n, k int64, alpha float64, a, b kernels.Matrix, beta float64, c kernels.Matrix) error {
	if m == 0 || n == 0 {
		return nil
	}
	perRow := 2 * float64(n) * float64(max(k, 1))
	for i := int64(0); i < m; {
		rows := min(m-i, max(64, int64(w.b.sizes.gemm/perRow)))
		band := a.At(i, 0)
		if opA == transposed {
			band = a.At(0, i)
		}
		if err := w.b.math.Gemm(opA, opB, rows, n, k, alpha, band, b, beta, c.At(i, 0)); err != nil {
			return err
		}
		if err := w.worked(ctx, perRow*float64(rows)); err != nil {
			return err
		}
		i += rows
	}
	return nil
}

// solve overwrites b, n×m on the device, by Σ⁻¹b.
func (w *Workspace) solve(b driver.Ptr, m int64) error {
	rhs := kernels.Matrix{A: b, LD: w.n}
	if err := w.b.math.Trsm(left, plain, w.n, m, w.matrix, rhs); err != nil {
		return err
	}
	return w.b.math.Trsm(left, transposed, w.n, m, w.matrix, rhs)
}

package cpu

import (
	"context"
	"fmt"

	"gonum.org/v1/gonum/blas"

	"gpfit/device"
	"gpfit/internal/vec"
)

const (
	// solveRows is the number of rows of L between two synchronisations of the
	// threads in a triangular solve of one vector.
	solveRows = 256
	// solveSerial is the size up to which one thread is faster, because L fits a
	// cache and synchronisation would cost more than the work. Larger systems are solved
	// in blocks with any number of threads, so that the bits do not depend on it.
	solveSerial = 1200
)

// Solve overwrites b by Σ⁻¹b. For one right-hand side, reading L twice takes most
// of the time; several right-hand sides use matrix products.
func (w *Workspace) Solve(ctx context.Context, b []float64, m int) (err error) {
	defer w.emptyIfStopped(&err)
	if w.stage < stageFactored {
		return device.ErrStage
	}
	if len(b) < w.n*m {
		return fmt.Errorf("cpu: right-hand side of %d elements for %d×%d", len(b), w.n, m)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if m > 1 {
		// The columns of b are the rows of its transpose: Bᵀ·Σ⁻¹ = Bᵀ·L⁻ᵀ·L⁻¹.
		w.blas.Dtrsm(blas.Right, blas.Lower, blas.Trans, blas.NonUnit, m, w.n, 1, w.a, w.ld, b, w.n)
		w.blas.Dtrsm(blas.Right, blas.Lower, blas.NoTrans, blas.NonUnit, m, w.n, 1, w.a, w.ld, b, w.n)
		return ctx.Err()
	}
	rows, threads := solveRows, w.threads
	if w.n <= solveSerial {
		rows, threads = w.n, 1
	}
	for i0 := 0; i0 < w.n; i0 += rows {
		if err := w.forward(ctx, b, i0, min(i0+rows, w.n), threads); err != nil {
			return err
		}
	}
	for i0 := (w.n - 1) / rows * rows; i0 >= 0; i0 -= rows {
		if err := w.backward(ctx, b, i0, min(i0+rows, w.n), threads); err != nil {
			return err
		}
	}
	return nil
}

// forward solves rows i0 … i1−1 of L·x = b after the rows before i0.
func (w *Workspace) forward(ctx context.Context, b []float64, i0, i1, threads int) error {
	if i0 > 0 {
		err := parallelFor(ctx, threads, (i1-i0+tileRows-1)/tileRows, func(_, task int) {
			for i := i0 + task*tileRows; i < min(i0+(task+1)*tileRows, i1); i++ {
				b[i] -= vec.Dot(w.at(i, 0)[:i0], b[:i0])
			}
		})
		if err != nil {
			return err
		}
	}
	for i := i0; i < i1; i++ {
		row := w.at(i, i0)
		b[i] = (b[i] - vec.Dot(row[:i-i0], b[i0:i])) / row[i-i0]
	}
	return nil
}

// backward solves rows i0 … i1−1 of Lᵀ·x = b, after the rows from i1 on were solved
// and subtracted, and subtracts them from the rows before i0.
func (w *Workspace) backward(ctx context.Context, b []float64, i0, i1, threads int) error {
	for i := i1 - 1; i >= i0; i-- {
		row := w.at(i, i0)
		b[i] /= row[i-i0]
		vec.Combine(b[i0:i], b[i0:i], row[:i-i0], 1, -b[i])
	}
	if i0 == 0 {
		return nil
	}
	const cols = 512
	return parallelFor(ctx, threads, (i0+cols-1)/cols, func(_, task int) {
		j0, j1 := task*cols, min((task+1)*cols, i0)
		part := b[j0:j1]
		for i := i0; i < i1; i++ {
			vec.Combine(part, part, w.at(i, j0)[:j1-j0], 1, -b[i])
		}
	})
}

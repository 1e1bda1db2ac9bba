package grid

import (
	"context"

	"gonum.org/v1/gonum/blas/blas64"

	"gpfit/kernel"
	"gpfit/method/internal/hostmethod"
)

// workspace is the [hostmethod.Engine].
type workspace struct {
	*hostmethod.State
	// lattice is the grid for the groups of the kernel groupsOf.
	lattice  *lattice
	groupsOf *kernel.Program
	// eigenSpectrum belongs to the last Form.
	eigenSpectrum
	// work are arrays of n numbers, for products along axes.
	work [2][]float64
}

// Held implements [hostmethod.Engine].
func (w *workspace) Held() (bytes, matrices int64) {
	numbers := len(w.d) + len(w.work[0]) + len(w.work[1])
	for _, u := range w.u {
		numbers += 3 * len(u.Data)
	}
	return 8 * int64(numbers), 0
}

// along multiplies the array in work[0] along all axes by matrices. A matrix without rows stands
// for the identity. The result is in work[0].
func (w *workspace) along(ctx context.Context, l *lattice, matrices []blas64.General) error {
	for a := len(matrices) - 1; a >= 0; a-- {
		l.turn(w.work[1], w.work[0], a, matrices[a])
		w.work[0], w.work[1] = w.work[1], w.work[0]
		if err := w.Step(ctx, l.flops(a)); err != nil {
			return err
		}
	}
	return nil
}

// allocate makes space for the products along axes.
func allocate(w *workspace) {
	for k := range w.work {
		if w.work[k] == nil {
			w.work[k] = make([]float64, w.N)
		}
	}
}

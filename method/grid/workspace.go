package grid

import (
	"context"
	"fmt"

	"gonum.org/v1/gonum/blas/blas64"

	"gpfit/device"
	"gpfit/kernel"
)

// workspace implements [device.Workspace].
type workspace struct {
	device.Meter
	x    *kernel.Points // nil after Close
	n    int
	host device.Device
	// threads is how many threads products may use.
	threads int
	// lattice is the grid for the groups of the kernel groupsOf.
	lattice  *lattice
	groupsOf *kernel.Program
	// formed means that the eigenSpectrum belongs to the last Form.
	formed bool
	eigenSpectrum
	// work are arrays of n numbers, for products along axes.
	work [2][]float64
}

// Method implements [device.Workspace].
func (w *workspace) Method() string { return Name }

// N implements [device.Workspace].
func (w *workspace) N() int { return w.n }

// FormsQuickly implements [device.QuickForming].
func (w *workspace) FormsQuickly() bool { return true }

// Work implements [device.Workspace].
func (w *workspace) Work() device.Work {
	numbers := len(w.d) + len(w.work[0]) + len(w.work[1])
	for _, u := range w.u {
		numbers += 3 * len(u.Data)
	}
	return device.Work{Flops: w.Flops, Bytes: 8 * int64(numbers)}
}

// Close implements [device.Workspace].
func (w *workspace) Close() error {
	*w = workspace{n: w.n}
	return nil
}

// step counts the operations of a step, reports them and polls ctx.
func (w *workspace) step(ctx context.Context, flops float64) error {
	w.Worked(flops)
	return w.poll(ctx)
}

// poll brings the workspace to its state before Form if ctx is done.
func (w *workspace) poll(ctx context.Context) error {
	if ctx.Err() != nil {
		w.formed = false
	}
	return ctx.Err()
}

// begin begins a call after Form that takes flops operations.
func (w *workspace) begin(ctx context.Context, name string, flops float64) error {
	w.Begin(name, flops)
	return w.poll(ctx)
}

// otherParameters is the error of a call whose parameters are not the parameters of Form.
func otherParameters(what string) error {
	return &device.UnsupportedError{Method: Name, What: what + " at other parameters than those of Form"}
}

// along multiplies the array in work[0] along all axes by matrices. A matrix without rows stands
// for the identity. The result is in work[0].
func (w *workspace) along(ctx context.Context, l *lattice, matrices []blas64.General) error {
	for a := len(matrices) - 1; a >= 0; a-- {
		l.turn(w.work[1], w.work[0], a, matrices[a])
		w.work[0], w.work[1] = w.work[1], w.work[0]
		if err := w.step(ctx, l.flops(a)); err != nil {
			return err
		}
	}
	return nil
}

// LimitThreads implements [device.ThreadLimiter].
func (w *workspace) LimitThreads(n int) {
	w.threads = min(n, w.host.Info().Threads)
	if w.lattice != nil {
		w.lattice.threads = w.threads
	}
}

// allocate makes space for the products along axes.
func allocate(w *workspace) {
	for k := range w.work {
		if w.work[k] == nil {
			w.work[k] = make([]float64, w.n)
		}
	}
}

// checkSides returns an error if Σ is not there or b does not have m columns.
func (w *workspace) checkSides(b []float64, m int) error {
	if !w.formed {
		return device.ErrStage
	}
	if m < 0 || len(b) != m*w.n {
		return fmt.Errorf("grid: %d numbers for %d columns of %d points", len(b), m, w.n)
	}
	return nil
}

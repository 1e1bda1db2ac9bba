package markov

import (
	"context"
	"fmt"
	"iter"

	"gpfit/device"
	"gpfit/kernel"
	"gpfit/method/internal/hostmethod"
)

// chunk is the number of rows between looks at the context.
const chunk = 4096

// chunks yields the first rows of all chunks of n rows.
func chunks(n int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for first := 0; first < n && yield(first); first += chunk {
		}
	}
}

// backwards yields the ends of all chunks of n rows, the last one first.
func backwards(n int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for end := n; end > 0 && yield(end); end -= chunk {
		}
	}
}

type stage uint8

const (
	empty stage = iota
	formed
	solved
)

// workspace implements [device.Workspace].
type workspace struct {
	device.Meter
	x     *kernel.Points // nil after Close
	n     int
	host  device.Device
	stage stage
	// order is the last sorted column.
	order *sortedRows
	filter
	// other is the model of a call at other parameters than Form's.
	other *stateModel
	// states are working space for the states of every row.
	states []float64
	// sweeps have the state that predictions keep from call to call.
	sweeps, spare *sweeps
}

// Method implements [device.Workspace].
func (w *workspace) Method() string { return Name }

// N implements [device.Workspace].
func (w *workspace) N() int { return w.n }

// FormsQuickly implements [device.QuickForming].
func (w *workspace) FormsQuickly() bool { return true }

// Work implements [device.Workspace].
func (w *workspace) Work() device.Work {
	numbers := len(w.p) + len(w.k) + len(w.s) + len(w.decay) + len(w.integral) + len(w.states) + w.sweeps.numbers() + w.spare.numbers()
	if w.order != nil && w.order.order != nil {
		numbers += w.n + w.n/2
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
		w.stage = empty
	}
	return ctx.Err()
}

// begin begins a call after Form that takes flops operations a row.
func (w *workspace) begin(ctx context.Context, name string, flops float64) error {
	if w.stage < formed {
		return device.ErrStage
	}
	w.Begin(name, flops*float64(w.n))
	return w.poll(ctx)
}

// modelAt returns the model of a kernel, and the rows in its order.
func (w *workspace) modelAt(prog *kernel.Program, theta []float64) (*stateModel, *sortedRows, error) {
	switch {
	case w.x == nil:
		return nil, nil, device.ErrStage
	case w.stateModel.isAt(prog, theta):
		return w.stateModel, w.filter.sortedRows, nil
	case w.other.isAt(prog, theta):
		return w.other, w.sortedBy(w.other.column), nil
	case prog.D != w.x.D:
		return nil, nil, fmt.Errorf("markov: kernel for %d columns on points of %d", prog.D, w.x.D)
	}
	l, err := newLayout(prog)
	if err != nil {
		return nil, nil, &device.UnsupportedKernelError{Device: hostmethod.Name, Method: Name, Kernel: prog.Text, Err: err}
	}
	if err := prog.CheckTheta(theta); err != nil {
		return nil, nil, err
	}
	w.other = newModel(l, prog, theta)
	return w.other, w.sortedBy(l.column), nil
}

// sortedBy returns the rows in the order of a column.
func (w *workspace) sortedBy(column int) *sortedRows {
	if w.order == nil || w.order.column != column {
		w.order = sorted(w.x, column)
	}
	return w.order
}

// LogDet implements [device.Workspace].
func (w *workspace) LogDet() (value, stdErr float64, err error) {
	if w.stage < formed {
		return 0, 0, device.ErrStage
	}
	return w.logDet, 0, nil
}

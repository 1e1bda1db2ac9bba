package finite

import (
	"context"
	"fmt"

	"gpfit/device"
	"gpfit/kernel"
)

// workspace implements [device.Workspace].
type workspace struct {
	device.Meter
	x       *kernel.Points // nil after Close
	n       int
	host    device.Device
	threads int
	// formed means that Form has been called.
	formed bool
	// expansion belongs to Form, and other belongs to a call at other parameters.
	*expansion
	other *otherExpansion
	// phi are the features of all rows.
	phi []float64
	factor
}

// Method implements [device.Workspace].
func (w *workspace) Method() string { return Name }

// N implements [device.Workspace].
func (w *workspace) N() int { return w.n }

// FormsQuickly implements [device.QuickForming].
func (w *workspace) FormsQuickly() bool { return true }

// LimitThreads implements [device.ThreadLimiter].
func (w *workspace) LimitThreads(n int) {
	w.threads = max(1, w.host.Info().Threads)
	if n > 0 {
		w.threads = min(w.threads, n)
	}
}

// Work implements [device.Workspace].
func (w *workspace) Work() device.Work {
	numbers := len(w.phi) + len(w.noise) + len(w.rows) + len(w.r)
	return device.Work{Flops: w.Flops, Bytes: 8 * int64(numbers)}
}

// Close implements [device.Workspace].
func (w *workspace) Close() error {
	*w = workspace{n: w.n, host: w.host}
	return nil
}

// poll brings the workspace to its state before Form if ctx is done.
func (w *workspace) poll(ctx context.Context) error {
	if ctx.Err() != nil {
		w.formed = false
	}
	return ctx.Err()
}

// begin begins a call after Form that takes flops operations a row.
func (w *workspace) begin(ctx context.Context, name string, flops float64) error {
	if !w.formed {
		return device.ErrStage
	}
	w.Begin(name, flops*float64(w.n))
	return w.poll(ctx)
}

// otherExpansion is an expansion at other parameters than Form's.
type otherExpansion struct {
	*expansion
	// reduction is ΦᵀΣ⁻¹Φ; nil until a prediction needs it.
	reduction []float64
}

// expand returns the features of a kernel.
func (w *workspace) expand(prog *kernel.Program, theta []float64) (*expansion, error) {
	switch {
	case w.x == nil:
		return nil, device.ErrStage
	case w.formed && w.isAt(prog, theta):
		return w.expansion, nil
	case w.other != nil && w.other.isAt(prog, theta):
		return w.other.expansion, nil
	case prog.D != w.x.D:
		return nil, fmt.Errorf("finite: kernel for %d columns on points of %d", prog.D, w.x.D)
	}
	if err := prog.CheckTheta(theta); err != nil {
		return nil, err
	}
	e, err := newExpansion(prog, theta, w.x)
	if err != nil {
		return nil, err
	}
	w.other = &otherExpansion{expansion: e}
	return e, nil
}

// LogDet implements [device.Workspace].
func (w *workspace) LogDet() (value, stdErr float64, err error) {
	if !w.formed {
		return 0, 0, device.ErrStage
	}
	return w.logDet, 0, nil
}

package markov

import (
	"context"
	"fmt"

	"gpfit/device"
	"gpfit/kernel"
	"gpfit/method/internal/hostmethod"
)

// Name is the name of the method.
const Name = "markov"

// Method is the method; it implements [device.Method].
type Method struct{}

// About implements [device.Method].
func (Method) About() device.About {
	return device.About{
		Name: Name, Exact: true, Text: "a Kalman filter over the rows in order, for Matérn and similar kernels of one column",
		Help: "a filter over the rows in order for kernels of one column",
	}
}

// rowBytes is about the memory of a row: of a table of two columns and of a kernel with one state.
const rowBytes = 100

// MaxRows returns how many rows fit in the host's memory.
func (Method) MaxRows(hostFree int64) int { return int(hostFree / rowBytes) }

// Backends returns a backend for the CPU, which is the only device that the method uses: each row needs
// the one before, so that an accelerator would be slower. For another device it returns an
// [*device.UnavailableError]: an accelerator then has the other methods, and a request for gonum, which
// computes by plain formulas, is not answered by this one.
func (Method) Backends(devices []device.Device) ([]device.Backend, error) {
	return hostmethod.Backends(Name, devices, func(b hostmethod.Base) device.Backend { return backend{b} })
}

// backend is the method on the host.
type backend struct{ hostmethod.Base }

// Supports implements [device.Backend]. A job of known size without a kernel has one of many.
func (b backend) Supports(w device.Workload) error {
	if err := b.CheckWorkload(w, "one of its kernels"); err != nil || w.Program == nil {
		return err
	}
	if _, err := newLayout(w.Program); err != nil {
		return &device.UnsupportedKernelError{Device: b.Host.Info().Name, Method: Name, Kernel: w.Program.Text, Err: err}
	}
	return nil
}

// flopRate is about the number of operations in a second.
const flopRate = 1e9 * dependence

// Plan implements [device.Backend]. Without a kernel it plans for one of two states.
func (b backend) Plan(w device.Workload) device.Plan {
	n := int64(w.N)
	l := &layout{states: 2, elements: 4}
	if w.Program != nil {
		if own, err := newLayout(w.Program); err == nil {
			l = own
		}
	}
	flops, s := l.flops(), l.states
	plan := device.Plan{
		N: w.N, D: w.D, FlopsValue: flops.value * float64(n), FlopsGradient: (flops.value + flops.inverse + 4*flops.vector) * float64(n), FlopRate: flopRate,
		Needs: []device.Need{{Bytes: 8 * n * int64(packed(s)+2*s+6), What: fmt.Sprintf("a filter of %d states for %d rows", s, n)}},
	}
	if w.Diagonal {
		plan.FlopsGradient += flops.middle * float64(n)
		plan = plan.With(middleNeed(w.N, s))
	}
	return plan
}

// NewWorkspace implements [device.Backend].
func (b backend) NewWorkspace(ctx context.Context, x *kernel.Points) (device.Workspace, error) {
	if err := b.CheckPoints(ctx, x, b.Plan(device.Workload{N: x.N, D: x.D})); err != nil {
		return nil, err
	}
	return &workspace{x: x, n: x.N, host: b.Host}, nil
}

var (
	_ device.DiagonalAdjoint    = (*workspace)(nil)
	_ device.JointCovariance    = (*workspace)(nil)
	_ device.DerivativeProducts = (*workspace)(nil)
)

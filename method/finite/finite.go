package finite

import (
	"context"

	"gpfit/device"
	"gpfit/kernel"
	"gpfit/method/internal/hostmethod"
)

// Name is the name of the method.
const Name = "finite"

// Method is the method; it implements [device.Method].
type Method struct{}

// About implements [device.Method].
func (Method) About() device.About {
	return device.About{
		Name: Name, Exact: true, Text: "a regression on the features of a kernel that has few, such as linear, poly and cosine",
		Help: "a regression on the features of kernels that have few",
	}
}

// rowBytes is about the memory of a row: of a table of two columns and a kernel of two features.
const rowBytes = 100

// MaxRows returns how many rows fit in the host's memory.
func (Method) MaxRows(hostFree int64) int { return int(hostFree / rowBytes) }

// Backends returns a backend for the CPU, which is the only device that the method uses. For another
// device it returns an [*device.UnavailableError]: an accelerator then has the other methods, and a request
// for gonum, which computes by plain formulas, is not answered by this one.
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
	_, err := featuresOf(w)
	return err
}

// Plans count the operations of a factorization of a large matrix that take as long: slowness is about the
// ratio, and flopRate is the number of such operations in a second.
const (
	slowness = 15
	flopRate = 2e9 * slowness
)

// Plan implements [device.Backend]. Without a kernel it plans for a linear one.
func (b backend) Plan(w device.Workload) device.Plan {
	r := w.D
	if w.Program != nil {
		if own, err := featuresOf(w); err == nil {
			r = own
		}
	}
	n, columns := float64(w.N), float64(r)
	value := slowness * n * columns * (2*columns + 10)
	plan := device.Plan{
		N: w.N, D: w.D, FlopsValue: value, FlopsGradient: 2*value + slowness*n*columns*columns, FlopRate: flopRate,
		Needs: []device.Need{featureNeed(w.N, r)},
	}
	if w.Diagonal {
		plan.FlopsGradient += slowness * 6 * n * columns * columns
	}
	return plan
}

// NewWorkspace implements [device.Backend].
func (b backend) NewWorkspace(ctx context.Context, x *kernel.Points) (device.Workspace, error) {
	if err := b.CheckPoints(ctx, x, b.Plan(device.Workload{N: x.N, D: x.D})); err != nil {
		return nil, err
	}
	w := &workspace{x: x, n: x.N, host: b.Host}
	w.LimitThreads(b.Info().Threads)
	return w, nil
}

var (
	_ device.Workspace          = (*workspace)(nil)
	_ device.DiagonalAdjoint    = (*workspace)(nil)
	_ device.JointCovariance    = (*workspace)(nil)
	_ device.DerivativeProducts = (*workspace)(nil)
	_ device.ThreadLimiter      = (*workspace)(nil)
	_ device.QuickForming       = (*workspace)(nil)
)

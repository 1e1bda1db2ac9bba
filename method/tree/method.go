package tree

import (
	"context"
	"fmt"

	"gpfit/cpu/spd"
	"gpfit/device"
	"gpfit/kernel"
	"gpfit/method/internal/hostmethod"
)

// Name is the name of the method.
const Name = "tree"

// mostColumns is the largest number of columns that a kernel may read.
const mostColumns = 3

// Method is the method. It implements [device.Method].
type Method struct{}

// About implements [device.Method].
func (Method) About() device.About {
	return device.About{
		Name: Name, Bounded: true, Text: "a tree of blocks of low rank for one to three columns, with a bound of its error",
		Help: "a tree of blocks of low rank for one to three columns, within a bound",
	}
}

// rowBytes is about the memory of a row of a smooth kernel.
const rowBytes = 2000

// MaxRows implements [device.Method].
func (Method) MaxRows(hostFree int64) int { return int(hostFree / rowBytes) }

// Backends implements [device.Method].
func (Method) Backends(devices []device.Device) ([]device.Backend, error) {
	return hostmethod.Backends(Name, devices, func(b hostmethod.Base) device.Backend { return backend{b, device.DefaultTolerance} })
}

// backend computes to a bound of a value in nats.
type backend struct {
	hostmethod.Base
	tolerance float64
}

// For returns the backend for the tolerance of a workload.
func (b backend) For(w device.Workload) device.Backend {
	if w.Tolerance > 0 {
		b.tolerance = w.Tolerance
	}
	return b
}

// Capabilities implements [device.Backend].
func (b backend) Capabilities() device.Capabilities {
	c := b.Base.Capabilities()
	c.Exact = false
	return c
}

// limits list the abilities that the method lacks.
var limits = hostmethod.Limits{
	Method: Name, Blocks: hostmethod.NoBlocks, Factor: hostmethod.NoFactor, AtForm: true,
	Diagonal: "an objective of leave-one-out; the method dense does",
}

// Supports implements [device.Backend].
func (b backend) Supports(w device.Workload) error {
	if err := limits.Refuse(w); err != nil || w.Program == nil {
		return err
	}
	return columnsOf(w.Program)
}

// columnsRead returns the columns that a kernel reads.
func columnsRead(prog *kernel.Program) map[int]bool {
	read := map[int]bool{}
	for _, f := range prog.Features {
		for _, c := range f.Dims {
			read[c] = true
		}
	}
	return read
}

// columnsOf returns an error if a kernel reads more columns than the method takes.
func columnsOf(prog *kernel.Program) error {
	read := len(columnsRead(prog))
	if read <= mostColumns {
		return nil
	}
	return &device.UnsupportedError{Method: Name, What: fmt.Sprintf(
		"evaluations of a kernel that reads %d columns, only of one to %d: take the methods dense or tiles, which are exact, or option experts", read, mostColumns)}
}

// NewWorkspace implements [device.Backend].
func (b backend) NewWorkspace(ctx context.Context, x *kernel.Points) (device.Workspace, error) {
	if err := b.CheckPoints(ctx, x, b.Plan(device.Workload{N: x.N, D: x.D})); err != nil {
		return nil, err
	}
	threads := max(1, b.Info().Threads)
	arithmetic, err := spd.Open(1)
	if err != nil {
		return nil, &device.UnavailableError{Device: b.Info().Name, Reason: err.Error()}
	}
	s := &hostmethod.State{Points: x, Host: b.Host, N: x.N, Threads: threads}
	e := &engine{State: s, algebra: &algebra{Engine: arithmetic}, wanted: b.tolerance, sizes: usualSizes}
	return &workspace{hostmethod.NewWorkspace(s, limits, e), e}, nil
}

// workspace adds the bound.
type workspace struct {
	*hostmethod.Workspace
	engine *engine
}

var _ device.Bounded = (*workspace)(nil)

// Solve implements [device.Workspace]. It may find another log|Σ̃|.
func (w *workspace) Solve(ctx context.Context, b []float64, m int) error {
	err := w.Workspace.Solve(ctx, b, m)
	if w.Formed() {
		w.SetFormed(w.engine.evaluation != nil, w.engine.logDet)
	}
	return err
}

// Work implements [device.Workspace].
func (w *workspace) Work() device.Work {
	work := w.Workspace.Work()
	work.Flops = float64(w.engine.algebra.flops.Load())
	return work
}

// Bound implements [device.Bounded].
func (w *workspace) Bound() device.Bound {
	if !w.Formed() {
		return device.Bound{}
	}
	return w.engine.Bound()
}

// Verify implements [device.Bounded].
func (w *workspace) Verify(ctx context.Context, y, alpha []float64, m int) (device.Verified, error) {
	if !w.Formed() {
		return device.Verified{}, device.ErrStage
	}
	for _, columns := range [][]float64{y, alpha} {
		if err := device.CheckColumns(columns, w.N(), m); err != nil {
			return device.Verified{}, device.Invalid(Name, err)
		}
	}
	return w.engine.verify(ctx, y, alpha, m)
}

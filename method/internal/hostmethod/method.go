// Package hostmethod is the common part of methods other than dense: [Limits] say what a method refuses, and a
// [Workspace] checks the calls of an [Engine], which has no need to. For methods of the CPU, [Base] is the part of a
// [device.Backend] that does not depend on the method, and [Method] makes a [device.Method] of an engine.
package hostmethod

import (
	"context"
	"errors"

	"gpfit/device"
	"gpfit/kernel"
)

// Name is the name of the device on which these methods compute.
const Name = "cpu"

// Precision is the rounding error of values of typical fits by exact methods.
const Precision = 1e-12

// Method is an exact method that needs no covariance matrix. It implements [device.Method].
type Method struct {
	// Words are the result of About.
	Words device.About
	// RowBytes is about the memory of a row.
	RowBytes int64
	// Suitable says in an error which kernel to choose.
	Suitable string
	// OneNoise means that all rows need the same noise variance.
	OneNoise bool
	// Supports and Plan are the same as in [device.Backend]; Supports gets workloads with a kernel. Open returns the engine
	// of a workspace, which it need not allocate before its first call.
	Supports func(w device.Workload) error
	Plan     func(w device.Workload) device.Plan
	Open     func(s *State) Engine
}

// About implements [device.Method].
func (m Method) About() device.About { return m.Words }

// MaxRows returns how many rows fit in the host's memory.
func (m Method) MaxRows(hostFree int64) int { return int(hostFree / m.RowBytes) }

// Backends implements [device.Method].
func (m Method) Backends(devices []device.Device) ([]device.Backend, error) {
	return Backends(m.Words.Name, devices, func(b Base) device.Backend { return backend{b, m} })
}

// Base is an exact method on the host.
type Base struct {
	// Method is the name of the method.
	Method string
	Host   device.Device
}

// Backends returns a backend of a method for the CPU, which on makes. For another device it returns an
// [*device.UnavailableError]: an accelerator then has the other methods, and a request for gonum, which
// computes by plain formulas, is not answered by this one.
func Backends(method string, devices []device.Device, on func(Base) device.Backend) (out []device.Backend, err error) {
	for _, d := range devices {
		if info := d.Info(); !info.Host || info.Name != Name {
			return nil, &device.UnavailableError{Device: info.Name, Reason: "the method " + method + " computes on the device " + Name}
		}
		out = append(out, on(Base{method, d}))
	}
	return out, nil
}

// Info implements [device.Backend].
func (b Base) Info() device.Info { return b.Host.Info() }

// Close implements [device.Backend].
func (b Base) Close() error { return b.Host.Close() }

// Capabilities implements [device.Backend].
func (b Base) Capabilities() device.Capabilities {
	return device.Capabilities{Method: b.Method, Exact: true, Precision: Precision, Devices: []device.Device{b.Host}}
}

// CheckPoints returns the errors of [device.Backend.NewWorkspace], for the plan of the points.
func (b Base) CheckPoints(ctx context.Context, x *kernel.Points, plan device.Plan) error {
	if err := errors.Join(ctx.Err(), device.CheckInputs(x)); err != nil {
		return err
	}
	return plan.Check(b.Info())
}

// limits returns what the method refuses.
func (m Method) limits() Limits {
	l := Limits{Method: m.Words.Name, Blocks: NoBlocks, Factor: NoFactor, AtForm: true}
	if m.OneNoise {
		l.Noise = "noise that differs between rows; the method dense does"
	}
	return l
}

// backend is a [Method] on the host.
type backend struct {
	Base
	of Method
}

// Supports implements [device.Backend]. It refuses workloads that need what only a covariance matrix has, and
// workloads of a known size whose kernel is not known.
func (b backend) Supports(w device.Workload) error {
	if err := b.of.limits().Refuse(w); err != nil {
		return err
	}
	switch {
	case w.Program != nil:
		return b.of.Supports(w)
	case w.N > 0:
		return &device.UnsupportedError{Method: b.Method, What: "evaluations of any kernel: choose " + b.of.Suitable + ", or the method chosen"}
	}
	return nil
}

// Plan implements [device.Backend].
func (b backend) Plan(w device.Workload) device.Plan { return b.of.Plan(w) }

// NewWorkspace implements [device.Backend].
func (b backend) NewWorkspace(ctx context.Context, x *kernel.Points) (device.Workspace, error) {
	if err := b.CheckPoints(ctx, x, b.Plan(device.Workload{N: x.N, D: x.D})); err != nil {
		return nil, err
	}
	s := &State{Points: x, Host: b.Host, N: x.N, Threads: max(1, b.Info().Threads)}
	return NewWorkspace(s, b.of.limits(), b.of.Open(s)), nil
}

// Package hostmethod is the common part of methods for the CPU: [Base] is the part of a
// [device.Backend] that does not depend on the method.
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

// CheckWorkload returns an [*device.UnsupportedError] for a workload that needs what only a covariance matrix has, or
// whose kernel is not known although its size is. suitable says which kernels the method has.
func (b Base) CheckWorkload(w device.Workload, suitable string) error {
	switch {
	case w.Blocks != nil:
		return &device.UnsupportedError{Method: b.Method, What: "blocks of the inverse, which folds and places of several rows need; the method dense does"}
	case w.Factor:
		return &device.UnsupportedError{Method: b.Method, What: "a factor of the covariance matrix; the method dense does"}
	case w.Program == nil && w.N > 0:
		return &device.UnsupportedError{Method: b.Method, What: "evaluations of any kernel: choose " + suitable + ", or the method chosen"}
	}
	return nil
}

// CheckPoints returns the errors of [device.Backend.NewWorkspace], for the plan of the points.
func (b Base) CheckPoints(ctx context.Context, x *kernel.Points, plan device.Plan) error {
	if err := errors.Join(ctx.Err(), device.CheckInputs(x)); err != nil {
		return err
	}
	return plan.Check(b.Info())
}

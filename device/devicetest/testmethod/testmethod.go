// Package testmethod implements a method for tests: the formulas of device/textbook under
// the name textbook, without a factor that can be read or written and without joint
// covariances. It passes devicetest.Run, and only tests use it.
package testmethod

import (
	"context"

	"gpfit/device"
	"gpfit/device/textbook"
	"gpfit/kernel"
)

// Method implements [device.Method]. It accepts any device and uses none.
type Method struct{}

// name is the name of the method.
const name = "textbook"

// About implements [device.Method].
func (Method) About() device.About {
	return device.About{Name: name, Exact: true, Text: "the formulas of the literature, for tests", Help: "the formulas of the literature"}
}

// MaxRows returns 0.
func (Method) MaxRows(int64) int { return 0 }

// Backends returns one backend for each device.
func (Method) Backends(devices []device.Device) (out []device.Backend, err error) {
	for _, d := range devices {
		out = append(out, backend{textbook.New(), d})
	}
	return out, nil
}

// New returns the method on the device gonum.
func New() device.Backend {
	b := textbook.New()
	return backend{b, b.Capabilities().Devices[0]}
}

type backend struct {
	device.Backend
	on device.Device
}

func (b backend) Info() device.Info { return b.on.Info() }
func (b backend) Close() error      { return b.on.Close() }

func (b backend) Capabilities() device.Capabilities {
	c := b.Backend.Capabilities()
	c.Method, c.Devices = name, []device.Device{b.on}
	return c
}

func (b backend) NewWorkspace(ctx context.Context, x *kernel.Points) (device.Workspace, error) {
	w, err := b.Backend.NewWorkspace(ctx, x)
	if err != nil {
		return nil, err
	}
	return workspace{w.(capabilities)}, nil
}

// capabilities are the method's capabilities.
type capabilities interface {
	device.Workspace
	device.InverseDiagonal
	device.BlockInverse
}

// workspace has these capabilities and no others. Contract uses up what Form has made.
type workspace struct{ capabilities }

func (workspace) Method() string { return name }
func (workspace) Consumes() bool { return true }

func (w workspace) Contract(ctx context.Context, adj device.Adjoint, prog *kernel.Program, theta, grad, diag []float64) error {
	err := w.capabilities.Contract(ctx, adj, prog, theta, grad, diag)
	if err == nil { // a call with a context that is done brings it to its state before Form
		done, cancel := context.WithCancel(context.Background())
		cancel()
		_ = w.InverseDiagonal(done, make([]float64, w.N()))
	}
	return err
}

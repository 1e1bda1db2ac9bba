package testmethod

import (
	"context"
	"errors"
	"testing"

	"gpfit/device"
	"gpfit/device/devicetest"
	"gpfit/device/textbook"
	"gpfit/internal/testcheck"
	"gpfit/kernel"
)

func TestConformance(t *testing.T) {
	devicetest.Run(t, func(*testing.T) device.Backend { return New() })
}

// roundAbout is a method that is not exact and has no optional capability. Its
// log-determinants have an error of known size.
type roundAbout struct {
	Method
	err, stdErr float64
}

func (roundAbout) About() device.About { return device.About{Name: "roundabout"} }

func (m roundAbout) Backends(devices []device.Device) ([]device.Backend, error) {
	all, err := Method{}.Backends(devices)
	for i, b := range all {
		all[i] = roundAboutBackend{b, m}
	}
	return all, err
}

type roundAboutBackend struct {
	device.Backend
	m roundAbout
}

func (b roundAboutBackend) Capabilities() device.Capabilities {
	c := b.Backend.Capabilities()
	c.Method, c.Exact = b.m.About().Name, false
	return c
}

func (b roundAboutBackend) NewWorkspace(ctx context.Context, x *kernel.Points) (device.Workspace, error) {
	w, err := b.Backend.NewWorkspace(ctx, x)
	if err != nil {
		return nil, err
	}
	return roundAboutWorkspace{w, b.m}, nil
}

// roundAboutWorkspace has only the core; it does not promote other methods.
type roundAboutWorkspace struct {
	device.Workspace
	m roundAbout
}

func (w roundAboutWorkspace) Method() string { return w.m.About().Name }
func (roundAboutWorkspace) Consumes() bool   { return true }

func (w roundAboutWorkspace) LogDet() (value, stdErr float64, err error) {
	value, _, err = w.Workspace.LogDet()
	return value + w.m.err, w.m.stdErr, err
}

// TestInexactMethod checks that a method that is not exact passes the tests of every method,
// declares its properties, and returns errors for missing capabilities.
func TestInexactMethod(t *testing.T) {
	ctx, m := context.Background(), roundAbout{err: 0.3, stdErr: 0.2}
	open := func(t *testing.T) device.Backend {
		backends, _ := testcheck.Get2(device.Dispatch(ctx, device.Request{Device: textbook.Name, Method: m.About().Name}, []device.Driver{textbook.Driver()}, m))(t)
		return backends[0]
	}
	devicetest.Run(t, open)
	b := open(t)
	if c := b.Capabilities(); c.Exact || c.Method != "roundabout" || len(c.Devices) != 1 {
		t.Errorf("capabilities %+v", c)
	}
	w := testcheck.Get(b.NewWorkspace(ctx, kernel.NewPoints([]float64{1, 2, 3}, 3, 1)))(t)
	_, factor := device.Capability[device.FactorStore](w, "a factor")
	_, diagonal := device.Capability[device.InverseDiagonal](w, "a diagonal")
	_, blocks := device.Capability[device.BlockInverse](w, "blocks")
	_, joint := device.Capability[device.JointCovariance](w, "a covariance")
	_, residual := device.Capability[device.ResidualChecker](w, "a residual")
	for _, err := range []error{factor, diagonal, blocks, joint, residual} {
		if unsupported, ok := errors.AsType[*device.UnsupportedError](err); !ok || unsupported.Method != "roundabout" {
			t.Errorf("error %v, want an UnsupportedError", err)
		}
	}
}

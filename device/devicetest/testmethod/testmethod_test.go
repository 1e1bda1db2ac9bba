package testmethod

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"

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

// TestNearly checks the method with a bound against plain formulas: its errors are within the bound, and what Verify returns
// leaves the exact data fit.
func TestNearly(t *testing.T) {
	ctx, n := context.Background(), 40
	x := kernel.NewPoints(testcheck.Slice(n, func(i int) float64 { return 0.1 * float64(i) }), n, 1)
	prog := testcheck.Get(kernel.CompileText("rbf", 1))(t)
	y := testcheck.Slice(n, func(i int) float64 { return float64(i*i%7) - 3 })
	values := func(m device.Method, tolerance float64) (logDet, fit float64, b device.Bound, v device.Verified) {
		backends := testcheck.Get(m.Backends([]device.Device{New().(backend).on}))(t)
		w := testcheck.Get(device.For(backends[0], device.Workload{Tolerance: tolerance}).NewWorkspace(ctx, x))(t)
		defer w.Close()
		testcheck.Do(t, w.Form(ctx, prog, []float64{0.5, 1}, []float64{0.1}))
		alpha := slices.Clone(y)
		testcheck.Do(t, w.Solve(ctx, alpha, 1))
		logDet, _ = testcheck.Get2(w.LogDet())(t)
		if own, ok := w.(device.Bounded); ok {
			b = own.Bound()
			v = testcheck.Get(own.Verify(ctx, y, alpha, 1))(t)
		}
		return logDet, floats.Dot(y, alpha) / 2, b, v
	}
	logDet, fit, _, _ := values(Method{}, 0)
	for _, tolerance := range []float64{0, 1e-2} {
		l, f, b, v := values(Nearly{Error: 0.01}, tolerance)
		if off := math.Abs(l-logDet) / 2; off > b.LogDet || off < b.LogDet/100 || math.Abs(f-fit) > b.Fit || b.Tolerance != 0.01*max(tolerance, 1e-3) {
			t.Errorf("log-determinant off by %v, data fit by %v: %+v", off, f-fit, b)
		}
		if rest := fit - f - v.Correction[0]; v.Rows != n || rest < -1e-10 || rest > v.Rest[0] {
			t.Errorf("the data fit %v is off by %v after the correction: %+v", fit, rest, v)
		}
	}
}

package fit

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"gpfit/device"
	"gpfit/fit/problem"
	"gpfit/internal/must"
	"gpfit/kernel"
)

// checking is the CPU with a residual that the test chooses.
type checking struct {
	device.Backend
	residual float64
}

func (c checking) NewWorkspace(ctx context.Context, x *kernel.Points) (device.Workspace, error) {
	ws, err := c.Backend.NewWorkspace(ctx, x)
	return checkingWorkspace{ws, c.residual}, err
}

type checkingWorkspace struct {
	device.Workspace
	residual float64
}

func (w checkingWorkspace) Residual(context.Context) (float64, error) { return w.residual, nil }

func TestResidual(t *testing.T) {
	for _, c := range []struct {
		from     int
		residual float64
		words    string // of the error
	}{{30, 1e-13, ""}, {30, 1e-8, "cpu computes wrong results: do not use this device or its libraries (factor"}, {30, 0.1, "cpu computes wrong results: do not use this device or its libraries (factor"}, {31, 0.1, ""}} {
		task := must.Get(Prepare(synthetic(30), problem.Options{}, problem.Events{}))(t)
		task.ResidualFrom = c.from
		r, err := Evaluate(context.Background(), task, checking{backend, c.residual}, nil)
		if c.words != "" {
			if err == nil || !strings.Contains(err.Error(), c.words) {
				t.Errorf("%+v: error %v", c, err)
			}
			if _, err := Run(context.Background(), task, checking{backend, c.residual}); err == nil {
				t.Errorf("%+v: the fit passed", c)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if checked := c.from <= 30; checked != (r.Residual != nil) || checked && *r.Residual != c.residual {
			t.Errorf("%+v: residual %v", c, r.Residual)
		}
	}
}

// slipping is the CPU, called a GPU, whose inverse has a relative error from the k-th
// gradient on.
type slipping struct {
	device.Backend
	left *int
}

func (s slipping) Info() device.Info { return device.Info{Name: "cuda:0"} }

func (s slipping) NewWorkspace(ctx context.Context, x *kernel.Points) (device.Workspace, error) {
	ws, err := s.Backend.NewWorkspace(ctx, x)
	return slippingWorkspace{ws, s.left}, err
}

type slippingWorkspace struct {
	device.Workspace
	left *int
}

func (w slippingWorkspace) Contract(ctx context.Context, adj device.Adjoint, prog *kernel.Program, theta, grad, diag []float64) error {
	if *w.left--; *w.left < 0 {
		adj.Inv *= 1 + 1e-6
	}
	return w.Workspace.Contract(ctx, adj, prog, theta, grad, diag)
}

// TestWrongGradient checks that a fit on a device that begins to compute wrong
// gradients ends with an error that names it, or continues on the fallback to the
// same result.
func TestWrongGradient(t *testing.T) {
	d := synthetic(90)
	want := mustFit(t, d, problem.Options{Kernel: "rbf(ard)"}).Report
	for _, k := range []int{0, 3} {
		task, err := Prepare(d, problem.Options{Kernel: "rbf(ard)"}, problem.Events{})
		if err != nil {
			t.Fatal(err)
		}
		left := k
		var wrong *device.WrongError
		if _, err := Run(context.Background(), task, slipping{backend, &left}); !errors.As(err, &wrong) || wrong.Device != "cuda:0" {
			t.Errorf("gradient %d: error %v", k, err)
		}
		fallback := func(context.Context) (device.Backend, error) { return backend, nil }
		if task, err = Prepare(d, problem.Options{Kernel: "rbf(ard)"}, problem.Events{Fallback: fallback}); err != nil {
			t.Fatal(err)
		}
		left = k
		out := must.Get(Run(context.Background(), task, slipping{backend, &left}))(t)
		if r := out.Report; r.Device != "cpu" || math.Abs(r.NLML-want.NLML) > 1e-9*math.Abs(want.NLML) || !strings.Contains(strings.Join(r.Warnings, "\n"), "do not use this device") {
			t.Errorf("gradient %d: NLML %v on %s, want %v; %q", k, r.NLML, r.Device, want.NLML, r.Warnings)
		}
		out.Close()
	}
}

// TestWrongFactor checks that the fit verifies the first factor before it uses it.
func TestWrongFactor(t *testing.T) {
	fallback := func(context.Context) (device.Backend, error) { return backend, nil }
	task := must.Get(Prepare(synthetic(30), problem.Options{}, problem.Events{Fallback: fallback}))(t)
	task.ResidualFrom = 30
	out := must.Get(Run(context.Background(), task, checking{backend, 0.1}))(t)
	defer out.Close()
	if all := strings.Join(out.Report.Warnings, "\n"); !strings.Contains(all, "gpfit continued on cpu from evaluation 1") {
		t.Errorf("warnings %q", all)
	}
}

package fit

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"gpfit/device"
	"gpfit/fit/problem"
	"gpfit/hyperopt"
	"gpfit/internal/must"
	"gpfit/kernel"
)

// failing is the CPU until its k-th factorisation, when it fails permanently.
type failing struct {
	device.Backend
	k   *int
	err error
}

func (f failing) Info() device.Info { return device.Info{Name: "cuda:0"} }

func (f failing) NewWorkspace(ctx context.Context, x *kernel.Points) (device.Workspace, error) {
	if *f.k == 0 {
		return nil, f.err
	}
	ws, err := f.Backend.NewWorkspace(ctx, x)
	return failingWorkspace{ws, f}, err
}

type failingWorkspace struct {
	device.Workspace
	f failing
}

func (w failingWorkspace) Form(ctx context.Context, prog *kernel.Program, theta, noise []float64) error {
	if *w.f.k--; *w.f.k <= 0 {
		return w.f.err
	}
	return w.Workspace.Form(ctx, prog, theta, noise)
}

func (w failingWorkspace) InverseDiagonal(ctx context.Context, dst []float64) error {
	return w.Workspace.(device.InverseDiagonal).InverseDiagonal(ctx, dst)
}

func (w failingWorkspace) ContractDiagonal(ctx context.Context, adj device.Adjoint, middle []float64, prog *kernel.Program, theta, grad, diag []float64) error {
	return w.Workspace.(device.InverseDiagonal).ContractDiagonal(ctx, adj, middle, prog, theta, grad, diag)
}

// closeCounter counts calls of Close on the fallback.
type closeCounter struct {
	device.Backend
	closed *int
}

func (c closeCounter) Close() error { *c.closed++; return nil }

// TestFailover checks that the fallback replaces a device that is lost during the fit
// or has too little memory from the start. The result is the one of an undisturbed
// run, with a warning.
func TestFailover(t *testing.T) {
	d := synthetic(90)
	want := mustFit(t, d, problem.Options{Kernel: "rbf(ard)"}).Report
	for _, cause := range []error{&device.LostError{Device: "cuda:0", Err: errors.New("illegal address")}, &device.MemoryError{Where: "device"}} {
		for _, k := range []int{0, 1, 7} {
			closed, told := 0, 0
			task := must.Get(Prepare(d, problem.Options{Kernel: "rbf(ard)"}, problem.Events{
				Fallback:  func(context.Context) (device.Backend, error) { return closeCounter{backend, &closed}, nil },
				OnWarning: func(string) { told++ },
			}))(t)
			var lost *device.LostError
			if k == 0 && errors.As(cause, &lost) {
				continue // a device is not lost before it was had
			}
			left := k
			out, err := Run(context.Background(), task, failing{backend, &left, cause})
			if err != nil {
				t.Fatalf("%T at %d: %v", cause, k, err)
			}
			r := out.Report
			if math.Abs(r.NLML-want.NLML) > 1e-12*math.Abs(want.NLML) || r.Device != "cpu" || told != 1 ||
				len(r.Warnings) != 2 || !strings.Contains(r.Warnings[1], "gpfit continued on cpu") {
				t.Errorf("%T at %d: NLML %v, want %v; device %s, %d messages, warnings %q", cause, k, r.NLML, want.NLML, r.Device, told, r.Warnings)
			}
			// The failed evaluation is repeated and counts once.
			if k > 0 && (r.Evaluations != want.Evaluations || r.Iterations != want.Iterations) {
				t.Errorf("%T at %d: %+v in %d iterations, undisturbed %+v in %d", cause, k, r.Evaluations, r.Iterations, want.Evaluations, want.Iterations)
			}
			if err := out.SaveModel(t.TempDir()+"/m", true); err != nil {
				t.Error(err)
			}
			out.Close()
			if closed != 1 {
				t.Errorf("the fallback was closed %d times", closed)
			}
		}
	}
}

// TestNoFailover checks that the error is the device's if there is no fallback or the
// fallback fails, too.
func TestNoFailover(t *testing.T) {
	lost := &device.LostError{Device: "cuda:0", Err: errors.New("illegal address")}
	for what, fallback := range map[string]func(context.Context) (device.Backend, error){
		"none":   nil,
		"broken": func(context.Context) (device.Backend, error) { return nil, errors.New("no cpu") },
	} {
		task := must.Get(Prepare(synthetic(40), problem.Options{}, problem.Events{Fallback: fallback}))(t)
		k := 3
		var got *device.LostError
		out, err := Run(context.Background(), task, failing{backend, &k, lost})
		if out != nil || !errors.As(err, &got) || !strings.Contains(err.Error(), "to continue from there: set lengthscale=") {
			t.Errorf("%s: outcome %v, error %v", what, out, err)
		}
	}
}

// TestSeveralDevices checks that restarts run in parallel on several backends, with
// the result of one.
func TestSeveralDevices(t *testing.T) {
	d := synthetic(60)
	o := problem.Options{Kernel: "matern52(ard)", Settings: hyperopt.Settings{Restarts: 4, Seed: 3}}
	want := mustFit(t, d, o).Report
	task := must.Get(Prepare(d, o, problem.Events{}))(t)
	out := must.Get(Run(context.Background(), task, backend, backend, backend))(t)
	defer out.Close()
	r := out.Report
	// The final evaluation of the best point may cost one value more or less.
	if math.Abs(r.NLML-want.NLML) > 1e-9*math.Abs(want.NLML) || r.Device != "cpu,cpu,cpu" || len(r.Starts) != 5 ||
		r.Evaluations.Gradient != want.Evaluations.Gradient || math.Abs(float64(r.Evaluations.Value-want.Evaluations.Value)) > 1 {
		t.Errorf("NLML %v, want %v; device %s, %+v against %+v", r.NLML, want.NLML, r.Device, r.Evaluations, want.Evaluations)
	}
}

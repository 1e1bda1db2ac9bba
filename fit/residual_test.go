package fit

import (
	"context"
	"strings"
	"testing"

	"gpfit/device"
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
	}{{30, 1e-9, ""}, {30, 0.1, "the factor computed by cpu is wrong"}, {31, 0.1, ""}} {
		task, err := Prepare(synthetic(30), Options{})
		if err != nil {
			t.Fatal(err)
		}
		task.residualFrom = c.from
		r, err := task.Evaluate(context.Background(), checking{backend, c.residual}, nil)
		if c.words != "" {
			if err == nil || !strings.Contains(err.Error(), c.words) {
				t.Errorf("%+v: error %v", c, err)
			}
			if _, err := task.Fit(context.Background(), checking{backend, c.residual}); err == nil {
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

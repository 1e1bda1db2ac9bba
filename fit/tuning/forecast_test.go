package tuning

import (
	"testing"

	"gpfit/cpu"
	"gpfit/device"
	"gpfit/fit/problem"
	"gpfit/hyperopt"
	"gpfit/internal/testcheck"
	"gpfit/method/tree"
)

// TestForecastOfFewRows checks that few rows count as the method dense takes them where the method of all rows is not exact.
func TestForecastOfFewRows(t *testing.T) {
	const n, few = 6000, 500
	d := problem.Data{N: n, D: 2, X: make([]float64, 2*n), Y: make([]float64, n)}
	for i := range d.Y {
		d.X[2*i], d.X[2*i+1], d.Y[i] = float64(i%71), float64(i%83), float64(i%7)
	}
	job := New(testcheck.Get(problem.New(d, problem.Options{Kernel: "matern32"}))(t), problem.Events{})
	host := testcheck.Get(cpu.Open(device.Options{}))(t)
	defer host.Close()
	on := testcheck.Get(tree.Method{}.Backends([]device.Device{host}))(t)[0]
	w := job.workload()
	w.N = few
	got := job.Forecast(on, []hyperopt.Expectation{{Rows: few, Values: 10}}).Seconds
	testcheck.Within(t, got, 10*valueShare*device.GradientTime(device.Dense{}.On(host), w).Seconds(), 1e-9, "seconds")
	if all := job.GradientTime(on).Seconds(); got > 10*valueShare*all*few/n/2 {
		t.Errorf("%g s for few rows, %g s for all", got, all)
	}
}

// TestWorked checks that an evaluation counts as many operations as its plan has, whatever the method counts.
func TestWorked(t *testing.T) {
	const value, gradient = 1e6, 3e6
	for _, c := range []struct {
		factor, gradient float64 // the totals of the method
		pieces           int
		want             float64
	}{{value, gradient - value, 10, gradient}, {500, 7e4, 7, gradient}, {500, 7e4, 1, gradient}, {value, gradient, 4, value + gradient}} {
		var under device.Progress
		sum := 0.0
		for _, p := range []device.Progress{{Stage: "factor", Total: c.factor}, {Stage: "gradient", Total: c.gradient}, {Stage: "factor", Total: c.factor}} {
			for range c.pieces {
				p.Done += p.Total / float64(c.pieces)
				sum += worked(under, p, device.Plan{FlopsValue: value, FlopsGradient: gradient})
				under = p
			}
			sum += worked(under, p, device.Plan{FlopsValue: value, FlopsGradient: gradient}) // some tell the end twice
		}
		if want := value + c.want; sum < 0.999*want || sum > 1.001*want { // a value, and a value with gradient
			t.Errorf("%+v: %g operations, want %g", c, sum, want)
		}
	}
}

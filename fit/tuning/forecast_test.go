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
	const n, few = 7000, 500
	d := problem.Data{N: n, D: 2}
	for i := range n {
		d.X, d.Y = append(d.X, float64(i%71), float64(i%83)), append(d.Y, float64(i%7))
	}
	job := New(testcheck.Get(problem.New(d, problem.Options{Kernel: "matern32"}))(t), problem.Events{})
	host := testcheck.Get(cpu.Open(device.Options{}))(t)
	defer host.Close()
	on := testcheck.Get(tree.Method{}.Backends([]device.Device{host}))(t)[0]
	w := job.workload()
	w.N = few
	got := job.Forecast(on, []hyperopt.Expectation{{Rows: few, Values: 10}}).Seconds
	testcheck.Within(t, got, 10*valueShare*device.GradientTime(device.Dense{}.On(host), w).Seconds(), 1e-9, "seconds")
}

// TestWorked checks that an evaluation counts as many operations as its plan has, whatever the method counts.
func TestWorked(t *testing.T) {
	plan := device.Plan{FlopsValue: 1e6, FlopsGradient: 3e6}
	for _, total := range []map[string]float64{{"factor": 1e6, "gradient": 2e6}, {"factor": 500, "gradient": 7e4}} {
		under, sum := device.Progress{}, 0.0
		for _, stage := range []string{"factor", "gradient", "factor"} {
			for _, share := range []float64{0.1, 0.6, 1, 1} { // some tell the end twice
				now := device.Progress{Stage: stage, Done: share * total[stage], Total: total[stage]}
				sum += worked(under, now, plan)
				under = now
			}
		}
		testcheck.Within(t, sum, 4e6, 1, "operations of a value with gradient and one without, %v", total)
	}
}

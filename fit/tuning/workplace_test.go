package tuning

import (
	"math"
	"testing"

	"gpfit/device"
	"gpfit/device/devicetest/testmethod"
	"gpfit/device/textbook"
	"gpfit/fit/problem"
	"gpfit/internal/testcheck"
)

// TestExpertsAreExact checks that subsets of a fit by local experts do not take a method with a bound, although it is chosen for one
// process of these rows: experts do not know its bound.
func TestExpertsAreExact(t *testing.T) {
	const n = 7000
	x := testcheck.Slice(2*n, func(i int) float64 { return math.Mod(float64(i)*0.7548776662, 1) })
	data := problem.Data{X: x, Y: testcheck.Slice(n, func(i int) float64 { return math.Sin(9 * x[2*i]) }), N: n, D: 2, FeatureNames: []string{"a", "b"}, TargetName: "y"}
	for experts, exact := range map[string]bool{"": false, "kmeans:2": true} {
		job := New(testcheck.Get(problem.New(data, problem.Options{Kernel: "rbf", Experts: experts}))(t), problem.Events{})
		req := device.Request{Device: textbook.Name, Workload: device.Workload{N: 10, D: 2}}
		b, _ := testcheck.Get2(device.Dispatch(t.Context(), req, []device.Driver{textbook.Driver()}, testmethod.Method{}, testmethod.Nearly{Share: 1e-9}))(t)
		w := &Workplace{Job: job, Backends: b}
		if got := w.suiting(0, job).Capabilities(); got.Exact != exact {
			t.Errorf("experts %q: the method %s", experts, got.Method)
		}
	}
}

package fit

import (
	"math"
	"strings"
	"testing"

	"gpfit/fit/problem"
	"gpfit/internal/must"
)

// TestConditionWarning checks that a report states the number of remaining digits if
// few remain.
func TestConditionWarning(t *testing.T) {
	data := problem.Data{N: 40, D: 1, FeatureNames: []string{"x"}, TargetName: "y"}
	for i := range 40 {
		x := float64(i) / 8
		data.X, data.Y = append(data.X, x), append(data.Y, math.Sin(x))
	}
	for noise, want := range map[float64]bool{0.01: false, 1e-8: false, 1e-13: true} {
		job := must.Get(Prepare(data, problem.Options{Fix: []problem.Assignment{{Name: "noise_variance", Value: noise, Given: true}, {Name: "lengthscale", Value: 1, Given: true}}}, problem.Events{}))(t)
		r := must.Get(Evaluate(t.Context(), job, backend, nil))(t)
		if got := strings.Contains(strings.Join(r.Warnings, "\n"), "a condition number of about"); got != want {
			t.Errorf("noise %g: warnings %q", noise, r.Warnings)
		}
	}
}

// TestGradientWarning: a report names the derivatives that rounding leaves few digits.
func TestGradientWarning(t *testing.T) {
	data := problem.Data{N: 40, D: 1, FeatureNames: []string{"x"}, TargetName: "y"}
	for i := range 40 {
		x := float64(i) / 8
		data.X, data.Y = append(data.X, x), append(data.Y, math.Sin(x))
	}
	for _, c := range []struct {
		kernel string
		noise  float64
		want   string
	}{
		{"rbf", 0.01, ""},
		{"linear*linear", 0.01, ""},
		{"linear*linear", 1e-9, "signal_variance"},
		{"linear", 1e-9, ""},
	} {
		for _, objective := range []problem.Criterion{problem.NLML, problem.LOO} {
			job := must.Get(Prepare(data, problem.Options{Kernel: c.kernel, Objective: objective, Fix: []problem.Assignment{{Name: "noise_variance", Value: c.noise, Given: true}}}, problem.Events{}))(t)
			r := must.Get(Evaluate(t.Context(), job, backend, nil))(t)
			const words = "rounding leaves few digits of the gradient"
			got := strings.Join(r.Warnings, "\n")
			if want := c.want != "" && objective == problem.NLML; strings.Contains(got, words) != want || want && !strings.Contains(got, c.want) {
				t.Errorf("%s, noise %g, %s: warnings %q", c.kernel, c.noise, objective, r.Warnings)
			}
		}
	}
}

package fit

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gpfit/fit/problem"
	"gpfit/fit/summary"
)

// white returns n targets of noise alone.
func white(n int) problem.Data {
	rng := rand.New(rand.NewPCG(6, 6))
	d := problem.Data{N: n, D: 1}
	for range n {
		d.X = append(d.X, rng.Float64())
		d.Y = append(d.Y, 3*rng.NormFloat64())
	}
	return d
}

func interpolationWarnings(r *summary.Report) []string {
	var out []string
	for _, w := range r.Warnings {
		if strings.Contains(w, "interpolator") {
			out = append(out, w)
		}
	}
	return out
}

// shortScale starts a fit at the optimum of white noise at which the kernel, and not the
// noise variance, explains the targets.
var shortScale = []problem.Assignment{{Name: "lengthscale", Value: 1e-3, Given: true}, {Name: "noise_variance", Value: 1e-8, Given: true}}

// TestDegenerate checks that a fit to noise that interpolates is recognised by its
// leave-one-out errors, which are those of the mean.
func TestDegenerate(t *testing.T) {
	r := mustFit(t, white(120), problem.Options{Kernel: "rbf", Set: shortScale}).Report
	i := r.Interpolation
	if i == nil || !i.Degenerate || i.LeaveOneOut == nil || math.Abs(i.LeaveOneOut.RMSEStandardized-1) > 0.1 || i.Condition == nil || *i.Condition > 100 {
		t.Fatalf("%+v", i)
	}
	if i.NoiseFloor != 0.01 {
		t.Errorf("floor %v", i.NoiseFloor)
	}
	got := interpolationWarnings(&r)
	if len(got) != 1 || !strings.Contains(got[0], "option noise-floor 0.01") || !strings.Contains(got[0], "option prior") || !strings.Contains(got[0], "condition number") {
		t.Errorf("%q", r.Warnings)
	}
	if r.Scores.LeaveOneOut != nil {
		t.Error("scores that were not requested")
	}
	// The advice works: the same start with the floor ends at another optimum.
	r = mustFit(t, white(120), problem.Options{Kernel: "rbf", NoiseFloor: "0.01"}).Report
	if r.Interpolation != nil || r.Parameters["noise_variance"] < 0.5 {
		t.Errorf("%+v, %v", r.Interpolation, r.Parameters)
	}
}

// TestExactTargets checks that a fit to targets without noise is not called degenerate.
func TestExactTargets(t *testing.T) {
	d := idle(60, 2)
	for i := range d.N {
		d.Y[i] = math.Sin(d.X[2*i]) + 0.1*d.X[2*i+1]
	}
	r := mustFit(t, d, problem.Options{Kernel: "matern52(ard)"}).Report
	if i := r.Interpolation; i == nil || i.Degenerate || i.NoiseFloor != 0 || !i.AtBound {
		t.Fatalf("%+v, %v", i, r.Parameters)
	}
	got := interpolationWarnings(&r)
	if len(got) != 1 || !strings.Contains(got[0], "suits targets without noise") {
		t.Errorf("%q", r.Warnings)
	}
	if strings.Contains(strings.Join(r.Warnings, "\n"), "a smaller value") {
		t.Errorf("%q", r.Warnings)
	}
}

// TestNoInterpolation checks fits that the judgement does not concern.
func TestNoInterpolation(t *testing.T) {
	known := white(40)
	known.NoiseVariance = make([]float64, 40)
	for i := range known.NoiseVariance {
		known.NoiseVariance[i] = 1
	}
	for name, r := range map[string]summary.Report{
		"noisy":       mustFit(t, idle(60, 2), problem.Options{Kernel: "rbf"}).Report,
		"known noise": mustFit(t, known, problem.Options{Set: shortScale}).Report,
		"no noise":    mustFit(t, idle(40, 1), problem.Options{Kernel: "matern12", NoNoise: true}).Report,
		"fixed":       mustFit(t, white(40), problem.Options{Fix: shortScale}).Report,
	} {
		if r.Interpolation != nil {
			t.Errorf("%s: %+v", name, r.Interpolation)
		}
	}
}

// TestNoiseFloor checks the floor's units, and the options that contradict it.
func TestNoiseFloor(t *testing.T) {
	d := white(80)
	r := mustFit(t, d, problem.Options{Kernel: "rbf", NoiseFloor: "20:original"}).Report
	if got := r.ParametersOriginalUnits["noise_variance"]; math.Abs(got-20) > 1e-9 || len(r.AtBound) != 1 {
		t.Errorf("noise variance %v, at bound %v", got, r.AtBound)
	}
	r = mustFit(t, d, problem.Options{Kernel: "rbf", NoiseFloor: "2"}).Report
	if got := r.Parameters["noise_variance"]; math.Abs(got-2) > 1e-12 {
		t.Errorf("noise variance %v", got)
	}
	grouped := d
	grouped.NoiseGroup = make([]string, d.N)
	for i := range grouped.NoiseGroup {
		grouped.NoiseGroup[i] = string(rune('a' + i%2))
	}
	r = mustFit(t, grouped, problem.Options{Kernel: "rbf", NoiseFloor: "2"}).Report
	if a, b := r.Parameters["noise_variance[a]"], r.Parameters["noise_variance[b]"]; math.Abs(a-2) > 1e-12 || math.Abs(b-2) > 1e-12 {
		t.Errorf("noise variances %v, %v", a, b)
	}
	// Tied groups have one bound.
	mustFit(t, grouped, problem.Options{Kernel: "rbf", NoiseFloor: "2", Ties: []problem.Tie{{Name: "noise_variance[b]", Source: "noise_variance[a]"}}})
	for want, o := range map[string]problem.Options{
		"must be a positive number":    {NoiseFloor: "-1"},
		"must be a positive":           {NoiseFloor: "1:kW"},
		"option noise none":            {NoiseFloor: "1", NoNoise: true},
		"option bounds":                {NoiseFloor: "1", Bounds: []problem.Interval{{Name: "noise_variance", Lo: 0.1, Hi: 5}}},
		"the value 0.5":                {NoiseFloor: "1", Set: []problem.Assignment{{Name: "noise_variance", Value: 0.5, Given: true}}},
		"the value 0.1 of noise_varia": {NoiseFloor: "1", Fix: []problem.Assignment{{Name: "noise_variance"}}},
		"upper bound 100":              {NoiseFloor: "1e3"},
	} {
		_, err := Prepare(d, o, problem.Events{})
		var option *problem.OptionError
		if !errors.As(err, &option) || option.Option != "noise-floor" || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	two := d
	two.TargetNames, two.Y = []string{"a", "b"}, append(append([]float64{}, d.Y...), d.Y...)
	if _, err := Prepare(two, problem.Options{NoiseFloor: "1:original"}, problem.Events{}); err == nil || !strings.Contains(err.Error(), "several targets") {
		t.Errorf("%v", err)
	}
}

package fit

import (
	"errors"
	"math"
	"strings"
	"testing"

	"gpfit/fit/problem"
	"gpfit/fit/summary"
)

// TestWildScales checks that columns at the limits of double precision are errors
// with advice before any work, and that columns near these limits are fitted.
func TestWildScales(t *testing.T) {
	for want, scale := range map[string][3]float64{
		`column "a" has the value`:               {1e160, 1, 1},
		`column "b" has a standard deviation of`: {1, 1e-160, 1},
		`target "y" has the value`:               {1, 1, 1e160},
		`target "y" has a standard deviation of`: {1, 1, 1e-300},
		"":                                       {1e140, 1e-140, 1e-140},
	} {
		data := problem.Data{N: 6, D: 2, FeatureNames: []string{"a", "b"}, TargetName: "y"}
		for i := range 6 {
			v := float64(i)
			data.X = append(data.X, scale[0]*v, scale[1]*math.Sin(3*v))
			data.Y = append(data.Y, scale[2]*math.Cos(v))
		}
		_, err := Prepare(data, problem.Options{}, problem.Events{})
		var de *problem.DataError
		if want == "" && err != nil || want != "" && (!errors.As(err, &de) || !strings.Contains(err.Error(), want)) {
			t.Errorf("scales %v: error %v, want %q", scale, err, want)
		}
	}
}

// TestCheckFinite checks that a number in a report that is not finite is an error
// that names it.
func TestCheckFinite(t *testing.T) {
	for want, r := range map[string]summary.Report{
		"nlml is not":                    {NLML: math.NaN()},
		"parameters lengthscale is not":  {Parameters: map[string]float64{"lengthscale": math.Inf(1)}},
		"starts objective is not":        {Starts: []summary.StartReport{{Objective: new(float64)}, {Objective: ptr(math.Inf(-1))}}},
		"test rmse is not":               {Test: &summary.TestScores{RMSE: math.NaN()}},
		"std_errors interval95 x is not": {StdErrors: &summary.StdErrors{Interval95: map[string][2]float64{"x": {0, math.NaN()}}}},
		"":                               {Test: &summary.TestScores{NLPD: summary.Number(math.Inf(1))}},
	} {
		err := r.CheckFinite()
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

func ptr(v float64) *float64 { return &v }

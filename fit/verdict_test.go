package fit

import (
	"math"
	"strings"
	"testing"

	"gpfit/fit/problem"
	"gpfit/fit/summary"
	"gpfit/internal/must"
)

// TestCalibration compares the verdicts with the sums of binomial probabilities.
func TestCalibration(t *testing.T) {
	tail := func(n, from, to int) float64 {
		sum := 0.0
		for k := from; k <= to; k++ {
			a, _ := math.Lgamma(float64(n + 1))
			b, _ := math.Lgamma(float64(k + 1))
			c, _ := math.Lgamma(float64(n - k + 1))
			sum += math.Exp(a - b - c + float64(k)*math.Log(0.95) + float64(n-k)*math.Log(0.05))
		}
		return sum
	}
	seen := map[summary.Calibration]bool{}
	for _, n := range []int{1, 2, 10, 52, 103, 104, 1000} {
		for k := range n + 1 {
			want := summary.Calibration("")
			if tail(n, 0, k) < 0.005 {
				want = summary.Overconfident
			} else if tail(n, k, n) < 0.005 {
				want = summary.Underconfident
			}
			seen[want] = true
			if got := summary.NewCalibration(float64(k)/float64(n), n); got != want {
				t.Errorf("%d of %d rows: %q, want %q", k, n, got, want)
			}
		}
	}
	if len(seen) != 3 {
		t.Errorf("verdicts %v", seen)
	}
	if summary.NewCalibration(0, 0) != "" {
		t.Error("a verdict without rows")
	}
}

// TestVerdict checks that a report judges intervals that are far too narrow or too wide,
// and says nothing about good ones.
func TestVerdict(t *testing.T) {
	for noise, want := range map[float64]summary.Calibration{1e-6: summary.Overconfident, 30: summary.Underconfident, 0: ""} {
		d := synthetic(400)
		d.Test = make([]bool, d.N)
		for i := range d.Test {
			d.Test[i] = i%2 == 1
		}
		o := problem.Options{Kernel: "rbf(ard)"}
		if noise > 0 {
			o.Fix = []problem.Assignment{{Name: "noise_variance", Value: noise, Given: true}, {Name: "lengthscale", Value: 3, Given: true}}
		}
		r := mustFit(t, d, o).Report
		line := "the 95 % interval covers "
		if r.Test.Calibration != want || strings.Contains(r.Text(), line) != (want != "") || strings.HasSuffix(r.Test.Verdict, string(want)) != true {
			t.Errorf("noise variance %v: %.3f of %d rows covered, %q, %q", noise, r.Test.Coverage95, r.Test.N, r.Test.Calibration, r.Test.Verdict)
		}
		job := mustPrepare(t, d, o)
		cv := must.Get(CrossValidate(t.Context(), job, backend, r.Parameters, problem.CrossValidation{Folds: 4}))(t)
		if cv.Calibration != want || (cv.Verdict == "") != (want == "") {
			t.Errorf("noise variance %v: %.3f covered in cross-validation, %q", noise, cv.Coverage95, cv.Calibration)
		}
	}
}

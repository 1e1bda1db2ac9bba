package fit

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat"

	"gpfit/fit/problem"
	"gpfit/fit/summary"
	"gpfit/gp"
	"gpfit/internal/testcheck"
)

// relations are targets that are exactly a linear function of the columns.
var relations = []struct {
	rows    int
	columns string
	row     func(i int, uniform, normal random) []float64
}{
	{8, "x y", func(i int, _, _ random) []float64 {
		x := []float64{.92, .82, .03, .33, .12, .4, .23, .71}[i]
		return []float64{x, 2*x + 1}
	}},
	{11, "x y", func(i int, _, _ random) []float64 {
		x := []float64{.33, .6, .74, .38, .12, .27, .64, .85, .29, .57, .36}[i]
		return []float64{x, x}
	}},
	{6, "a b y", func(_ int, uniform, _ random) []float64 {
		a, b := uniform(), uniform()
		return []float64{a, b, 4*a - 3*b + 7}
	}},
	{15, "a b c d y", func(_ int, uniform, _ random) []float64 { // a leaked column
		a, b, c, d := uniform(), uniform(), uniform(), uniform()
		return []float64{a, b, c, d, a}
	}},
	{80, "celsius y", func(_ int, uniform, _ random) []float64 { // the method markov takes it
		c := math.Round(1000*uniform()) / 100
		return []float64{c, 1.8*c + 32}
	}},
	{60, "a b c y", func(_ int, uniform, normal random) []float64 { // of very different sizes
		a, b, c := 1e-3*uniform(), 1e4+100*normal(), normal()
		return []float64{a, b, c, 1000*a - 0.01*b + c}
	}},
}

// TestExactRelations fits targets that are exactly a linear function of the columns. Such a mean is chosen and said, the
// data fit is not negative, predictions are exact, and the file is found right.
func TestExactRelations(t *testing.T) {
	seeds := uint64(1)
	if testcheck.Long() {
		seeds = 100
	}
	for seed := range seeds {
		for k, one := range relations {
			t.Run(fmt.Sprint(seed, " ", one.columns), func(t *testing.T) {
				d := drawn(uint64(k), seed, one.rows, one.columns, one.row)
				out := mustFit(t, d, problem.Options{})
				r := out.Report
				if r.Mean != "linear" || r.DataFit < 0 || !strings.Contains(strings.Join(r.Warnings, "\n"), "the target is a linear function of ") {
					t.Errorf("mean %s, data fit %g, warnings %q", r.Mean, r.DataFit, r.Warnings)
				}
				path := filepath.Join(t.TempDir(), "m.gpfit")
				testcheck.Do(t, out.SaveModel(path, false))
				testcheck.Get(gp.Check(t.Context(), path, nil))(t)
				// Between rows, and as far outside.
				var rows, want []float64
				columns := d.D
				for i := 1; i < d.N; i++ {
					for _, share := range []float64{0.3, 2} {
						for j := range columns {
							rows = append(rows, d.X[(i-1)*columns+j]+share*(d.X[i*columns+j]-d.X[(i-1)*columns+j]))
						}
						want = append(want, d.Y[i-1]+share*(d.Y[i]-d.Y[i-1]))
					}
				}
				got := testcheck.Get(out.Posterior().Predict(t.Context(), rows, len(want)))(t)
				for i, m := range got.Mean {
					if off := math.Abs(m-want[i]) / stat.StdDev(d.Y, nil); !(off <= 1e-6) {
						t.Errorf("mean %v, want %v: off by %.2g standard deviations", m, want[i], off)
					}
				}
			})
		}
	}
}

// TestDigits fits smooth targets without noise, whose covariance leaves no digit where the likelihood is highest. The fit goes
// on with more noise, which leaves digits; the user's floor stays, and then the verdict is not good. Few digits leave no
// average.
func TestDigits(t *testing.T) {
	d := drawn(3, 1, 45, "a b y", func(_ int, uniform, _ random) []float64 {
		a, b := uniform(), uniform()
		return []float64{a, b, a*a*a - a*b + 0.1*a}
	})
	raised := mustFit(t, d, problem.Options{Kernel: "rbf(ard)"}).Report
	if f := raised.NoiseFloor; f == nil || !(f.FewDigits < 0) || !f.Raised || !(*raised.Digits >= 1) || raised.Verdict.Level != summary.Good || !(raised.Scores.LeaveOneOut.RMSEStandardized < 1e-3) {
		t.Errorf("digits %v, floor %+v, %s", *raised.Digits, f, raised.Verdict.Headline)
	}
	few := mustFit(t, d, problem.Options{Kernel: "rbf(ard)", NoiseFloor: problem.NoiseFloor{Variance: 1e-8}}).Report
	if !(*few.Digits < 2) || !strings.Contains(few.Predictions, "of the parameters found") || !strings.Contains(few.Predictions, "too few digits") {
		t.Errorf("digits %v: %s", *few.Digits, few.Predictions)
	}
	kept := mustFit(t, d, problem.Options{Kernel: "rbf(ard)", NoiseFloor: problem.NoNoiseFloor}).Report
	if kept.NoiseFloor != nil || !(*kept.Digits < 0) || kept.Verdict.Level != summary.Fair || !strings.Contains(kept.Verdict.Text(), "less than one digit of the gradient") {
		t.Errorf("digits %v, floor %+v, %s", *kept.Digits, kept.NoiseFloor, kept.Verdict.Text())
	}
}

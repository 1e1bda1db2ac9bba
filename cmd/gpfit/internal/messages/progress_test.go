package messages

import (
	"strings"
	"testing"
	"time"

	"gpfit/device"
	"gpfit/hyperopt"
	"gpfit/hyperopt/descent"
)

// TestFitting follows the counts, the share and the time left through a fit whose
// evaluations take two seconds each on all 2,000 rows and an eighth of that on half.
func TestFitting(t *testing.T) {
	now := time.Unix(0, 0)
	f := &fitting{stages: []hyperopt.Expectation{{Rows: 1000, Values: 18}, {Rows: 2000, Values: 11}}}
	f.progress(device.Progress{Stage: "factor", Done: 1, Total: 2})
	check := func(want string) {
		t.Helper()
		if got := f.text(now); !strings.HasPrefix(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	check("evaluation 1 of about 18, 17 %")
	step := func(rows, value int, each time.Duration) {
		now = now.Add(each)
		f.accept(descent.Iteration{Rows: rows, Total: descent.Evaluations{Value: value}}, "", now)
	}
	for i := 1; i <= 9; i++ {
		step(1000, i, 250*time.Millisecond)
	}
	// 9 values of a quarter of a second are left, then 11 of two seconds: 24 s.
	check("evaluation 10 of about 18; about 25s left; 1000 rows; NLML 0.000000")
	step(0, 1, 2*time.Second)
	check("evaluation 2 of about 11; NLML")
	now = now.Add(time.Second)
	f.progress(device.Progress{Stage: "factor", Done: 2, Total: 2})
	f.progress(device.Progress{Stage: "gradient", Done: 1, Total: 4})
	check("evaluation 2 of about 11, 50 %; about 20s left; NLML") // 9.5 of two seconds
	// A step of the line search that is not accepted is followed by another factorisation.
	f.progress(device.Progress{Stage: "factor", Done: 1, Total: 2})
	check("evaluation 3 of about 11, 17 %;")
	for i := 2; i <= 16; i++ {
		step(0, i, 2*time.Second)
	}
	check("evaluation 17 of about 18;") // longer than usual
}

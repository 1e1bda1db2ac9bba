package fit

import (
	"strings"
	"testing"

	"gpfit/fit/problem"
	"gpfit/hyperopt"
	"gpfit/internal/testcheck"
	"gpfit/kernel"
)

// TestNoCovariance checks that a formula that is not a covariance function is the formula's error, with
// its place, and not the device's or the noise's.
func TestNoCovariance(t *testing.T) {
	const good = "formula(exp(-r/a), a=2)"
	for _, c := range []struct{ kernel, culprit string }{
		{"formula(exp(-r/a)*(1 + 1e-12*(x - y)), dims=0, a=1)", "formula(exp(-r/a)*(1"},
		{"rbf + " + good + "*formula(exp(-r/a) + 1e-10*x, dims=0, a=1)", "formula(exp(-r/a) + 1e-10"},
		{"formula(-exp(-r/a), a=1)", "formula(-"},
		{good + " + formula(-2*exp(-r/a), a=3)", "formula(-2"},
	} {
		o := problem.Options{Kernel: c.kernel, Mean: "zero", Settings: hyperopt.Settings{MaxEvaluations: 4, Coarse: hyperopt.CoarseOff}}
		job, err := Prepare(smooth(60), o, problem.Events{})
		if err == nil {
			_, err = Run(t.Context(), job, backend)
		}
		none := testcheck.Fail[*kernel.KernelhoodError](t, err, "not a covariance function")
		if none == nil || !strings.HasPrefix(none.Text[none.Pos:], c.culprit) {
			t.Errorf("%s: %v", c.kernel, err)
		}
	}
}

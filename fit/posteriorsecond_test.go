package fit

import (
	"strings"
	"testing"

	"gpfit/fit/problem"
	"gpfit/gp"
	"gpfit/internal/testcheck"
)

// TestSecondModel compares the means of a default fit of few rows with the average of two fits: of the chosen kernel and of the
// second.
func TestSecondModel(t *testing.T) {
	data := synthetic(40)
	means := func(out *Outcome) []float64 {
		x := testcheck.Get(gp.NewMixture(t.Context(), out.Model, backend, 0))(t)
		defer x.Close()
		return testcheck.Get(x.PredictMeans(t.Context(), data.X, 40))(t)[0]
	}
	out := mustFit(t, data, problem.Options{})
	d := out.Model.Draws
	if d.Kernel == "" || d.From != averaged/2 || len(d.Theta) != averaged || !strings.HasSuffix(out.Report.Predictions, "half of them of a second model, "+d.Kernel) {
		t.Fatalf("%d draws, from %d on of %q: %s", len(d.Theta), d.From, d.Kernel, out.Report.Predictions)
	}
	first := means(mustFit(t, data, problem.Options{Kernel: out.Report.Kernel, Mean: out.Report.Mean}))
	second := means(mustFit(t, data, problem.Options{Kernel: d.Kernel, Mean: d.Mean.Text}))
	for i, got := range means(out) {
		testcheck.Within(t, got, (first[i]+second[i])/2, 0.1, "mean of row %d, %v and %v alone", i, first[i], second[i])
	}
}

package fit

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gpfit/fit/problem"
	"gpfit/fit/summary"
)

// TestRelevance checks the order of columns, their relevance where it is known, and their
// lengthscales in original units.
func TestRelevance(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 1))
	d := problem.Data{N: 400, D: 4, FeatureNames: []string{"unused", "weak", "strong", "constant"}, TargetName: "y"}
	for range d.N {
		u, w, s := rng.Float64(), 1000*rng.Float64(), 0.01*rng.Float64()
		d.X = append(d.X, u, w, s, 7)
		// Standard deviations 1/√12 and 4/√12.
		d.Y = append(d.Y, w/1000+400*s+0.01*rng.NormFloat64())
	}
	for _, text := range []string{"linear(ard)", "rbf(ard)", "rbf + linear"} {
		r := mustFit(t, d, problem.Options{Kernel: text}).Report
		if len(r.Relevance) != 3 {
			t.Fatalf("%s: %v", text, r.Relevance)
		}
		strong, weak, unused := r.Relevance[0], r.Relevance[1], r.Relevance[2]
		if strong.Column != "strong" || strong.Index != 2 || weak.Column != "weak" || unused.Column != "unused" {
			t.Errorf("%s: order %v", text, r.Relevance)
		}
		if math.Abs(strong.Relevance-4/math.Sqrt(17)) > 0.05 || math.Abs(weak.Relevance-1/math.Sqrt(17)) > 0.05 || unused.Relevance > 0.05 {
			t.Errorf("%s: relevance %v", text, r.Relevance)
		}
		switch text {
		case "rbf(ard)":
			if len(weak.Lengthscales) != 1 || weak.Lengthscales[0] != r.ParametersOriginalUnits["lengthscale[weak]"] {
				t.Errorf("lengthscales %v of %v", weak.Lengthscales, r.ParametersOriginalUnits)
			}
		case "rbf + linear":
			if len(weak.Lengthscales) != 1 || weak.Lengthscales[0] != r.ParametersOriginalUnits["k1.lengthscale[weak]"] {
				t.Errorf("lengthscales %v of %v", weak.Lengthscales, r.ParametersOriginalUnits)
			}
		case "linear(ard)":
			if weak.Lengthscales != nil {
				t.Errorf("lengthscales %v of a linear kernel", weak.Lengthscales)
			}
		}
		if text := r.Text(); !strings.Contains(text, "\nstrong  ") || strings.Index(text, "\nstrong  ") > strings.Index(text, "\nweak  ") {
			t.Errorf("text\n%s", text)
		}
	}
}

// TestRelevanceText checks that the table of many columns is short.
func TestRelevanceText(t *testing.T) {
	var r summary.Report
	for i := range 33 {
		r.Relevance = append(r.Relevance, summary.ColumnRelevance{Column: fmt.Sprintf("c%d", i), Relevance: 1 / float64(1+i), Lengthscales: []float64{1, 2}})
	}
	text := r.Text()
	if !strings.Contains(text, "\nc9 ") || strings.Contains(text, "\nc10 ") || !strings.Contains(text, "and 23 more, each with a relevance of at most 0.09") {
		t.Error(text)
	}
}

package auto_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"gpfit/fit/problem"
	"gpfit/fit/summary"
	"gpfit/table/feature"
)

// TestSums checks that columns that add get a sum over columns, and that columns that multiply get none. A table of one
// column or of very many gets none either.
func TestSums(t *testing.T) {
	waves := func(x []float64) (y float64) {
		for i, v := range x[:min(6, len(x))] {
			y += math.Sin((0.5+float64(i))*v + float64(i))
		}
		return y
	}
	sum := func(m summary.ChosenModel) bool { return strings.Contains(m.Kernel, "additive") }
	for _, c := range []struct {
		data  problem.Data
		chose string
		tried bool
	}{
		{table(150, 8, 0.1, waves), "additive(rbf, ard)", true},
		{table(80, 3, 0.1, func(x []float64) float64 { return math.Sin(3*x[0]) * x[1] * x[2] }), "", true},
		{table(120, 4, 0.01, func(x []float64) float64 { return waves(x) + x[0]*x[1]*x[2] }), "(ard) + additive(matern52)", true},
		{table(60, 1, 0.1, waves), "", false},
		{table(40, 61, 0.1, waves), "", false},
	} {
		r := run(t, c.data, problem.Options{}).Report
		if c.chose == "" && sum(r.Choice.Models[0]) || !strings.Contains(r.Kernel, c.chose) || slices.ContainsFunc(r.Choice.Models, sum) != c.tried {
			t.Errorf("%d columns: %s of %d models", c.data.D, r.Kernel, len(r.Choice.Models))
		}
	}
}

// TestCategories checks that effects of two categories that add become functions of the categories, without a column that is
// constant over the training rows.
func TestCategories(t *testing.T) {
	in := table(140, 4, 0.05, func(x []float64) float64 { return 0 })
	codings := []feature.Coding{{Name: "a", Kind: feature.Category, Categories: strings.Split("pqrst", "")}, {Name: "x", Kind: feature.Number}, {Name: "y", Kind: feature.Number}, {Name: "b", Kind: feature.Category, Categories: strings.Split("uvwyz", "")}}
	e := &feature.Encoding{Columns: codings}
	d := problem.Data{N: in.N, D: 12, Encoding: e, FeatureNames: slices.Concat(codings[0].Features(), []string{"x", "y"}, codings[3].Features())}
	for i, noise := range in.Y {
		x := in.X[4*i : 4*i+4]
		a, b := math.Floor(2.5*(x[0]+1)), math.Floor(2*(x[3]+1)) // no row has the last category of b
		row := codings[0].Append(nil, a)
		row = append(row, x[1], x[2])
		d.X = append(d.X, codings[3].Append(row, b)...)
		d.Y = append(d.Y, noise+math.Sin(7*a)+2*math.Cos(5*b)+math.Sin(3*x[1])*x[2])
	}
	r := run(t, d, problem.Options{}).Report
	if want := "hamming(dims=[a_p, a_q, a_r, a_s, a_t]) + hamming(dims=[b_u, b_v, b_w, b_y]) + matern52(ard, dims=[x, y])"; r.Kernel != want {
		t.Errorf("%s, want %s", r.Kernel, want)
	}
}

// TestSecond checks that a model that has lost by far is no second model, and that more rows have none.
func TestSecond(t *testing.T) {
	steps := func(x []float64) float64 { return math.Floor(2*x[0]) + 2*math.Floor(2*x[1]) }
	for _, c := range []struct {
		data problem.Data
		has  bool
	}{
		{table(40, 3, 0.3, func(x []float64) float64 { return math.Sin(2*x[0]) + x[1] }), true},
		{table(150, 3, 0.001, func(x []float64) float64 { return math.Sin(9*x[0]) * x[1] }), false},
		{table(300, 3, 0.3, steps), false},
	} {
		if out := run(t, c.data, problem.Options{}); (out.Model.Draws.Len() > 0 && out.Model.Draws.Kernel != "") != c.has {
			t.Errorf("%d rows: %s, %s", c.data.N, out.Report.Kernel, out.Report.Predictions)
		}
	}
}

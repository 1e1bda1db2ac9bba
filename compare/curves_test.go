package compare

import (
	"math"
	"testing"

	"gpfit/fit/problem"
	"gpfit/internal/must"
	"gpfit/internal/score"
)

// TestCurves compares curves with the method that draws them.
func TestCurves(t *testing.T) {
	data := problem.Data{N: 20, D: 1}
	for i := range data.N {
		data.X, data.Y = append(data.X, float64(i)), append(data.Y, math.Sin(float64(i)))
	}
	o := only(NamedMethod{"line", fixed{a: 0.5, variance: 4}}, NamedMethod{"plain", fixed{a: 0.1}}, NamedMethod{"none", short{}})
	o.Curves = true
	opts := asIs
	opts.HoldOut = 0.2
	r := must.Get(Run(t.Context(), data, opts, o))(t)
	c := r.Curves
	if len(c.Curves) != 2 || len(c.TrainX) != 16 || len(c.TestY) != 4 {
		t.Fatalf("%d curves, %d and %d rows", len(c.Curves), len(c.TrainX), len(c.TestY))
	}
	line := c.Curves[0]
	if line.Method != "line" || c.Curves[1].Lower != nil {
		t.Errorf("the curves are %+v", c.Curves)
	}
	for i, x := range c.X {
		near(t, "mean", &line.Mean[i], 0.5*x)
		near(t, "lower", &line.Lower[i], 0.5*x-2*score.Z95)
		near(t, "upper", &line.Upper[i], 0.5*x+2*score.Z95)
	}
	if first, last := c.X[0], c.X[len(c.X)-1]; first >= 0 || last <= 19 {
		t.Errorf("the curves run from %v to %v", first, last)
	}
	// With folds the fits are to all rows.
	o.Folds = 4
	r = must.Get(Run(t.Context(), data, asIs, o))(t)
	if len(r.Curves.TrainX) != 20 || r.Curves.TestX != nil {
		t.Errorf("%d rows to train on, %d held out", len(r.Curves.TrainX), len(r.Curves.TestX))
	}
}

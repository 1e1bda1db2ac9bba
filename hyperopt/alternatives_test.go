package hyperopt

import (
	"slices"
	"testing"
)

// TestAlternatives checks that the tuning descends from a near alternative to the best
// end, that it keeps the better end and counts its evaluations, and that it leaves far
// alternatives alone.
func TestAlternatives(t *testing.T) {
	step := func(r *Result) bool {
		return slices.ContainsFunc(r.Path, func(s Stage) bool { return s.Step == "alternatives" })
	}
	for _, c := range []struct {
		name        string
		alternative []float64
		want        bool
	}{
		{"none", nil, false},
		{"near", []float64{0.1, 2.9, 0.25}, true},
		{"far", []float64{60, 7, 0.25}, false},
	} {
		p := &table{n: 400}
		if c.alternative != nil {
			p.alternatives = [][]float64{c.alternative}
		}
		r := tune(t, p, Settings{Restarts: 2})
		if step(r) != c.want {
			t.Errorf("%s: path %+v", c.name, r.Path)
		}
		if int64(r.FullSize.Value) != p.full.Load() {
			t.Errorf("%s: %+v evaluations over all rows, the objective counts %d", c.name, r.FullSize, p.full.Load())
		}
	}
}

package main

import (
	"testing"

	"gpfit/gp"
	"gpfit/internal/matrixrows"
	"gpfit/internal/testcheck"
	"gpfit/show/effect"
)

// TestCoarse checks that rows farther apart than a quarter of a season are not joined, whatever single gaps there are.
func TestCoarse(t *testing.T) {
	m := &gp.Model{Kernel: "periodic", Theta: []float64{2, 1, 1}, Columns: []int{0}, FeatureNames: []string{"year"},
		Scaling: gp.Scaling{XMean: []float64{0}, XScale: []float64{1}, YScale: 1}, X: []float64{0, 10}, Y: []float64{0, 1}}
	for _, c := range []struct {
		x    []float64
		want bool
	}{
		{matrixrows.Spaced(0, 10, 42), false},
		{append(matrixrows.Spaced(0, 10, 42), 100), false},
		{matrixrows.Spaced(0, 10, 40), true},
		{[]float64{3, 3}, false},
	} {
		p := &predictPlot{model: m, columns: testcheck.Get(effect.Columns(m))(t), x: c.x}
		if p.coarse(0) != c.want {
			t.Errorf("%d rows: %v", len(c.x), !c.want)
		}
	}
}

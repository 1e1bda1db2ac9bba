package main

import (
	"fmt"

	"gonum.org/v1/gonum/floats"

	"gpfit/internal/baseline"
	"gpfit/internal/plotting"
)

// basisFits draws Bayesian linear regression on powers and on Gaussian bumps, with three
// numbers of functions each.
func basisFits(data string) *plotting.Figure {
	t, x := read(data, "wave.csv")
	grid := floats.Span(make([]float64, 201), 0, 10)
	figure := &plotting.Figure{Title: "Bayesian linear regression on basis functions", SharedY: true}
	for _, basis := range []struct {
		title     string
		unit      string
		counts    []int
		expansion func(count int) baseline.Expansion
	}{
		{"Polynomials", "degree %d", []int{3, 6, 9}, func(count int) baseline.Expansion { return baseline.Polynomial{Degree: count} }},
		{"Gaussian bumps", "%d bumps", []int{4, 8, 16}, func(count int) baseline.Expansion { return baseline.Gaussians{Count: count} }},
	} {
		chart := plotting.Chart{Title: basis.title, X: plotting.Axis{Label: "x"}, Y: plotting.Axis{Label: "y", Range: [2]float64{-3, 3}}}
		chart.Layers = append(chart.Layers, &plotting.Points{Name: "data", X: t.X, Y: t.Y, Color: plotting.Grey})
		for i, count := range basis.counts {
			model := get(baseline.Basis{Expansion: basis.expansion(count)}.Fit(x, t.Y))
			chart.Layers = append(chart.Layers, curve(fmt.Sprintf(basis.unit, count), model, grid, 3*len(figure.Charts)+i))
		}
		figure.Charts = append(figure.Charts, chart)
	}
	return figure
}

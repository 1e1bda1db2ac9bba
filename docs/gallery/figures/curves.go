package main

import (
	"fmt"
	"slices"

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

// splineKnots draws linear splines with given knots for three penalties.
func splineKnots(data string) *plotting.Figure {
	t, x := read(data, "wave.csv")
	knots := floats.Span(make([]float64, 39), 0.25, 9.75)
	grid := floats.Span(make([]float64, 201), 0, 10)
	chart := plotting.Chart{X: plotting.Axis{Label: "x", Ticks: []float64{0, 2, 4, 6, 8, 10}}, Y: plotting.Axis{Label: "y", Range: [2]float64{-3, 2.5}}}
	chart.Layers = append(chart.Layers, &plotting.Points{Name: "data", X: t.X, Y: t.Y, Color: plotting.Grey})
	for i, fit := range []struct {
		name    string
		lambdas []float64
	}{{"λ = 0", []float64{0}}, {"λ by likelihood", nil}, {"λ = 10,000", []float64{1e4}}} {
		model := get(baseline.Spline{Knots: [][]float64{knots}, Lambdas: fit.lambdas}.Fit(x, t.Y))
		chart.Layers = append(chart.Layers, curve(fit.name, model, grid, i))
	}
	floor := slices.Repeat([]float64{-2.8}, len(knots))
	chart.Layers = append(chart.Layers, &plotting.Points{Name: "knots", X: knots, Y: floor, Color: plotting.Grey, Shape: plotting.Upright, Radius: 3})
	return &plotting.Figure{Title: "Linear splines with 39 knots", Charts: []plotting.Chart{chart}}
}

package main

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"gpfit/internal/baseline"
	"gpfit/internal/plotting"
)

// The noise and the prior variance of the weights of pair.csv, as in the pages.
const (
	noise = 0.64
	prior = 0.1
)

// weightsPlane draws prior, likelihood and posterior of two weights, with the posterior
// means of both forms.
func weightsPlane(data string) *plotting.Figure {
	t, x := read(data, "pair.csv")
	squares := penalised(x, t.Y, []float64{0}, baseline.Ridge{Design: plain})[0]
	primal, dual := means(x, t.Y, baseline.Primal), means(x, t.Y, baseline.Dual)
	likelihood := func(w []float64) float64 {
		var residual mat.VecDense
		residual.MulVec(x, mat.NewVecDense(2, w))
		residual.SubVec(mat.NewVecDense(t.N, t.Y), &residual)
		return -mat.Dot(&residual, &residual) / (2 * noise)
	}
	normal := func(w []float64) float64 { return -floats.Dot(w, w) / (2 * prior) }
	posterior := func(w []float64) float64 { return likelihood(w) + normal(w) }
	marks := []plotting.Layer{
		&plotting.Points{Name: "least squares", X: squares[:1], Y: squares[1:], Color: 1, Radius: 4},
		&plotting.Points{Name: "primal", X: primal[:1], Y: primal[1:], Color: 2, Shape: plotting.Ring, Radius: 5},
		&plotting.Points{Name: "dual", X: dual[:1], Y: dual[1:], Color: 2, Shape: plotting.Cross, Radius: 4},
	}
	return &plotting.Figure{Title: "Prior × likelihood gives the posterior of the weights", Size: plotting.Size{Width: 24, Height: 10}, Columns: 3, SharedY: true, Charts: []plotting.Chart{
		density("Prior", normal), density("Likelihood", likelihood, marks[0]), density("Posterior", posterior, marks...),
	}}
}

// means returns the posterior means of the weights.
func means(x *mat.Dense, y []float64, form baseline.Form) []float64 {
	model := get(baseline.BayesianLinear{Design: plain, PriorScale: prior, Noise: noise, Form: form}.Fit(x, y))
	return model.(*baseline.BayesianModel).Weights
}

// density is a chart of a density over two weights, relative to its largest value, with
// lines around the regions that hold half and 95 % of a normal distribution.
func density(title string, log func(w []float64) float64, marks ...plotting.Layer) plotting.Chart {
	grid := floats.Span(make([]float64, 81), -1, 2)
	heat := &plotting.Heat{X: grid, Y: grid, Levels: []float64{0.05, 0.5}, Low: 0, High: 1}
	top := math.Inf(-1)
	for _, w2 := range grid {
		row := make([]float64, len(grid))
		for j, w1 := range grid {
			row[j] = log([]float64{w1, w2})
		}
		top = max(top, floats.Max(row))
		heat.Z = append(heat.Z, row)
	}
	for _, row := range heat.Z {
		for j := range row {
			row[j] = math.Exp(row[j] - top)
		}
	}
	return plotting.Chart{
		Title: title, X: plotting.Axis{Label: "w₁"}, Y: plotting.Axis{Label: "w₂"},
		Layers: append([]plotting.Layer{heat}, marks...),
	}
}

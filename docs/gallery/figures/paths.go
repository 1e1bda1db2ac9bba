package main

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"gpfit/internal/baseline"
	"gpfit/internal/plotting"
)

// scaled divides each column less its mean by its standard deviation with divisor n.
func scaled(x *mat.Dense) *mat.Dense {
	n, d := x.Dims()
	z := mat.NewDense(n, d, nil)
	for j := range d {
		column := mat.Col(nil, j, x)
		mean, variance := stat.PopMeanVariance(column, nil)
		floats.AddConst(-mean, column)
		floats.Scale(1/math.Sqrt(variance), column)
		z.SetCol(j, column)
	}
	return z
}

// ridgePath draws the weights of ridge regression for every penalty, and how far each
// penalty shrinks the singular directions of the columns.
func ridgePath(data string) *plotting.Figure {
	t, x := read(data, "columns.csv")
	z := scaled(x)
	lambdas := floats.LogSpan(make([]float64, 121), 0.01, 1e4)
	weights := penalised(z, t.Y, lambdas, baseline.Ridge{})
	best := get(baseline.Ridge{}.Fit(z, t.Y)).(*baseline.LinearModel).Lambda
	var svd mat.SVD
	svd.Factorize(z, mat.SVDNone)
	axis := plotting.Axis{Label: "penalty λ", Log: true}
	left := plotting.Chart{Title: "Weights", X: axis, Y: plotting.Axis{Label: "weight"}}
	right := plotting.Chart{Title: "What is left of each direction", X: axis, Y: plotting.Axis{Label: "d²/(d² + λ)"}}
	for j, d := range svd.Values(nil) {
		left.Layers = append(left.Layers, &plotting.Line{Name: t.FeatureNames[j], X: lambdas, Y: along(weights, j), Color: j})
		share := make([]float64, len(lambdas))
		for i, lambda := range lambdas {
			share[i] = d * d / (d*d + lambda)
		}
		right.Layers = append(right.Layers, &plotting.Line{X: lambdas, Y: share, Color: plotting.Grey})
	}
	guide := &plotting.Guide{Name: "leave-one-out", At: best, Vertical: true, Color: plotting.Grey, Dashed: true}
	left.Layers = append(left.Layers, guide)
	right.Layers = append(right.Layers, guide)
	return &plotting.Figure{Title: "Ridge regression of six correlated columns", Charts: []plotting.Chart{left, right}}
}

// lassoPath draws the weights of the lasso and of ridge regression by their size as a share
// of the least squares weights.
func lassoPath(data string) *plotting.Figure {
	t, x := read(data, "columns.csv")
	z := scaled(x)
	path := get(baseline.Lasso{}.Path(z, t.Y))
	ridge := penalised(z, t.Y, floats.LogSpan(make([]float64, 121), 1e6, 1e-3), baseline.Ridge{})
	squares := penalised(z, t.Y, []float64{0}, baseline.Ridge{})
	figure := &plotting.Figure{Title: "Lasso and ridge regression of six correlated columns", SharedY: true}
	for _, side := range []struct {
		title   string
		weights [][]float64
		norm    float64
	}{{"Lasso", path.Weights, 1}, {"Ridge", ridge, 2}} {
		weights := append(side.weights, squares[0])
		share := make([]float64, len(weights))
		for i, w := range weights {
			share[i] = floats.Norm(w, side.norm) / floats.Norm(squares[0], side.norm)
		}
		chart := plotting.Chart{Title: side.title, Y: plotting.Axis{Label: "weight"}}
		chart.X.Label = map[float64]string{1: "‖w‖₁ as a share of least squares", 2: "‖w‖ as a share of least squares"}[side.norm]
		for j := range t.D {
			chart.Layers = append(chart.Layers, &plotting.Line{Name: t.FeatureNames[j], X: share, Y: along(weights, j), Color: j})
		}
		figure.Charts = append(figure.Charts, chart)
	}
	return figure
}

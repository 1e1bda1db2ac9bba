package main

import (
	"fmt"
	"log"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"gpfit/compare/baseline"
	"gpfit/show/plotting"
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

// minimumNorm draws the weights of ridge regression for every penalty, with fewer columns than
// rows and with more, and the weights without a penalty by the singular value decomposition.
func minimumNorm(data string) *plotting.Figure {
	t, x := read(data, "wide.csv")
	figure := &plotting.Figure{Title: "Weights from four rows", SharedY: true, Size: plotting.Size{Width: 20, Height: 10}}
	lambdas := floats.LogSpan(make([]float64, 121), 1e-3, 1e3)
	decades := floats.LogSpan(make([]float64, 5), 1e-2, 1e2)
	for _, side := range []struct {
		title   string
		columns int
	}{{"Two columns", 2}, {"Six columns", 6}} {
		part := x.Slice(0, t.N, 0, side.columns)
		ridge := penalized(part, t.Y, lambdas, baseline.Ridge{Design: plain})
		var byRows [][]float64
		for _, lambda := range decades {
			byRows = append(byRows, dual(part, t.Y, lambda))
		}
		chart := plotting.Chart{Title: side.title, X: plotting.Axis{Label: "penalty λ", Log: true}, Y: plotting.Axis{Label: "weight"}}
		crosses := &plotting.Points{Color: plotting.Grey, Shape: plotting.Cross, Radius: 3}
		rings := &plotting.Points{Color: plotting.Grey, Shape: plotting.Ring, Radius: 4}
		for j, w := range shortest(part, t.Y) {
			line := &plotting.Line{X: lambdas, Y: along(ridge, j), Color: j}
			if side.columns == t.D { // both charts share one legend
				line.Name, crosses.Name, rings.Name = t.FeatureNames[j], "dual form", "λ = 0, by the SVD"
			}
			chart.Layers = append(chart.Layers, line)
			crosses.X, crosses.Y = append(crosses.X, decades...), append(crosses.Y, along(byRows, j)...)
			rings.X, rings.Y = append(rings.X, lambdas[0]), append(rings.Y, w)
		}
		chart.Layers = append(chart.Layers, crosses, rings)
		figure.Charts = append(figure.Charts, chart)
	}
	return figure
}

// shortest returns the shortest of the weights with the smallest sum of squares.
func shortest(x mat.Matrix, y []float64) []float64 {
	var svd mat.SVD
	if !svd.Factorize(x, mat.SVDThin) {
		log.Fatal("no singular value decomposition")
	}
	var w mat.VecDense
	svd.SolveVecTo(&w, mat.NewVecDense(len(y), y), svd.Rank(1e-12))
	return w.RawVector().Data
}

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
	weights := penalized(z, t.Y, lambdas, baseline.Ridge{})
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
	ridge := penalized(z, t.Y, floats.LogSpan(make([]float64, 121), 1e6, 1e-3), baseline.Ridge{})
	squares := penalized(z, t.Y, []float64{0}, baseline.Ridge{})
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

// The noise and the prior variance of the weights of pair.csv, as in the pages.
const (
	noise = 0.64
	prior = 0.1
)

// weightsPlane draws prior, likelihood and posterior of two weights, with the posterior
// means of both forms.
func weightsPlane(data string) *plotting.Figure {
	t, x := read(data, "pair.csv")
	squares := penalized(x, t.Y, []float64{0}, baseline.Ridge{Design: plain})[0]
	primal, dual := means(x, t.Y), dual(x, t.Y, noise/prior)
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
func means(x *mat.Dense, y []float64) []float64 {
	model := get(baseline.BayesianLinear{Design: plain, PriorScale: prior, Noise: noise}.Fit(x, y))
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

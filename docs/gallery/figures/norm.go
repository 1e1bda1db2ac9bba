package main

import (
	"log"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"gpfit/internal/baseline"
	"gpfit/internal/plotting"
)

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
		primal := penalised(part, t.Y, lambdas, baseline.Ridge{Design: plain, Form: baseline.Primal})
		dual := penalised(part, t.Y, decades, baseline.Ridge{Design: plain, Form: baseline.Dual})
		chart := plotting.Chart{Title: side.title, X: plotting.Axis{Label: "penalty λ", Log: true}, Y: plotting.Axis{Label: "weight"}}
		crosses := &plotting.Points{Color: plotting.Grey, Shape: plotting.Cross, Radius: 3}
		rings := &plotting.Points{Color: plotting.Grey, Shape: plotting.Ring, Radius: 4}
		for j, w := range shortest(part, t.Y) {
			line := &plotting.Line{X: lambdas, Y: along(primal, j), Color: j}
			if side.columns == t.D { // both charts share one legend
				line.Name, crosses.Name, rings.Name = t.FeatureNames[j], "dual form", "λ = 0, by the SVD"
			}
			chart.Layers = append(chart.Layers, line)
			crosses.X, crosses.Y = append(crosses.X, decades...), append(crosses.Y, along(dual, j)...)
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

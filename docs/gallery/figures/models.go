package main

import (
	"log"
	"path/filepath"

	"gonum.org/v1/gonum/mat"

	"gpfit/compare/baseline"
	"gpfit/show/plotting"
	"gpfit/table"
)

// get returns the result of a call, and ends the program at its error.
func get[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}

// read returns the columns of a table and its target.
func read(data, name string) (t *table.Table, x *mat.Dense) {
	t = get(table.Read(filepath.Join(data, name), table.Options{}))
	return t, mat.NewDense(t.N, t.D, t.X)
}

// curve draws the predictions of a model of one column.
func curve(name string, model baseline.Model, grid []float64, color int) *plotting.Line {
	prediction := get(model.Predict(mat.NewDense(len(grid), 1, grid)))
	return &plotting.Line{Name: name, X: grid, Y: prediction.Mean, Color: color}
}

// plain is a design of the columns as they are.
var plain = baseline.Design{NoIntercept: true, Unscaled: true}

// penalized returns the weights of ridge regression for every penalty.
func penalized(x mat.Matrix, y, lambdas []float64, ridge baseline.Ridge) (weights [][]float64) {
	for _, lambda := range lambdas {
		ridge.Lambdas = []float64{lambda}
		weights = append(weights, get(ridge.Fit(x, y)).(*baseline.LinearModel).Weights)
	}
	return weights
}

// dual returns the weights X′(XX′ + λI)⁻¹y of ridge regression by a number for each row.
func dual(x mat.Matrix, y []float64, lambda float64) []float64 {
	var covariance, weights mat.Dense
	covariance.Mul(x, x.T())
	for i := range y {
		covariance.Set(i, i, covariance.At(i, i)+lambda)
	}
	var alpha mat.VecDense
	if err := alpha.SolveVec(&covariance, mat.NewVecDense(len(y), y)); err != nil {
		log.Fatal(err)
	}
	weights.Mul(x.T(), &alpha)
	return mat.Col(nil, 0, &weights)
}

// along returns the weight of one column for every penalty.
func along(weights [][]float64, column int) []float64 {
	out := make([]float64, len(weights))
	for i, w := range weights {
		out[i] = w[column]
	}
	return out
}

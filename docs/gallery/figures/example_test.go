package main

import (
	"fmt"

	"gpfit/baseline"
)

// Ridge regression with λ = σ²/τ² has the weights of example 5.
func Example_ridge() {
	t, x, err := read("../data", "pair.csv")
	if err != nil {
		fmt.Println(err)
		return
	}
	design := baseline.Design{NoIntercept: true, Unscaled: true}
	model, err := baseline.Ridge{Design: design, Lambdas: []float64{0.64 / 0.1}}.Fit(x, t.Y)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.4f\n", model.(*baseline.LinearModel).Weights)
	// Output: [0.7873 0.6321]
}

package main

import (
	"fmt"

	"gpfit/compare/baseline"
)

// Ridge regression with λ = σ²/τ² has the weights of example 5.
func Example_ridge() {
	t, x := read("../data", "pair.csv")
	design := baseline.Design{NoIntercept: true, Unscaled: true}
	model, err := baseline.Ridge{Design: design, Lambdas: []float64{0.64 / 0.1}}.Fit(x, t.Y)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.4f\n", model.(*baseline.LinearModel).Weights)
	// Output: [0.7873 0.6321]
}

// With and without a penalty, and with fewer and more columns than rows, ridge regression has
// the weights of example 20.
func Example_minimumNorm() {
	t, x := read("../data", "wide.csv")
	design := baseline.Design{NoIntercept: true, Unscaled: true}
	for _, columns := range []int{2, 6} {
		part := x.Slice(0, t.N, 0, columns)
		for _, lambda := range []float64{0, 0.5} {
			model, err := baseline.Ridge{Design: design, Lambdas: []float64{lambda}}.Fit(part, t.Y)
			if err != nil {
				fmt.Println(err)
				return
			}
			fmt.Printf("%d columns, λ = %v: %.4f\n", columns, lambda, model.(*baseline.LinearModel).Weights)
		}
	}
	// Output:
	// 2 columns, λ = 0: [1.9664 -1.4985]
	// 2 columns, λ = 0.5: [1.8062 -1.1306]
	// 6 columns, λ = 0: [1.9849 -0.5702 0.1867 -0.1035 -0.1267 0.6675]
	// 6 columns, λ = 0.5: [1.7937 -0.5069 0.1542 -0.1061 -0.1383 0.6305]
}

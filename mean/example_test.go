package mean_test

import (
	"fmt"
	"log"

	"gpfit/kernel"
	"gpfit/mean"
)

// Parse a mean function, a sum of terms in text form, and evaluate its basis functions on points.
// Generalized least squares find the coefficients; here the covariance is the identity.
func Example() {
	expr, err := mean.Parse("linear", nil)
	if err != nil {
		log.Fatal(err)
	}
	x := kernel.NewPoints([]float64{0, 1, 2, 3}, 4, 1)
	basis, err := expr.Basis(x, kernel.Columns(1))
	if err != nil {
		log.Fatal(err)
	}
	h := basis.Evaluate(x)
	gls, err := mean.NewGLS(h, h, 4)
	if err != nil {
		log.Fatal(err)
	}
	beta := gls.Coefficients([]float64{2, 5, 8, 11})
	for i, name := range basis.Names() {
		fmt.Printf("%s = %.1f\n", name, beta[i])
	}
	_, err = mean.Parse("liner", nil)
	fmt.Println(err)
	// Output:
	// mean_linear[0] = 3.0
	// mean_constant = 2.0
	// mean: unknown mean function "liner" (did you mean "linear"?): the known ones are zero, constant, linear, poly, bumps, seasonal
	//   liner
	//   ^
}

package baseline_test

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"gpfit/internal/baseline"
)

// Methods share one interface, so a loop compares them.
func Example() {
	x, y := mat.NewDense(40, 1, nil), make([]float64, 40)
	for i := range y {
		x.Set(i, 0, float64(i)/10)
		y[i] = 1 + math.Sin(2*float64(i)/10)
	}
	for _, m := range []struct {
		name string
		baseline.Method
	}{{"ridge", baseline.Ridge{}}, {"spline", baseline.Spline{}}, {"kernel ridge", baseline.KernelRidge{}}} {
		model, err := m.Fit(x, y)
		if err != nil {
			fmt.Println(err)
			return
		}
		p, err := model.Predict(mat.NewDense(1, 1, []float64{math.Pi / 4}))
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%-12s f(π/4) = %.2f\n", m.name, p.Mean[0])
	}
	// Output:
	// ridge        f(π/4) = 1.20
	// spline       f(π/4) = 2.01
	// kernel ridge f(π/4) = 2.00
}

func ExampleRidge() {
	x := mat.NewDense(4, 2, []float64{1, 0, 2, 1, 3, 0, 4, 1})
	model, err := baseline.Ridge{Lambdas: []float64{0}}.Fit(x, []float64{3, 6, 7, 10})
	if err != nil {
		fmt.Println(err)
		return
	}
	m := model.(*baseline.LinearModel)
	fmt.Printf("%.3f + %.3f x1 + %.3f x2\n", m.Intercept, m.Weights[0], m.Weights[1])
	// Output: 1.000 + 2.000 x1 + 1.000 x2
}

func ExampleBayesianLinear() {
	x := mat.NewDense(5, 1, []float64{0, 1, 2, 3, 4})
	model, err := baseline.BayesianLinear{}.Fit(x, []float64{1.1, 2.9, 5.2, 6.8, 9.1})
	if err != nil {
		fmt.Println(err)
		return
	}
	m := model.(*baseline.BayesianModel)
	fmt.Printf("slope %.2f ± %.2f, noise %.2f\n", m.Weights[0], math.Sqrt(m.Covariance().At(0, 0)), math.Sqrt(m.Noise))
	// Output: slope 1.99 ± 0.06, noise 0.19
}

func ExampleLasso_Path() {
	x := mat.NewDense(6, 2, []float64{1, 1, 2, -1, 3, 1, 4, 1, 5, -1, 6, -1})
	path, err := baseline.Lasso{Lambdas: []float64{2, 1, 0.1}}.Path(x, []float64{2, 4.2, 6, 8, 10.2, 12.2})
	if err != nil {
		fmt.Println(err)
		return
	}
	for i, lambda := range path.Lambdas {
		fmt.Printf("λ = %-4v %.3f\n", lambda, path.Weights[i])
	}
	// Output:
	// λ = 2    [0.857 0.000]
	// λ = 1    [1.443 0.000]
	// λ = 0.1  [1.961 -0.033]
}

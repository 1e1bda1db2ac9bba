package compare_test

import (
	"context"
	"fmt"
	"log"
	"math"

	"gpfit/compare"
	"gpfit/compare/baseline"
	"gpfit/cpu"
	"gpfit/device"
	"gpfit/fit/problem"
)

// Compare a Gaussian process with two methods by name and one with settings of its own, on
// five folds.
func ExampleRun() {
	data := problem.Data{N: 40, D: 1}
	for i := range data.N {
		x := float64(i) / 4
		data.X, data.Y = append(data.X, x), append(data.Y, math.Sin(x)+0.05*math.Cos(40*x))
	}
	backend, err := cpu.New(device.Options{})
	if err != nil {
		log.Fatal(err)
	}
	cubic := baseline.Basis{Expansion: baseline.Polynomial{Degree: 3}}
	result, err := compare.Run(context.Background(), data, problem.Options{Mean: "zero", Kernel: "matern52"}, compare.Options{
		Methods: []string{"mean", "ridge", "gp"},
		Own:     []compare.NamedMethod{{Name: "cubic", Method: cubic}},
		Folds:   5,
	}, backend)
	if err != nil {
		log.Fatal(err)
	}
	best := result.Methods[0]
	fmt.Println(result.Verdict)
	fmt.Println("error below a tenth:", *best.RMSE < 0.1)
	// Output:
	// gp matern52 is best; all others are clearly worse
	// error below a tenth: true
}

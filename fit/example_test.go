package fit_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"math"

	"gpfit/cpu"
	"gpfit/device"
	"gpfit/fit"
	"gpfit/fit/problem"
)

// Prepare a job from a table and options, and fit it on a backend. The outcome has a
// report and a model, and keeps the backend's memory until you close it.
func Example() {
	data := problem.Data{N: 30, D: 1}
	for i := range data.N {
		x := float64(i) / 3
		data.X, data.Y = append(data.X, x), append(data.Y, x*x/10)
		data.Test = append(data.Test, i%10 == 5)
	}
	job, err := fit.Prepare(data, problem.Options{Mean: "zero", Kernel: "matern52", Fix: []problem.Assignment{{Name: "noise_variance", Value: 1e-4, Given: true}}}, problem.Events{})
	if err != nil {
		log.Fatal(err)
	}
	backend, err := cpu.New(device.Options{})
	if err != nil {
		log.Fatal(err)
	}
	outcome, err := fit.Run(context.Background(), job, backend)
	if err != nil {
		log.Fatal(err)
	}
	defer outcome.Close()
	r := outcome.Report
	fmt.Println(r.N, "rows,", job.NumFitted(), "fitted parameters")
	fmt.Printf("noise variance %.4f\n", r.Parameters["noise_variance"])
	fmt.Println("held-out error below 0.05:", r.Test.RMSE < 0.05)

	_, err = fit.Prepare(data, problem.Options{Kernel: "rbf", Mean: "zero", Fix: []problem.Assignment{{Name: "lengthscal"}}}, problem.Events{})
	var option *problem.OptionError
	fmt.Println("a mistake in an option:", errors.As(err, &option))
	// Output:
	// 27 rows, 2 fitted parameters
	// noise variance 0.0001
	// held-out error below 0.05: true
	// a mistake in an option: true
}

// Show the likelihood along the noise variance, with the lengthscale and the signal
// variance tuned at each point.
func ExampleProfile() {
	data := problem.Data{N: 40, D: 1}
	for i := range data.N {
		x := float64(i) / 4
		noise := 0.3 * math.Sin(1000*x*x) // stands for random numbers
		data.X, data.Y = append(data.X, x), append(data.Y, math.Sin(x)+noise)
	}
	job, err := fit.Prepare(data, problem.Options{Kernel: "rbf", Mean: "zero"}, problem.Events{})
	if err != nil {
		log.Fatal(err)
	}
	backend, err := cpu.New(device.Options{})
	if err != nil {
		log.Fatal(err)
	}
	profile, err := fit.Profile(context.Background(), job, fit.ProfileOptions{Along: []string{"noise_variance"}}, backend)
	if err != nil {
		log.Fatal(err)
	}
	curve := profile.Sections[0]
	lowest := curve.Points[curve.Lowest]
	fmt.Printf("%d points, lowest at noise variance %.2f\n", len(curve.Points), lowest.Parameters["noise_variance"])
	fmt.Printf("95 %% interval %.2f to %.2f\n", *curve.Interval95.Lower, *curve.Interval95.Upper)
	fmt.Printf("NLML %.1f = data fit %.1f + complexity %.1f + constant %.1f\n", lowest.NLML, lowest.DataFit, lowest.Complexity, lowest.Constant)
	// Output:
	// 41 points, lowest at noise variance 0.07
	// 95 % interval 0.04 to 0.11
	// NLML 20.1 = data fit 20.0 + complexity -36.7 + constant 36.8
}

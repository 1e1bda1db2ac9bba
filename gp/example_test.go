package gp_test

import (
	"bytes"
	"context"
	"fmt"
	"log"

	"gpfit/cpu"
	"gpfit/device"
	"gpfit/fit"
	"gpfit/fit/problem"
	"gpfit/gp"
	"gpfit/kernel"
)

// Condition a fitted model on a device, which holds one n×n matrix, and predict there:
// means and standard deviations, gradients, and all rows together.
func ExamplePosterior() {
	ctx := context.Background()
	data := problem.Data{N: 9, D: 1}
	for i := range data.N {
		data.X, data.Y = append(data.X, float64(i)), append(data.Y, float64(i*i))
	}
	job, err := fit.Prepare(data, problem.Options{Mean: "zero", Kernel: "poly(2)"}, problem.Events{})
	if err != nil {
		log.Fatal(err)
	}
	backend, err := cpu.New(device.Options{})
	if err != nil {
		log.Fatal(err)
	}
	outcome, err := fit.Run(ctx, job, backend)
	if err != nil {
		log.Fatal(err)
	}
	model := outcome.Model
	outcome.Close()

	posterior, err := model.Condition(ctx, backend)
	if err != nil {
		log.Fatal(err)
	}
	defer posterior.Close()
	rows := []float64{3, 6}
	p, err := posterior.Predict(ctx, rows, 2)
	if err != nil {
		log.Fatal(err)
	}
	slope, err := posterior.MeanGradient(ctx, rows, 2)
	if err != nil {
		log.Fatal(err)
	}
	joint, err := posterior.Joint(ctx, rows, 2, gp.JointOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("means %.1f, slopes %.1f, a covariance of %d numbers\n", p.Mean, slope, len(joint.Cov))
	// Output:
	// means [9.0 36.0], slopes [6.0 12.0], a covariance of 4 numbers
}

// A process has a kernel and no data. Its draws show the prior of the kernel.
func ExampleProcess() {
	expr, err := kernel.Parse("rbf")
	if err != nil {
		log.Fatal(err)
	}
	process, err := gp.NewProcess(expr, 1)
	if err != nil {
		log.Fatal(err)
	}
	if err := process.Set("lengthscale", 10); err != nil {
		log.Fatal(err)
	}
	joint, err := process.Joint(context.Background(), []float64{0, 1, 2}, 3, false)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("covariances with the first point %.4f\n", joint.Cov[:3])
	fmt.Println(process.Set("lengthscle", 1))
	// Output:
	// covariances with the first point [1.0000 0.9950 0.9802]
	// lengthscle: there is no such parameter (did you mean "lengthscale"?)
}

// Write a model as a NumPy archive.
func ExampleModel_Write() {
	model := &gp.Model{
		Kernel: "rbf", Columns: []int{0}, FeatureNames: []string{"x"}, TargetName: "y",
		ParameterNames: []string{"lengthscale", "signal_variance"}, Theta: []float64{1, 1}, NoiseVariance: 0.1,
		Scaling: gp.Scaling{XMean: []float64{0}, XScale: []float64{1}, YScale: 1},
		X:       []float64{0, 1}, Y: []float64{0, 1}, Alpha: []float64{-0.7, 1.3},
	}
	var file bytes.Buffer
	if err := model.Write(&file); err != nil {
		log.Fatal(err)
	}
	fmt.Println(file.Len() > 1000, string(file.Bytes()[:2]))
	// Output:
	// true PK
}

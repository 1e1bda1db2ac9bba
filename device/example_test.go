package device_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"gpfit/cpu"
	"gpfit/device"
	"gpfit/kernel"
)

// Dispatch opens the devices of a request with the drivers that a program passes. A
// plan lists the resources of a job before any allocation.
func ExampleDispatch() {
	ctx, drivers := context.Background(), []device.Driver{cpu.Driver{}}
	backends, choice, err := device.Dispatch(ctx, device.Request{Device: "auto", Workload: device.Workload{N: 100_000}}, drivers)
	if err != nil {
		log.Fatal(err)
	}
	defer backends[0].Close()
	plan := backends[0].Plan(device.Workload{N: 100_000, D: 8})
	fmt.Println(choice.Device+":", plan.Needs[0].What)
	fmt.Printf("%.0e operations for a value with gradient\n", plan.FlopsGradient)
	var memory *device.MemoryError
	fmt.Println("more than 1 GiB:", errors.As(plan.CheckLimit(1<<30), &memory))

	_, _, err = device.Dispatch(ctx, device.Request{Device: "cuda:0"}, drivers)
	var unavailable *device.UnavailableError
	fmt.Println("no GPU without its driver:", errors.As(err, &unavailable))
	// Output:
	// cpu: one 100000×100000 matrix of 8-byte numbers and working space
	// 1e+15 operations for a value with gradient
	// more than 1 GiB: true
	// no GPU without its driver: true
}

// A workspace holds one n×n matrix: the covariance of n points, then its factor.
func ExampleWorkspace() {
	ctx := context.Background()
	prog, err := kernel.CompileText("rbf", 1)
	if err != nil {
		log.Fatal(err)
	}
	backend, err := cpu.New(device.Options{})
	if err != nil {
		log.Fatal(err)
	}
	ws, err := backend.NewWorkspace(ctx, kernel.NewPoints([]float64{0, 100, 200}, 3, 1))
	if err != nil {
		log.Fatal(err)
	}
	defer ws.Close()
	// Lengthscale 1 and signal variance 3, noise variance 1: the matrix is 4·I.
	if err := ws.Form(ctx, prog, []float64{1, 3}, []float64{1}); err != nil {
		log.Fatal(err)
	}
	b := []float64{4, 8, 12}
	if err := ws.Solve(ctx, b, 1); err != nil {
		log.Fatal(err)
	}
	logDet, _, err := ws.LogDet()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.4f %.1f\n", logDet, b) // 3·log 4
	// Output:
	// 4.1589 [1.0 2.0 3.0]
}

package gpfit_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"math"
	"os"
	"path/filepath"

	"gpfit"
	"gpfit/fit/problem"
	"gpfit/gp"
	"gpfit/graph"
	"gpfit/hyperopt"
	"gpfit/hyperopt/descent"
	"gpfit/kernel"
)

// The smallest program: fit, then predict with error bars.
func Example() {
	ctx := context.Background()
	x := [][]float64{{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}}
	y := []float64{0, 0.84, 0.91, 0.14, -0.76, -0.96, -0.28, 0.66}
	model, err := gpfit.Fit(ctx, x, y, gpfit.Options{Mean: "zero", Kernel: "matern52"})
	if err != nil {
		log.Fatal(err)
	}
	defer model.Close()
	p, err := model.Predict(ctx, [][]float64{{2.5}, {20}})
	if err != nil {
		log.Fatal(err)
	}
	lower, upper := p.Interval(0.8)
	for i := range p.Mean {
		fmt.Printf("%.3f ± %.3f, 80 %% between %.1f and %.1f\n", p.Mean[i], p.Std[i], lower[i], upper[i])
	}
	// Output:
	// 0.560 ± 0.225, 80 % between 0.3 and 0.8
	// 0.117 ± 1.374, 80 % between -1.2 and 1.4
}

// A table in row-major slices may have names, held-out rows, several targets and
// known noise. Options add restarts, priors and progress reports.
func ExampleDevices_FitData() {
	data := gpfit.Data{N: 40, D: 2, FeatureNames: []string{"hour", "load"}, TargetName: "kelvin"}
	for i := range data.N {
		hour, load := float64(i)/4, float64(i%5)
		data.X = append(data.X, hour, load)
		data.Y = append(data.Y, 280+hour*hour/10+2*load)
		data.Test = append(data.Test, i%8 == 3)
	}
	iterations := 0
	devices := gpfit.Devices{Events: problem.Events{OnIteration: func(descent.Iteration) { iterations++ }}}
	model, err := devices.FitData(context.Background(), data, gpfit.Options{
		Kernel:   "rbf(ard)",
		Mean:     "linear",
		Priors:   []problem.ParameterPrior{{Name: "noise_variance", Density: graph.Prior{Family: "lognormal", Args: []float64{-7, 1}}}},
		Settings: hyperopt.Settings{Restarts: 2},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer model.Close()
	report := model.Report()
	fmt.Println("trained on", report.N, "rows, held out", report.Test.N)
	fmt.Println("error below a tenth of a kelvin:", report.Test.RMSE < 0.1)
	fmt.Println("progress was reported:", iterations > 0)
	// Output:
	// trained on 35 rows, held out 5
	// error below a tenth of a kelvin: true
	// progress was reported: true
}

// Define your own kernel as a function of two points, without a derivative. The model
// file contains only its name, so Load needs the function again.
func ExampleFit_ownKernel() {
	ctx := context.Background()
	tent := &kernel.Family{
		Name:       "tent",
		Parameters: []kernel.Parameter{{Name: "width"}},
		Function: func(p *kernel.Pair) *kernel.Node {
			sum := p.Number(0)
			for _, difference := range p.Differences() {
				sum = p.Add(sum, p.Abs(difference))
			}
			return p.Exp(p.Neg(p.Div(sum, p.Parameter("width"))))
		},
	}
	x, y := [][]float64{{0}, {1}, {2}, {3}, {4}, {5}}, []float64{0, 1, 2, 2, 1, 0}
	model, err := gpfit.Fit(ctx, x, y, gpfit.Options{Mean: "zero", Kernel: "tent + linear", Kernels: []*kernel.Family{tent}})
	if err != nil {
		log.Fatal(err)
	}
	defer model.Close()
	folder, err := os.MkdirTemp("", "gpfit")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "tent.gpfit")
	if err := model.Save(path); err != nil {
		log.Fatal(err)
	}
	again, err := gpfit.Load(ctx, path, tent)
	if err != nil {
		log.Fatal(err)
	}
	defer again.Close()
	for _, m := range []*gpfit.Model{model, again} {
		p, err := m.Predict(ctx, [][]float64{{2.5}})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%.2f\n", p.Mean[0])
	}
	_, err = gpfit.Load(ctx, path)
	var file *gp.FileError
	fmt.Println("without the function it cannot be loaded:", errors.As(err, &file))
	// Output:
	// 1.47
	// 1.47
	// without the function it cannot be loaded: true
}

// Devices selects the device to compute on.
func ExampleDevices() {
	devices := gpfit.Devices{Name: "cuda:7", Fallback: "cpu", Threads: 1}
	model, err := devices.Fit(context.Background(), [][]float64{{0}, {1}, {2}}, []float64{1, 3, 2}, gpfit.Options{Kernel: "rbf", Mean: "zero"})
	if err != nil {
		log.Fatal(err)
	}
	defer model.Close()
	fmt.Println("on", model.Device(), "with", len(model.Warnings()), "warning")
	// Output:
	// on cpu with 1 warning
}

// Fit several tables side by side. A task that fails leaves the others alone.
func ExampleFitMany() {
	var tasks []gpfit.Task
	for _, frequency := range []float64{1, 2, 3} {
		data := gpfit.Data{N: 20, D: 1}
		for i := range 20 {
			x := float64(i) / 3
			data.X, data.Y = append(data.X, x), append(data.Y, math.Sin(frequency*x))
		}
		tasks = append(tasks, gpfit.Task{Data: data, Options: gpfit.Options{Kernel: "rbf"}})
	}
	tasks[1].Data.Y[7] = math.NaN()
	results, err := gpfit.FitMany(context.Background(), tasks, gpfit.ManyOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range results {
		if r.Err != nil {
			fmt.Println("task", r.Task, "failed")
			continue
		}
		model, err := gpfit.Condition(context.Background(), r.Model)
		if err != nil {
			fmt.Println(err)
			return
		}
		p, err := model.Predict(context.Background(), [][]float64{{1.5}})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("task %d: %.2f\n", r.Task, p.Mean[0])
		model.Close()
	}
	// Output:
	// task 0: 1.00
	// task 1 failed
	// task 2: -0.98
}

package cpu

import (
	"context"

	"gpfit/cpu/spd"
	"gpfit/device"
	"gpfit/kernel"
	"gpfit/kernel/vec"
)

// predictMeans computes what [device.MeanPredictor] says. Each thread computes the covariances
// of one point in a row of n numbers, which stays in its cache, and multiplies it by
// the weights, in the order of Predict with variances.
func predictMeans(ctx context.Context, engine *spd.Engine, x *kernel.Points, prog *kernel.Program, theta, alpha []float64, xs *kernel.Points, mean []float64) error {
	if err := device.Invalid(name, device.CheckPrediction(x, xs, alpha, mean, nil)); err != nil {
		return err
	}
	tasks := (xs.N + tileRows - 1) / tileRows
	threads := max(1, min(engine.Threads(), tasks))
	evaluators, err := new(evaluators).bind(threads, x.D, prog, theta)
	if err != nil {
		return err
	}
	rows := make([][]float64, threads)
	for i := range rows {
		rows[i] = make([]float64, x.N)
	}
	return engine.For(ctx, threads, tasks, func(worker, task int) {
		for j := task * tileRows; j < min((task+1)*tileRows, xs.N); j++ {
			crossRow(evaluators[worker], rows[worker], xs, j, x)
			weigh(rows[worker], alpha, mean, j, xs.N)
		}
	})
}

// crossRow writes k(x*_j, x_i) to row[i] for all points of x.
func crossRow(e *kernel.Evaluator, row []float64, xs *kernel.Points, j int, x *kernel.Points) {
	for i := 0; i < x.N; i += tileCols {
		e.Row(row[i:], xs, j, x, i, min(i+tileCols, x.N))
	}
}

// weigh writes the products of a row of covariances, of point j of points, with the
// columns of alpha.
func weigh(row, alpha, mean []float64, j, points int) {
	n := len(row)
	for q := range len(alpha) / n {
		mean[q*points+j] = vec.Dot(row, alpha[q*n:(q+1)*n])
	}
}

// Package gpfit fits exact Gaussian processes and predicts with error bars: it learns from tables
// of numbers, on NVIDIA GPUs and on CPUs.
//
// [Fit] tunes the hyperparameters by maximum likelihood, with exact gradients, and
// [Model.Predict] returns a mean and a standard deviation for each new row:
//
//	package main
//
//	import (
//		"context"
//		"fmt"
//		"log"
//		"math"
//
//		"gpfit"
//	)
//
//	func main() {
//		ctx := context.Background()
//		x, y := [][]float64{}, []float64{}
//		for i := range 30 {
//			at := float64(i) / 4
//			x, y = append(x, []float64{at}), append(y, math.Round(100*math.Sin(at))/100)
//		}
//		model, err := gpfit.Fit(ctx, x, y, gpfit.Options{Kernel: "matern52"})
//		if err != nil {
//			log.Fatal(err)
//		}
//		defer model.Close()
//		p, err := model.Predict(ctx, [][]float64{{2.6}})
//		if err != nil {
//			log.Fatal(err)
//		}
//		fmt.Printf("%.3f ± %.3f\n", p.Mean[0], p.Std[0]) // prints 0.516 ± 0.004
//	}
//
// The zero value of [Options] chooses the kernel and fits it, a constant mean and one noise variance to
// standardized data. Its fields choose the kernel, the mean function, priors, bounds,
// restarts, a checkpoint file and the rest. [FitData] takes row-major slices with
// column names, several targets, known noise or held-out rows. The package chooses
// the device: a GPU if there is one and the table is large enough to gain from it.
// The methods of [Devices] are the same functions on devices of your choice.
//
// # Memory
//
// A model of n rows holds one n×n matrix, on the GPU or on the host, from the beginning
// of the fit until [Model.Close]. Predictions use the factor that the fit left there.
//
// # Errors
//
// Errors that a program may want to distinguish have types:
//
//   - [*problem.DataError]: a table that cannot be fitted, or slices of unequal lengths;
//   - [*problem.OptionError]: an option that does not suit the problem;
//   - [*kernel.ParseError], [*kernel.CompileError]: a mistake in the kernel's text, or
//     a kernel that does not suit the columns;
//   - *mean.ParseError: a mistake in the text of the mean function;
//   - [*device.UnavailableError], [*device.MemoryError], [*device.LostError]: a device
//     that cannot be used, is too small, or failed;
//   - [*problem.CancelledError]: the context ended first; it wraps the error of the
//     context, [context.Canceled] or [context.DeadlineExceeded];
//   - [*gp.FileError]: a model file that cannot be read or written;
//   - [*gp.ShapeError], [*gp.RangeError]: rows to predict with a wrong number of columns,
//     or too far away for double precision;
//   - [ErrClosed]: a call on a model after Close.
//
// # Where to go next
//
// docs/library.md in the source has longer examples: tables from files, progress and
// cancellation, user-defined kernels, batches. Then:
//
//   - package fit has [problem.Options], [summary.Report], cross-validation and the comparison
//     of kernels;
//   - package gp has [gp.Posterior]: terms, gradients, covariances, several targets;
//   - package kernel lists the kernels and has [kernel.Family] for user-defined kernels;
//   - package dataset reads tables for fits and predictions: CSV, JSON lines and NumPy, and
//     Parquet and Arrow with package table/formats;
//   - package batch runs hundreds of fits and survives crashes;
//   - package device lists and opens devices; a new kind of device implements its interfaces,
//     and package device/devicetest tests it, and kernels.
package gpfit

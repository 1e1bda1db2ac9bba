package gpfit

import (
	"context"
	"fmt"

	"gpfit/fit"
	"gpfit/gp"
	"gpfit/kernel"
)

// Options say what to fit and how; see [fit.Options] for the fields. The zero value
// is ready to use.
type Options = fit.Options

// Data is a table in row-major slices, with all that [Fit] leaves out: names, several
// targets, known noise, held-out rows; see [fit.Data] for the fields.
type Data = fit.Data

// Fit tunes the hyperparameters on the rows x, all of the same length, and their
// targets y, and returns the model. It chooses the device by itself. The caller closes
// the model. [Devices.FitData] says more.
func Fit(ctx context.Context, x [][]float64, y []float64, opts Options) (*Model, error) {
	return Devices{}.Fit(ctx, x, y, opts)
}

// FitData is Fit for a table in row-major slices. The matrix of
// gonum.org/v1/gonum/mat.Dense is one: its RawMatrix().Data, if its stride is its
// number of columns.
func FitData(ctx context.Context, data Data, opts Options) (*Model, error) {
	return Devices{}.FitData(ctx, data, opts)
}

// Load reads a model file and makes the model ready to predict on the device that it
// chooses, as [Devices.Load] does.
func Load(ctx context.Context, path string, kernels ...*kernel.Family) (*Model, error) {
	return Devices{}.Load(ctx, path, kernels...)
}

// Fit is the function [Fit] on these devices.
func (d Devices) Fit(ctx context.Context, x [][]float64, y []float64, opts Options) (*Model, error) {
	if len(x) == 0 {
		return nil, &fit.DataError{Msg: "there are no rows to fit"}
	}
	columns := len(x[0])
	rows, err := flatten(x, columns)
	if err != nil {
		return nil, err
	}
	return d.FitData(ctx, Data{X: rows, Y: y, N: len(x), D: columns}, opts)
}

// FitData is the function [FitData] on these devices. With several devices, restarts
// run side by side.
//
// If ctx is cancelled, the best model so far is returned together with a
// [*fit.CancelledError], unless nothing was evaluated yet or Options.DiscardCancelled
// is set. Otherwise the model is nil if there is an error. Unless Options.Fallback is
// set, a device that fails is replaced by the fallback of d, with a warning in the
// report.
func (d Devices) FitData(ctx context.Context, data Data, opts Options) (*Model, error) {
	if opts.Fallback == nil {
		opts.Fallback = d.OpenFallback()
	}
	job, err := fit.Prepare(data, opts)
	if err != nil {
		return nil, err
	}
	opened, err := d.Open(ctx, job.N(), job.Program())
	if err != nil {
		return nil, err
	}
	for _, b := range opened.Backends {
		if err := job.CheckMemory(b); err != nil && opts.Fallback == nil {
			opened.Close()
			return nil, err
		}
	}
	outcome, err := job.Fit(ctx, opened.Backends...)
	if outcome == nil {
		opened.Close()
		return nil, err
	}
	return fitted(outcome, opened, err == nil), err
}

// Load reads a model file and makes the model ready to predict on the first of these
// devices. It takes n³/3 operations, or none if the file has the factor. Kernels of
// your own that the model names must be given. Errors: [*gp.FileError], and those of
// opening a device.
func (d Devices) Load(ctx context.Context, path string, kernels ...*kernel.Family) (*Model, error) {
	m, err := gp.Load(path, kernels...)
	if err != nil {
		return nil, err
	}
	prog, err := m.Program()
	if err != nil {
		return nil, err
	}
	opened, err := d.Open(ctx, m.N(), prog)
	if err != nil {
		return nil, err
	}
	opened.KeepFirst()
	posterior, err := m.Condition(ctx, opened.Backends[0])
	if err != nil {
		opened.Close()
		return nil, err
	}
	return loaded(m, posterior, opened), nil
}

// flatten copies rows of so many columns to one row-major slice. The error is a
// [*fit.DataError] for a row of another length.
func flatten(x [][]float64, columns int) ([]float64, error) {
	flat := make([]float64, 0, len(x)*columns)
	for i, row := range x {
		if len(row) != columns {
			return nil, &fit.DataError{Msg: fmt.Sprintf("row %d (from 0) has %d columns, expected %d", i, len(row), columns)}
		}
		flat = append(flat, row...)
	}
	return flat, nil
}

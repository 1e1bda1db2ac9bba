package gpfit

import (
	"context"
	"fmt"
	"sync"
	"time"

	"gpfit/device"
	"gpfit/fit"
	"gpfit/fit/problem"
	"gpfit/gp"
	"gpfit/hyperopt"
	"gpfit/hyperopt/descent"
	"gpfit/internal/tuning"
	"gpfit/kernel"
)

// Options configures a fit; see [problem.Options] for the fields. The zero value is ready to use.
type Options = problem.Options

// Data is a table in row-major slices. In addition to the arguments of [Fit], it has names, several
// targets, known noise and held-out rows; see [problem.Data] for the fields.
type Data = problem.Data

// Fit tunes the hyperparameters on the rows x, all of the same length, and their
// targets y, and returns the model. It chooses the device. The caller closes the
// model. [Devices.FitData] describes cancellation and the fallback.
func Fit(ctx context.Context, x [][]float64, y []float64, opts Options) (*Model, error) {
	return Devices{}.Fit(ctx, x, y, opts)
}

// FitData is Fit for a table in row-major slices. The matrix of gonum.org/v1/gonum/mat.Dense is
// such a slice: its RawMatrix().Data, if its stride equals its number of columns.
func FitData(ctx context.Context, data Data, opts Options) (*Model, error) {
	return Devices{}.FitData(ctx, data, opts)
}

// Load reads a model file, chooses a device and prepares the model for prediction
// there, as [Devices.Load] does.
func Load(ctx context.Context, path string, kernels ...*kernel.Family) (*Model, error) {
	return Devices{}.Load(ctx, path, kernels...)
}

// Fit is the function [Fit] on these devices.
func (d Devices) Fit(ctx context.Context, x [][]float64, y []float64, opts Options) (*Model, error) {
	if len(x) == 0 {
		return nil, &problem.DataError{Msg: "there are no rows to fit"}
	}
	columns := len(x[0])
	rows, err := flatten(x, columns)
	if err != nil {
		return nil, err
	}
	return d.FitData(ctx, Data{X: rows, Y: y, N: len(x), D: columns}, opts)
}

// FitData is the function [FitData] on these devices. With several devices, restarts
// run in parallel.
//
// If ctx is cancelled, FitData returns the best model so far together with a
// [*problem.CancelledError], unless it has not evaluated any point or Options.DiscardCancelled is
// set. With any other error the model is nil. Unless Events.Fallback is set, the fallback of d
// replaces a device that fails, with a warning in the report.
func (d Devices) FitData(ctx context.Context, data Data, opts Options) (*Model, error) {
	events := d.Events
	if events.Fallback == nil {
		events.Fallback = d.OpenFallback()
	}
	if _, err := problem.FindMethod(d.Method, Methods(), opts); err != nil {
		return nil, err
	}
	events, follow := following(events)
	job, err := fit.Prepare(data, opts, events)
	if err != nil {
		return nil, err
	}
	follow(job)
	d.Parts = max(d.Parts, tuning.Parts(job))
	opened, err := d.Open(ctx, tuning.Workload(job))
	if err != nil {
		return nil, err
	}
	if err := opened.CheckMemory(job); err != nil && events.Fallback == nil {
		opened.Close()
		return nil, err
	}
	outcome, err := fit.Run(ctx, job, opened.Backends...)
	if outcome == nil {
		opened.Close()
		return nil, err
	}
	return fitted(outcome, opened, err == nil), err
}

// Load reads a model file and prepares the model for prediction on the first of these devices. It
// takes n³/3 operations, or none if the file has the factor. kernels must contain the user-defined
// kernels that the model names. Errors: [*gp.FileError], and errors in opening a device.
func (d Devices) Load(ctx context.Context, path string, kernels ...*kernel.Family) (*Model, error) {
	m, err := gp.Load(path, kernels...)
	if err != nil {
		return nil, err
	}
	return d.Condition(ctx, m)
}

// Condition makes a model ready to predict, such as a result of [FitMany], on a device that it chooses.
// It takes n³/3 operations.
func Condition(ctx context.Context, m *gp.Model) (*Model, error) { return Devices{}.Condition(ctx, m) }

// Condition is the function [Condition] on the first of these devices.
func (d Devices) Condition(ctx context.Context, m *gp.Model) (*Model, error) {
	w, err := d.Workload(m)
	if err != nil {
		return nil, err
	}
	opened, err := d.Open(ctx, w)
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

// following returns events that call OnFit with OnProgress and OnIteration, and a function that takes
// the expected stages from the job.
func following(e problem.Events) (events problem.Events, follow func(j *tuning.Job)) {
	if e.OnFit == nil {
		return e, func(*tuning.Job) {}
	}
	var mu sync.Mutex
	var f hyperopt.Follower
	progress, iteration := e.OnProgress, e.OnIteration
	e.OnProgress = func(p device.Progress) {
		if progress != nil {
			progress(p)
		}
		mu.Lock()
		defer mu.Unlock()
		f.Advance(p)
		e.OnFit(f.Progress(time.Now()))
	}
	e.OnIteration = func(it descent.Iteration) {
		if iteration != nil {
			iteration(it)
		}
		mu.Lock()
		defer mu.Unlock()
		f.Accept(it, time.Now())
		e.OnFit(f.Progress(time.Now()))
	}
	return e, func(j *tuning.Job) { f.Stages = j.Expected() }
}

// flatten copies rows with the given number of columns to one row-major slice. It
// returns a [*problem.DataError] for a row of another length.
func flatten(x [][]float64, columns int) ([]float64, error) {
	flat := make([]float64, 0, len(x)*columns)
	for i, row := range x {
		if len(row) != columns {
			return nil, &problem.DataError{Msg: fmt.Sprintf("row %d (from 0) has %d columns, but row 0 has %d", i, len(row), columns)}
		}
		flat = append(flat, row...)
	}
	return flat, nil
}

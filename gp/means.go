package gp

import (
	"context"
	"errors"

	"gonum.org/v1/gonum/floats"

	"gpfit/device"
	"gpfit/kernel"
)

// Means predicts posterior means alone, without variances. It needs no factor: a
// prediction at m rows evaluates the kernel at n·m pairs and takes no n³ or n²·m
// operations. It is not safe for concurrent use.
type Means struct {
	model *Model
	prog  *kernel.Program
	x     *kernel.Points
	on    device.MeanPredictor
	// ws predicts where on is nil.
	ws device.Workspace
	// posterior predicts for local experts with parameters of their own, whose means need
	// their variances; nil without.
	posterior *Posterior
}

// Means prepares the model to predict means on a backend. On the CPU that takes
// memory of the order n; a GPU allocates an n×n matrix. Errors are those of
// [device.Backend].
func (m *Model) Means(ctx context.Context, b device.Backend) (*Means, error) {
	prog, err := supported(m, b)
	if err != nil {
		return nil, err
	}
	if m.Locals != nil {
		posterior, err := m.Condition(ctx, b)
		if err != nil {
			return nil, err
		}
		return &Means{model: m, posterior: posterior, ws: posterior.ws}, nil
	}
	p := &Means{model: m, prog: prog, x: trainingPoints(m)}
	b = m.Backend(b)
	if devices := b.Capabilities().Devices; len(devices) == 1 && m.Experts == nil {
		p.on, _ = devices[0].(device.MeanPredictor)
	}
	if p.on == nil {
		p.ws, err = b.NewWorkspace(ctx, p.x)
	}
	return p, err
}

// Model returns the model.
func (p *Means) Model() *Model { return p.model }

// Predict returns the means of each target at m rows of features, row-major with one
// column for every name in FeatureNames, in original units. They have the bits of
// [Posterior.PredictTargets]. Errors are [*ShapeError], [*RangeError] and the device's.
func (p *Means) Predict(ctx context.Context, rows []float64, m int) ([][]float64, error) {
	if p.posterior != nil {
		return p.posterior.PredictMeans(ctx, rows, m)
	}
	return meansAt(p.model, rows, m, func(xs *kernel.Points, means []float64) error {
		if p.on != nil {
			return p.on.PredictMeans(ctx, p.x, p.prog, p.model.Theta, p.model.Alpha, xs, means)
		}
		err := p.ws.Predict(ctx, p.prog, p.model.Theta, p.model.Alpha, xs, means, nil)
		if !errors.Is(err, device.ErrStage) {
			return err
		}
		// This method needs its matrix even for means.
		if err := formWorkspace(ctx, p.model, p.ws, p.prog); err != nil {
			return err
		}
		return p.ws.Predict(ctx, p.prog, p.model.Theta, p.model.Alpha, xs, means, nil)
	})
}

// Close frees the device's memory.
func (p *Means) Close() error {
	if p.ws == nil {
		return nil
	}
	return p.ws.Close()
}

// PredictMeans is [Posterior.PredictTargets] without variances, in about a hundredth of
// the time: it returns the means of each target. See [Means] for a model whose factor
// is not needed at all.
func (p *Posterior) PredictMeans(ctx context.Context, rows []float64, m int) ([][]float64, error) {
	whole := p.whole
	if p.locals != nil {
		return p.predictLocalMeans(ctx, rows, m)
	}
	return meansAt(whole, rows, m, func(xs *kernel.Points, means []float64) error {
		return p.ws.Predict(ctx, p.prog, whole.Theta, whole.Alpha, xs, means, nil)
	})
}

// meansAt adds the mean functions of all targets to what predict writes for the
// scaled rows, and converts the sums to original units.
func meansAt(m *Model, rows []float64, n int, predict func(xs *kernel.Points, means []float64) error) ([][]float64, error) {
	scaled, err := scaledRows(m, rows, n)
	if err != nil {
		return nil, err
	}
	means := make([]float64, n*m.T())
	if err := predict(kernel.NewPoints(scaled, n, len(m.Columns)), means); err != nil {
		return nil, err
	}
	out := make([][]float64, m.T())
	for t := range out {
		one := m.Target(t)
		mean := meanValues(one, scaled, n)
		floats.Add(mean, means[t*n:(t+1)*n])
		for i := range mean {
			mean[i] = mean[i]*one.Scaling.YScale + one.Scaling.YMean
		}
		if err := checkResult("prediction", n, mean); err != nil {
			return nil, err
		}
		out[t] = mean
	}
	return out, nil
}

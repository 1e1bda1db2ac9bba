package gp

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"gpfit/device"
	"gpfit/kernel"
)

// drawnModel returns the model with the parameters of draw k; its weights are still to be found.
func drawnModel(m *Model, k int) *Model {
	d, one := m.Draws, *m
	one.Theta, one.factorPath, one.Draws = d.Theta[k], "", nil
	if d.Coefficients != nil {
		one.Mean.Coefficients = d.Coefficients[k]
	}
	switch {
	case len(m.Noise.Labels) > 0:
		one.Noise.Variances = d.Noise[k]
		one.TrainNoise = slices.Clone(m.TrainNoise)
		for i, g := range d.Group {
			one.TrainNoise[i] += d.Noise[k][g] - m.Noise.Variances[g]
		}
	case m.NoiseVariance > 0:
		one.NoiseVariance = d.Noise[k][0]
		one.TrainNoise = slices.Clone(m.TrainNoise)
		for i := range one.TrainNoise {
			one.TrainNoise[i] += one.NoiseVariance - m.NoiseVariance
		}
	}
	// Rounding of a difference may leave a known variance of 0 slightly negative.
	for i := range one.TrainNoise {
		one.TrainNoise[i] = math.Max(one.TrainNoise[i], 0)
	}
	return &one
}

// Mixture predicts with draws of a model's parameters: the predictive distribution is the
// mixture of those of the draws, each with the same weight. It is not safe for concurrent
// use.
type Mixture struct {
	model *Model
	prog  *kernel.Program
	ws    device.Workspace
	use   []int
}

// NewMixture prepares predictions with at most limit draws of the model, spread evenly; 0
// takes all of them. A prediction takes one factorisation for each draw. The caller closes
// the mixture. Errors are those of [Model.Condition].
func NewMixture(ctx context.Context, m *Model, b device.Backend, limit int) (*Mixture, error) {
	if m.Draws.Len() == 0 {
		return nil, fmt.Errorf("gp: the model has no draws of its parameters")
	}
	prog, ws, err := newWorkspace(ctx, m, b)
	if err != nil {
		return nil, err
	}
	x, all := &Mixture{model: m, prog: prog, ws: ws}, m.Draws.Len()
	count := all
	if limit > 0 {
		count = min(limit, all)
	}
	for i := range count {
		x.use = append(x.use, (2*i+1)*all/(2*count))
	}
	return x, nil
}

// Len returns the number of draws in use.
func (x *Mixture) Len() int { return len(x.use) }

// Model returns the model.
func (x *Mixture) Model() *Model { return x.model }

// Close frees the device's memory.
func (x *Mixture) Close() error { return x.ws.Close() }

// Predict predicts n rows of features, as [Posterior.PredictTargets] does. Mean and Std
// are those of the mixture, and intervals have its quantiles.
func (x *Mixture) Predict(ctx context.Context, rows []float64, n int, noise RowNoise) ([]*Prediction, error) {
	mixed := make([]*Prediction, x.model.T())
	for t := range mixed {
		mixed[t] = &Prediction{}
	}
	for _, k := range x.use {
		p := &Posterior{whole: drawnModel(x.model, k), prog: x.prog, ws: x.ws}
		if err := p.ws.Form(ctx, p.prog, p.whole.Theta, noiseDiagonal(p.whole)); err != nil {
			return nil, fmt.Errorf("draw %d: %w", k, err)
		}
		if err := settle(ctx, p); err != nil {
			return nil, fmt.Errorf("draw %d: %w", k, err)
		}
		p.model = p.whole.Target(0)
		parts, err := p.PredictTargets(ctx, rows, n, noise)
		if err != nil {
			return nil, err
		}
		for t, part := range parts {
			mixed[t].Parts = append(mixed[t].Parts, part)
		}
	}
	for _, p := range mixed {
		p.mix(n)
	}
	return mixed, nil
}

// mix fills in the moments and the interval of the mixture of parts.
func (p *Prediction) mix(n int) {
	share := 1 / float64(len(p.Parts))
	p.Mean, p.Std, p.StdLatent = make([]float64, n), make([]float64, n), make([]float64, n)
	for _, part := range p.Parts {
		floats.AddScaled(p.Mean, share, part.Mean)
	}
	for i := range n {
		spread, observed, latent := 0.0, 0.0, 0.0
		for _, part := range p.Parts {
			d := part.Mean[i] - p.Mean[i]
			spread += share * d * d
			observed += share * part.Std[i] * part.Std[i]
			latent += share * part.StdLatent[i] * part.StdLatent[i]
		}
		p.Std[i], p.StdLatent[i] = math.Sqrt(observed+spread), math.Sqrt(latent+spread)
	}
	p.Lower95, p.Upper95 = p.Interval(0.95)
}

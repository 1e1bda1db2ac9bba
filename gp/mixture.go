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

// Draws are draws of a model's parameters from their posterior, in scaled units. Each
// field has one element for each draw.
type Draws struct {
	// Method says how they were drawn: laplace or hmc.
	Method string `json:"method"`
	// Theta are the parameters of the kernel; Noise the estimated noise variances, none,
	// one, or one for each label; Coefficients those of the mean if they are parameters.
	Theta        [][]float64 `json:"theta"`
	Noise        [][]float64 `json:"noise,omitempty"`
	Coefficients [][]float64 `json:"coefficients,omitempty"`
	// Group is, for each training row, the index of its noise group; nil without groups.
	Group []int `json:"group,omitempty"`
}

// Len returns the number of draws; 0 for nil.
func (d *Draws) Len() int {
	if d == nil {
		return 0
	}
	return len(d.Theta)
}

// validate checks the draws of a model.
func (d *Draws) validate(m *Model) error {
	if d == nil {
		return nil
	}
	noise := len(m.Noise.Labels)
	if noise == 0 && m.NoiseVariance > 0 {
		noise = 1
	}
	for k, theta := range d.Theta {
		switch {
		case len(theta) != len(m.Theta) || firstNonFinite(theta) >= 0 || slices.Min(theta) <= 0:
			return fmt.Errorf("draw %d of the parameters is %v", k, theta)
		case noise > 0 && (len(d.Noise) != len(d.Theta) || len(d.Noise[k]) != noise || firstNonFinite(d.Noise[k]) >= 0 || slices.Min(d.Noise[k]) < 0):
			return fmt.Errorf("draw %d has no %d noise variances", k, noise)
		case d.Coefficients != nil && (len(d.Coefficients) != len(d.Theta) || len(d.Coefficients[k]) != len(m.Mean.Basis) || firstNonFinite(d.Coefficients[k]) >= 0):
			return fmt.Errorf("draw %d has no %d coefficients", k, len(m.Mean.Basis))
		}
	}
	if len(m.Noise.Labels) > 0 && (len(d.Group) != m.N() || slices.Min(d.Group) < 0 || slices.Max(d.Group) >= noise) {
		return fmt.Errorf("the draws have %d groups of %d training rows", len(d.Group), m.N())
	}
	return nil
}

// drawn returns the model with the parameters of draw k; its weights are still to be found.
func (m *Model) drawn(k int) *Model {
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

// Mixture prepares predictions with at most limit draws of the model, spread evenly; 0
// takes all of them. A prediction takes one factorisation for each draw. The caller closes
// the mixture. Errors are those of [Model.Condition].
func (m *Model) Mixture(ctx context.Context, b device.Backend, limit int) (*Mixture, error) {
	if m.Draws.Len() == 0 {
		return nil, fmt.Errorf("gp: the model has no draws of its parameters")
	}
	prog, err := m.Program()
	if err != nil {
		return nil, err
	}
	if err := b.Supports(device.Workload{N: m.N(), D: len(m.Columns), Program: prog}); err != nil {
		return nil, err
	}
	ws, err := m.Backend(b).NewWorkspace(ctx, m.points())
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
		p := &Posterior{whole: x.model.drawn(k), prog: x.prog, ws: x.ws}
		if err := p.ws.Form(ctx, p.prog, p.whole.Theta, p.whole.diagonal()); err != nil {
			return nil, fmt.Errorf("draw %d: %w", k, err)
		}
		if err := p.settle(ctx); err != nil {
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

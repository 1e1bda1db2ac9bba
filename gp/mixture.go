package gp

import (
	"context"
	"errors"
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
	if d.Lambda != nil {
		one.Scaling.Transform = m.Scaling.Transform.With(d.Lambda[k])
	}
	switch {
	case len(m.Noise.Labels) > 0:
		one.Noise.Variances = d.Noise[k]
		one.TrainNoise = redrawn(m, func(i int) (estimated, drawn float64) { return m.Noise.Variances[d.Group[i]], d.Noise[k][d.Group[i]] })
	case m.NoiseVariance > 0:
		one.NoiseVariance = d.Noise[k][0]
		one.TrainNoise = redrawn(m, func(int) (estimated, drawn float64) { return m.NoiseVariance, one.NoiseVariance })
	}
	return &one
}

// redrawn returns the noise variances of the training rows with other estimated variances.
func redrawn(m *Model, of func(i int) (estimated, drawn float64)) []float64 {
	noise := slices.Clone(m.TrainNoise)
	for i, v := range noise {
		estimated, drawn := of(i)
		if m.Noise.WeightColumn == "" {
			// Rounding of the difference may leave a known variance of 0 slightly negative.
			noise[i] = max(v+(drawn-estimated), 0)
			continue
		}
		own := 0.0
		if k, found := slices.BinarySearch(m.Noise.Outlying, i); found {
			own = m.Noise.OutlyingVariances[k]
		}
		noise[i] = max(0, v-own)*(drawn/estimated) + own
	}
	return noise
}

// Mixture predicts with draws of a model's parameters: the predictive distribution is the mixture
// of the draws' distributions, each with the same weight. It is not safe for concurrent use.
type Mixture struct {
	model *Model
	prog  *kernel.Program
	ws    device.Workspace
	use   []int
	// backend is nil for a mixture that is lent a workspace. meansAlone says that it predicts means without one.
	backend    device.Backend
	meansAlone bool
	// again is true from the second prediction on. kept then holds the posteriors of the draws if they are small,
	// each with a workspace of its own, and means predicts means with them; nil before.
	again bool
	kept  []*Posterior
	means []*Means
	// lent, if not nil, is the posterior whose workspace this is; it gets its factor back.
	lent *Posterior
}

// NewMixture prepares predictions with at most limit draws of the model, spread evenly; 0
// takes all of them. A prediction takes one factorization for each draw. The caller closes
// the mixture. It returns the errors of [Model.Condition].
func NewMixture(ctx context.Context, m *Model, b device.Backend, limit int) (*Mixture, error) {
	if m.Draws.Len() == 0 {
		return nil, fmt.Errorf("gp: the model has no draws of its parameters")
	}
	prog, ws, err := newWorkspace(ctx, m, b)
	if err != nil {
		return nil, err
	}
	on, _, err := suited(m, b)
	if err != nil {
		return nil, err
	}
	x := &Mixture{model: m, prog: prog, ws: ws, backend: b, meansAlone: meanPredictor(on) != nil}
	x.take(limit)
	return x, nil
}

// take selects at most limit draws, or all of them.
func (x *Mixture) take(limit int) {
	all := x.model.Draws.Len()
	count := all
	if limit > 0 {
		count = min(limit, all)
	}
	for i := range count {
		x.use = append(x.use, (2*i+1)*all/(2*count))
	}
}

// MostDraws is the number of draws over which predictions average unless the caller says otherwise. It
// bounds the time of a prediction, which is one factorization for each draw. With 100 independent
// draws the mean has a tenth of the standard deviation that the parameters' uncertainty gives it as
// Monte Carlo error.
const MostDraws = 100

// Predict predicts n rows of features with everything that the model of p knows of its parameters: it
// averages over its draws, over [MostDraws] at most, as [Mixture.Predict] does, and without draws it
// is [Posterior.PredictTargets]. The draws take their turns on the workspace of p, which then forms
// its own factor again.
func Predict(ctx context.Context, p *Posterior, rows []float64, n int, noise RowNoise) ([]*Prediction, error) {
	if p.whole.Draws.Len() == 0 {
		return p.PredictTargets(ctx, rows, n, noise)
	}
	x := &Mixture{model: p.whole, prog: p.prog, ws: p.ws, lent: p}
	x.take(MostDraws)
	return x.Predict(ctx, rows, n, noise)
}

// Len returns the number of draws in use.
func (x *Mixture) Len() int { return len(x.use) }

// Model returns the model.
func (x *Mixture) Model() *Model { return x.model }

// Close frees the device's memory.
func (x *Mixture) Close() error {
	for _, p := range x.kept {
		if p != nil {
			_ = p.Close()
		}
	}
	return x.ws.Close()
}

// small is how much memory the factors of the draws may take that are kept between predictions, in bytes.
const small = 64 << 20

// posterior returns the posterior of the i-th draw in use.
func (x *Mixture) posterior(ctx context.Context, i int) (p *Posterior, err error) {
	n, ws := int64(x.model.N()), x.ws
	keep := x.again && x.backend != nil && x.backend.Info().Host && int64(len(x.use))*8*n*n <= small
	switch {
	case x.kept != nil && x.kept[i] != nil:
		return x.kept[i], nil
	case keep:
		if _, ws, err = newWorkspace(ctx, x.model, x.backend); err != nil {
			return nil, err
		}
		defer func() {
			if err != nil {
				_ = ws.Close()
			}
		}()
	}
	p = &Posterior{whole: drawnModel(x.model, x.use[i]), prog: x.prog, ws: ws}
	if err := ws.Form(ctx, p.prog, p.whole.Theta, p.whole.NoiseDiagonal()); err != nil {
		return nil, fmt.Errorf("draw %d: %w", x.use[i], err)
	}
	if err := settle(ctx, p); err != nil {
		return nil, fmt.Errorf("draw %d: %w", x.use[i], err)
	}
	p.model = p.whole.Target(0)
	if keep {
		if x.kept == nil {
			x.kept = make([]*Posterior, len(x.use))
		}
		x.kept[i] = p
	}
	return p, nil
}

// PredictMeans returns the means of each target at n rows: the means of [Mixture.Predict], bit for bit, without
// variances. Later calls need no factor.
func (x *Mixture) PredictMeans(ctx context.Context, rows []float64, n int) ([][]float64, error) {
	m := x.model
	if x.backend == nil || m.Scaling.Transform != nil || !x.meansAlone {
		all, err := x.Predict(ctx, rows, n, RowNoise{})
		means := make([][]float64, len(all))
		for t, p := range all {
			means[t] = p.Mean
		}
		return means, err
	}
	mixed, share := make([][]float64, m.T()), 1/float64(len(x.use))
	for t := range mixed {
		mixed[t] = make([]float64, n)
	}
	for i := range x.use {
		if i == len(x.means) {
			p, err := x.posterior(ctx, i)
			if err != nil {
				return nil, err
			}
			one, err := p.whole.Means(ctx, x.backend)
			if err != nil {
				return nil, err
			}
			x.means = append(x.means, one)
		}
		means, err := x.means[i].Predict(ctx, rows, n)
		if err != nil {
			return nil, err
		}
		for t, mean := range means {
			floats.AddScaled(mixed[t], share, mean)
		}
	}
	return mixed, nil
}

// Predict predicts n rows of features, as [Posterior.PredictTargets] does. Mean and Std
// describe the mixture, and intervals have its quantiles.
func (x *Mixture) Predict(ctx context.Context, rows []float64, n int, noise RowNoise) (_ []*Prediction, err error) {
	if p := x.lent; p != nil {
		defer func() {
			err = errors.Join(err, formWorkspace(context.WithoutCancel(ctx), p.whole, p.ws, p.prog))
		}()
	}
	mixed := make([]*Prediction, x.model.T())
	for t := range mixed {
		mixed[t] = &Prediction{}
	}
	for i := range x.use {
		p, err := x.posterior(ctx, i)
		if err != nil {
			return nil, err
		}
		parts, err := p.PredictTargets(ctx, rows, n, noise)
		if err != nil {
			return nil, err
		}
		for t, part := range parts {
			mixed[t].Parts = append(mixed[t].Parts, part)
		}
	}
	x.again = true
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

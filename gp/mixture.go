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

// of returns the model with the parameters of draw k; its weights are still to be found.
func (d *Draws) of(m *Model, k int) *Model {
	one := *m
	one.Theta, one.factorPath, one.Draws = d.Theta[k], "", nil
	if d.other(k) {
		one.Kernel, one.Mean = d.Kernel, *d.Mean
	}
	if d.Coefficients != nil {
		one.Mean.Coefficients = d.Coefficients[k]
	}
	if d.Lambda != nil {
		one.Scaling.Transform = m.Scaling.Transform.With(d.Lambda[k])
	}
	switch {
	case len(m.Noise.Labels) > 0:
		one.Noise.Variances = d.Noise[k]
		one.TrainNoise = m.Noise.redrawn(m.TrainNoise, func(i int) (estimated, drawn float64) {
			return m.Noise.Variances[d.Group[i]], d.Noise[k][d.Group[i]]
		})
	case m.NoiseVariance > 0:
		one.NoiseVariance = d.Noise[k][0]
		one.TrainNoise = m.Noise.redrawn(m.TrainNoise, func(int) (estimated, drawn float64) { return m.NoiseVariance, one.NoiseVariance })
	}
	return &one
}

// redrawn returns the noise variances of training rows with other estimated variances.
func (z *Noise) redrawn(rows []float64, of func(i int) (estimated, drawn float64)) []float64 {
	noise := slices.Clone(rows)
	for i, v := range noise {
		estimated, drawn := of(i)
		if z.WeightColumn == "" {
			// Rounding of the difference may leave a known variance of 0 slightly negative.
			noise[i] = max(v+(drawn-estimated), 0)
			continue
		}
		own := 0.0
		if k, found := slices.BinarySearch(z.Outlying, i); found {
			own = z.OutlyingVariances[k]
		}
		noise[i] = max(0, v-own)*(drawn/estimated) + own
	}
	return noise
}

// Mixture predicts with draws of a model's parameters: the predictive distribution is the mixture
// of the draws' distributions, each with the same weight. It is not safe for concurrent use.
type Mixture struct {
	// own is the model with its own parameters. The draws take their turns on its workspace.
	own *system
	use []int
	// prog is the kernel of the draws of the other model; nil until one needs it.
	prog *kernel.Program
	// lent says that the workspace holds the factor of own, which it gets back.
	lent bool
	// again is true from the second prediction on. kept then holds the systems of the draws if they are small,
	// each with a workspace of its own, and means predicts means with them; nil before.
	again       bool
	kept, means []*system
}

// NewMixture prepares predictions with at most limit draws of the model, spread evenly; 0
// takes all of them. A prediction takes one factorization for each draw. The caller closes
// the mixture. It returns the errors of [Model.Condition].
func NewMixture(ctx context.Context, m *Model, b device.Backend, limit int) (*Mixture, error) {
	if m.Draws.Len() == 0 {
		return nil, fmt.Errorf("the model has no draws of its parameters")
	}
	s, err := newSystem(m, b)
	if err == nil {
		err = s.open(ctx)
	}
	if err != nil {
		return nil, err
	}
	return s.mixture(limit), nil
}

// mixture returns a mixture of at most limit draws, or of all of them.
func (s *system) mixture(limit int) *Mixture {
	use := s.whole.Draws.spread(limit)
	return &Mixture{own: s, lent: s.formed, use: use, kept: make([]*system, len(use))}
}

// spread returns the indices of at most limit draws, spread evenly, or of all of them if it is 0.
func (d *Draws) spread(limit int) (use []int) {
	all, count := d.Len(), d.Len()
	if limit > 0 {
		count = min(limit, all)
	}
	for i := range count {
		use = append(use, (2*i+1)*all/(2*count))
	}
	return use
}

// Models returns a model for each of the draws over which [Predict] averages, with the weights of the optimum, and its
// coefficients if they are from least squares.
func (d *Draws) Models(m *Model) (models []*Model) {
	for _, k := range d.spread(MostDraws) {
		models = append(models, d.of(m, k))
	}
	return models
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
	if err := p.form(ctx); err != nil {
		return nil, err
	}
	return p.mixture(MostDraws).Predict(ctx, rows, n, noise)
}

// Model returns the model.
func (x *Mixture) Model() *Model { return x.own.whole }

// Close frees the device's memory.
func (x *Mixture) Close() error {
	for _, s := range x.kept {
		if s != nil {
			_ = s.close()
		}
	}
	return x.own.close()
}

// small is how much memory the factors of the draws may take that are kept between predictions, in bytes.
const small = 64 << 20

// keeps says whether the mixture keeps the factors of all draws from now on.
func (x *Mixture) keeps() bool {
	n, b := int64(x.own.x.N), x.own.backend
	return x.again && !x.lent && b.Info().Host && int64(len(x.use))*8*n*n <= small
}

// draw returns the system of the i-th draw in use.
func (x *Mixture) draw(ctx context.Context, i int) (*system, error) {
	if x.kept[i] != nil {
		return x.kept[i], nil
	}
	d, whole := x.own.whole.Draws, x.own.whole
	s := x.own.of(d.of(whole, x.use[i]), x.own.ws)
	if d.other(x.use[i]) {
		if x.prog == nil {
			var err error
			if x.prog, err = s.whole.Program(); err != nil {
				return nil, err
			}
		}
		s.prog = x.prog
	}
	keep := x.keeps()
	if keep {
		s.ws = nil
	}
	err := s.form(ctx)
	if err == nil {
		err = s.settle(ctx)
	}
	if err != nil {
		if keep {
			_ = s.close()
		}
		return nil, fmt.Errorf("draw %d: %w", x.use[i], err)
	}
	if keep {
		x.kept[i] = s
	}
	return s, nil
}

// PredictMeans returns the means of each target at n rows: the means of [Mixture.Predict], bit for bit, without
// variances. Later calls need no factor.
func (x *Mixture) PredictMeans(ctx context.Context, rows []float64, n int) ([][]float64, error) {
	m := x.own.whole
	if m.Scaling.Transform != nil || x.own.meanPredictor() == nil {
		all, err := x.Predict(ctx, rows, n, RowNoise{})
		return meansOf(all), err
	}
	mixed, share := make([][]float64, m.T()), 1/float64(len(x.use))
	for t := range mixed {
		mixed[t] = make([]float64, n)
	}
	for i := range x.use {
		if i == len(x.means) {
			s, err := x.draw(ctx, i)
			if err != nil {
				return nil, err
			}
			x.means = append(x.means, s.of(s.whole, nil))
		}
		means, err := x.means[i].posterior().PredictMeans(ctx, rows, n)
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
	if x.lent {
		defer func() { err = errors.Join(err, x.own.compute(context.WithoutCancel(ctx))) }()
	}
	mixed := make([]*Prediction, x.own.whole.T())
	for t := range mixed {
		mixed[t] = &Prediction{}
	}
	for i := range x.use {
		s, err := x.draw(ctx, i)
		if err != nil {
			return nil, err
		}
		parts, err := s.predictions(ctx, rows, n, noise, s.whole.targets()...)
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
		p.Medians = append(p.Medians, part.Medians...)
	}
	slices.Sort(p.Medians)
	p.Medians = slices.Compact(p.Medians)
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

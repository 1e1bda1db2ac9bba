package gp

import (
	"context"
	"math"

	"gonum.org/v1/gonum/floats"

	"gpfit/internal/score"
	"gpfit/internal/transform"
	"gpfit/kernel"
)

// Prediction holds, for each row, numbers in original units.
type Prediction struct {
	// Mean is the posterior mean.
	Mean []float64
	// Std is the standard deviation of a new observation, including noise;
	// StdLatent is the standard deviation of the function without noise.
	Std, StdLatent []float64
	// Lower95 and Upper95 bound the central 95 % interval of a new observation.
	Lower95, Upper95 []float64
	// Transformed describes the transformed target if the model has a transform; nil otherwise. Mean
	// and deviations then describe the target itself, found by quadrature, and the intervals have
	// its quantiles. For a mixture see the parts.
	Transformed *Transformed
	// Parts are the components of a mixture, of equal weight; nil for a normal distribution.
	Parts []*Prediction
}

// Transformed holds the normal distributions behind the predictions of a model with a transform
// of its target, in the units of the transformed target.
type Transformed struct {
	// Of is the transform.
	Of *transform.Map
	// Mean, Std and StdLatent have the meaning that they have in [Prediction].
	Mean, Std, StdLatent []float64
}

// Predict evaluates the posterior at m rows of features, row-major with one column
// for every name in FeatureNames, in original units: Rasmussen & Williams (2006),
// eq. 2.25 and 2.26, or 2.41 and 2.42 if least squares found the mean's
// coefficients. For rows with known noise, see [Posterior.PredictNoise].
func (p *Posterior) Predict(ctx context.Context, rows []float64, m int) (*Prediction, error) {
	return p.PredictNoise(ctx, rows, m, RowNoise{})
}

// PredictNoise is like Predict for rows with known noise, which affects Std and the intervals.
// Errors are [*ShapeError], [*NoiseError], [*RangeError] and [*device.MemoryError].
func (p *Posterior) PredictNoise(ctx context.Context, rows []float64, m int, row RowNoise) (*Prediction, error) {
	out, err := predictWith(ctx, p, rows, m, row, []*Model{p.model})
	if err != nil {
		return nil, err
	}
	return out[0], nil
}

// PredictTargets is like [Posterior.PredictNoise] for all targets, in one pass.
func (p *Posterior) PredictTargets(ctx context.Context, rows []float64, m int, row RowNoise) ([]*Prediction, error) {
	return predictWith(ctx, p, rows, m, row, targetsOf(p.whole))
}

// predictWith predicts targets of the model: all of them, or p.model alone.
func predictWith(ctx context.Context, p *Posterior, rows []float64, m int, row RowNoise, targets []*Model) ([]*Prediction, error) {
	scaled, err := scaledRows(p.model, rows, m)
	if err != nil {
		return nil, err
	}
	noise, err := noisesOf(p.model, m, row)
	if err != nil {
		return nil, err
	}
	means, latent, err := predictFunction(ctx, p, scaled, m, targets)
	if err != nil {
		return nil, err
	}
	var out []*Prediction
	for t, mod := range targets {
		p := newPrediction(mod.Scaling, means[t], latent, noise)
		if err := checkResult("prediction", m, p.Mean, p.Std, p.StdLatent, p.Lower95, p.Upper95); err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

// predictFunction returns the mean of each target and the variance of the function at m
// scaled rows. The targets differ only in means and units.
func predictFunction(ctx context.Context, p *Posterior, scaled []float64, m int, targets []*Model) (means [][]float64, latent []float64, err error) {
	sums, reduction := make([]float64, m*len(targets)), make([]float64, m)
	xs := kernel.NewPoints(scaled, m, len(p.model.Columns))
	if err := p.ws.Predict(ctx, p.prog, p.model.Theta, alphaOf(targets), xs, sums, reduction); err != nil {
		return nil, nil, err
	}
	if latent, err = priorVariance(ctx, p, p.prog, p.model.Theta, xs, true); err != nil {
		return nil, nil, err
	}
	for i, v := range reduction {
		// Rounding can make the difference slightly negative.
		latent[i] = max(latent[i]-v, 0)
	}
	return withMeans(targets, scaled, sums), latent, nil
}

// PredictMeans is [Posterior.PredictTargets] without variances, in about a hundredth of the time:
// it returns the means of each target. See [Means] for a model whose factor is not needed at all.
// The mean of a transformed target depends on the variance, so that it takes as long as that.
func (p *Posterior) PredictMeans(ctx context.Context, rows []float64, m int) ([][]float64, error) {
	if p.whole.Scaling.Transform != nil {
		all, err := p.PredictTargets(ctx, rows, m, RowNoise{})
		if err != nil {
			return nil, err
		}
		return [][]float64{all[0].Mean}, nil
	}
	return meansAt(p.whole, rows, m, func(scaled []float64, xs *kernel.Points) ([][]float64, error) {
		return scaledMeans(ctx, p, scaled, xs)
	})
}

// scaledMeans returns the mean of each target at scaled rows, in scaled units.
func scaledMeans(ctx context.Context, p *Posterior, scaled []float64, xs *kernel.Points) ([][]float64, error) {
	targets := targetsOf(p.whole)
	sums := make([]float64, xs.N*len(targets))
	if err := p.ws.Predict(ctx, p.prog, p.whole.Theta, p.whole.Alpha, xs, sums, nil); err != nil {
		return nil, err
	}
	return withMeans(targets, scaled, sums), nil
}

// meansAt scales n rows for means, and converts the means of all targets to original units.
func meansAt(m *Model, rows []float64, n int, means func(scaled []float64, xs *kernel.Points) ([][]float64, error)) ([][]float64, error) {
	scaled, err := scaledRows(m, rows, n)
	if err != nil {
		return nil, err
	}
	out, err := means(scaled, kernel.NewPoints(scaled, n, len(m.Columns)))
	if err != nil {
		return nil, err
	}
	for t, mean := range out {
		m.Target(t).Scaling.toOriginal(mean)
		if err := checkResult("prediction", n, mean); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// withMeans adds the values of the mean functions at scaled rows to sums, one target after
// the other.
func withMeans(targets []*Model, scaled, sums []float64) (means [][]float64) {
	m := len(sums) / len(targets)
	for t, mod := range targets {
		mean := meanValues(mod, scaled, m)
		floats.Add(mean, sums[t*m:(t+1)*m])
		means = append(means, mean)
	}
	return means
}

// alphaOf returns the weights of targets, one after the other.
func alphaOf(targets []*Model) (alpha []float64) {
	for _, mod := range targets {
		alpha = append(alpha, mod.Alpha...)
	}
	return alpha
}

// newPrediction converts means and variances to original units.
func newPrediction(s Scaling, mean, latent, noise []float64) *Prediction {
	m := len(mean)
	out := &Prediction{Mean: mean, Std: make([]float64, m), StdLatent: make([]float64, m), Lower95: make([]float64, m), Upper95: make([]float64, m)}
	for i := range m {
		out.Mean[i] = mean[i]*s.YScale + s.YMean
		out.StdLatent[i] = math.Sqrt(latent[i]) * s.YScale
		out.Std[i] = math.Sqrt(latent[i]+noise[i]) * s.YScale
		out.Lower95[i] = out.Mean[i] - score.Z95*out.Std[i]
		out.Upper95[i] = out.Mean[i] + score.Z95*out.Std[i]
	}
	if s.Transform != nil {
		out.invert(s.Transform)
	}
	return out
}

// invert keeps mean and deviations of the transformed target in Transformed, and replaces them by the
// mean and deviations of the target.
func (p *Prediction) invert(of *transform.Map) {
	m := len(p.Mean)
	p.Transformed = &Transformed{of, p.Mean, p.Std, p.StdLatent}
	p.Mean, p.Std, p.StdLatent = make([]float64, m), make([]float64, m), make([]float64, m)
	for i, mean := range p.Transformed.Mean {
		p.Mean[i], p.Std[i] = of.Moments(mean, p.Transformed.Std[i])
		_, p.StdLatent[i] = of.Moments(mean, p.Transformed.StdLatent[i])
		p.Lower95[i] = of.Inverse(mean - score.Z95*p.Transformed.Std[i])
		p.Upper95[i] = of.Inverse(mean + score.Z95*p.Transformed.Std[i])
	}
}

// normal returns the distribution of a new observation at row i that is no mixture.
func (p *Prediction) normal(i int) score.Normal {
	if t := p.Transformed; t != nil {
		return score.Normal{Mean: t.Mean[i], Std: t.Std[i], Of: t.Of}
	}
	return score.Normal{Mean: p.Mean[i], Std: p.Std[i]}
}

// Function returns the bounds of the central interval that holds the function, without noise,
// with the given probability: of the mean ± deviations, or with a transform of quantiles.
func (p *Prediction) Function(probability float64) (lower, upper []float64) {
	z := score.CentralQuantile(probability)
	lower, upper = make([]float64, len(p.Mean)), make([]float64, len(p.Mean))
	for i, mean := range p.Mean {
		if t := p.Transformed; t != nil {
			lower[i], upper[i] = t.Of.Inverse(t.Mean[i]-z*t.StdLatent[i]), t.Of.Inverse(t.Mean[i]+z*t.StdLatent[i])
		} else {
			lower[i], upper[i] = mean-z*p.StdLatent[i], mean+z*p.StdLatent[i]
		}
	}
	return lower, upper
}

// Between returns the prediction of the rows first … last−1, which is no mixture. It shares memory.
func (p *Prediction) Between(first, last int) *Prediction {
	out := &Prediction{Mean: p.Mean[first:last], Std: p.Std[first:last], StdLatent: p.StdLatent[first:last], Lower95: p.Lower95[first:last], Upper95: p.Upper95[first:last]}
	if t := p.Transformed; t != nil {
		out.Transformed = &Transformed{t.Of, t.Mean[first:last], t.Std[first:last], t.StdLatent[first:last]}
	}
	return out
}

// priorVariance returns the variances at xs before the data reduces them: k(x*, x*)
// for prog, plus the variance due to the mean's coefficients (see meanUncertainty).
func priorVariance(ctx context.Context, p *Posterior, prog *kernel.Program, theta []float64, xs *kernel.Points, withMean bool) ([]float64, error) {
	variance := diagonalOf(prog, theta, xs)
	w, err := meanUncertainty(ctx, p, prog, theta, xs, withMean)
	q := len(p.model.Mean.Basis)
	for i := range w {
		variance[i/q] += w[i] * w[i]
	}
	return variance, err
}

// Density returns the predictive density of a new observation at row i.
func (p *Prediction) Density(i int) score.Predictive {
	if p.Parts == nil {
		return score.Predictive{p.normal(i)}
	}
	d := make(score.Predictive, len(p.Parts))
	for k, part := range p.Parts {
		d[k] = part.normal(i)
	}
	return d
}

// Interval returns the bounds of the central interval that holds a new
// observation with the given probability (between 0 and 1).
func (p *Prediction) Interval(probability float64) (lower, upper []float64) {
	lower, upper = make([]float64, len(p.Mean)), make([]float64, len(p.Mean))
	for i := range p.Mean {
		lower[i], upper[i] = p.Density(i).Interval(probability)
	}
	return lower, upper
}

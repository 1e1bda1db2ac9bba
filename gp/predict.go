package gp

import (
	"context"
	"math"
	"slices"

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
	// Medians are the rows whose Mean is the median, because the tail of a transformed target rules the expected value.
	Medians []int
	// Outlying describes observations that do not fit; nil if the model expects none. Std and the intervals
	// count them. With a transform Mean and Std do not, because their tails would rule both.
	Outlying *Outlying
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
	out, err := p.predictions(ctx, rows, m, row, p.model)
	if err != nil {
		return nil, err
	}
	return out[0], nil
}

// PredictTargets is like [Posterior.PredictNoise] for all targets, in one pass.
func (p *Posterior) PredictTargets(ctx context.Context, rows []float64, m int, row RowNoise) ([]*Prediction, error) {
	return p.predictions(ctx, rows, m, row, p.whole.targets()...)
}

// predictions predicts targets of the model, which differ only in means and units.
func (s *system) predictions(ctx context.Context, rows []float64, m int, row RowNoise, targets ...*Model) ([]*Prediction, error) {
	xs, err := s.whole.inputs().at(rows, m)
	if err != nil {
		return nil, err
	}
	noise, err := row.Variances(targets[0], m)
	if err != nil {
		return nil, err
	}
	if err := s.form(ctx); err != nil {
		return nil, err
	}
	var alpha []float64
	for _, mod := range targets {
		alpha = append(alpha, mod.Alpha...)
	}
	sums, latent, err := s.predict(ctx, s.covariance, alpha, xs, true)
	if err != nil {
		return nil, err
	}
	var out []*Prediction
	for t, mean := range withMeans(targets, xs, sums) {
		p := newPrediction(targets[t].Scaling, mean, latent, noise).mixed(targets[t]).untail(targets[t])
		if err := checkResult("prediction", m, p.Mean, p.Std, p.StdLatent, p.Lower95, p.Upper95); err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

// PredictMeans is [Posterior.PredictTargets] without variances, with the same bits in about a hundredth of the time:
// it returns the means of each target. See [Model.Means] for a model whose factor is not needed at all.
// The mean of a transformed target depends on the variance, so that it takes as long as that.
func (p *Posterior) PredictMeans(ctx context.Context, rows []float64, m int) ([][]float64, error) {
	if p.whole.Scaling.Transform != nil {
		all, err := p.PredictTargets(ctx, rows, m, RowNoise{})
		return meansOf(all), err
	}
	xs, err := p.whole.inputs().at(rows, m)
	if err != nil {
		return nil, err
	}
	out, err := p.means(ctx, xs)
	for t, mean := range out {
		p.whole.Target(t).Scaling.toOriginal(mean)
		if err := checkResult("prediction", m, mean); err != nil {
			return nil, err
		}
	}
	return out, err
}

// meansOf returns the means of predictions.
func meansOf(all []*Prediction) (means [][]float64) {
	for _, p := range all {
		means = append(means, p.Mean)
	}
	return means
}

// withMeans adds the values of the mean functions at points to sums, one target after
// the other.
func withMeans(targets []*Model, xs *kernel.Points, sums []float64) (means [][]float64) {
	for t, mod := range targets {
		mean := mod.Mean.at(xs)
		floats.Add(mean, sums[t*xs.N:(t+1)*xs.N])
		means = append(means, mean)
	}
	return means
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
		if p.Std[i], p.StdLatent[i] = representable(p.Std[i]), representable(p.StdLatent[i]); math.IsNaN(p.Mean[i]) {
			p.Mean[i] = math.Inf(1) // until the median takes its place
		}
	}
}

// representable returns the largest number for a deviation beyond it: a transformed target far from the training rows has moments
// that no number holds.
func representable(v float64) float64 {
	if math.IsNaN(v) {
		return math.MaxFloat64
	}
	return min(v, math.MaxFloat64)
}

// tailed is how many times the range of the training targets, or the bound of an interval, an expected value is off that
// a tail rules.
const tailed = 10

// untail replaces expected values of a transformed target that its tail rules by medians.
func (p *Prediction) untail(m *Model) *Prediction {
	if p.Transformed == nil {
		return p
	}
	low, high := slices.Min(m.Y), slices.Max(m.Y)
	far := tailed * (high - low)
	for i, mean := range p.Mean {
		outside := mean > max(tailed*p.Upper95[i], p.Upper95[i]) || mean < min(tailed*p.Lower95[i], p.Lower95[i])
		if outside || mean > high+far || mean < low-far {
			p.Mean[i] = p.Transformed.Of.Inverse(p.Transformed.Mean[i])
			p.Medians = append(p.Medians, i)
		}
	}
	return p
}

// normal returns the distribution of a new observation at row i that fits, without draws.
func (p *Prediction) normal(i int) score.Normal {
	if t := p.Transformed; t != nil {
		return score.Normal{Mean: t.Mean[i], Std: t.Std[i], Of: t.Of}
	}
	if p.Outlying != nil {
		return score.Normal{Mean: p.Mean[i], Std: p.Outlying.Fitting[i]}
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

// Between returns the prediction of the rows first … last−1, which is no mixture of draws. It shares memory.
func (p *Prediction) Between(first, last int) *Prediction {
	out := &Prediction{Mean: p.Mean[first:last], Std: p.Std[first:last], StdLatent: p.StdLatent[first:last], Lower95: p.Lower95[first:last], Upper95: p.Upper95[first:last]}
	if t := p.Transformed; t != nil {
		out.Transformed = &Transformed{t.Of, t.Mean[first:last], t.Std[first:last], t.StdLatent[first:last]}
	}
	if o := p.Outlying; o != nil {
		out.Outlying = &Outlying{o.Share, o.Fitting[first:last], o.Off[first:last]}
	}
	return out
}

// Density returns the predictive density of a new observation at row i.
func (p *Prediction) Density(i int) score.Predictive {
	if o := p.Outlying; o != nil {
		return o.densities(p.normal(i), i)
	}
	if p.Parts == nil {
		return score.Predictive{p.normal(i)}
	}
	d := make(score.Predictive, 0, len(p.Parts))
	for _, part := range p.Parts {
		d = append(d, part.Density(i)...)
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

package columns

import (
	"context"
	"strconv"

	"gpfit/fit/dataset"
	"gpfit/gp"
)

// Predict selects the predictions for rows, all in original units.
type Predict struct {
	// Probabilities are the probabilities, between 0 and 1, of the intervals for a new observation.
	Probabilities []float64
	// MeanOnly selects only the mean; see [Predict.Means].
	MeanOnly bool
	// Terms adds predictions of each term of a sum of kernels, Gradient the derivatives of the mean
	// by the features, and GradientStd the standard deviations of the function's derivatives.
	Terms, Gradient, GradientStd bool
	// Sampling selects results of the joint distribution of all rows.
	Sampling
}

// Level returns a probability in percent, as in lower95.
func Level(probability float64) string { return strconv.FormatFloat(100*probability, 'g', 10, 64) }

// Info returns further members of the JSON object of a [Sheet].
func (o *Predict) Info() map[string]any {
	info := map[string]any{"type": "prediction"}
	switch {
	case o.MeanOnly:
	case len(o.Probabilities) == 1:
		info["probability"] = o.Probabilities[0]
	default:
		info["probabilities"] = o.Probabilities
	}
	return info
}

// newParts returns a part for each target of a model, named if there are several.
func newParts(m *gp.Model, targets int) []TargetColumns {
	parts := make([]TargetColumns, targets)
	for t := range parts {
		if targets > 1 {
			parts[t].Target = m.TargetNames()[t]
		}
	}
	return parts
}

// Means predicts rows of a model and returns a part for each target with the column mean. predict is the
// method of [gp.Posterior] or [gp.Mixture] whose errors it returns.
func (o *Predict) Means(ctx context.Context, m *gp.Model, predict func(ctx context.Context, rows []float64, n int) ([][]float64, error), in dataset.Rows) ([]TargetColumns, error) {
	means, err := predict(ctx, in.X, in.N)
	if err != nil {
		return nil, err
	}
	parts := newParts(m, len(means))
	for t, mean := range means {
		parts[t].Add("mean", mean)
	}
	return parts, nil
}

// Mixed is [Predict.Parts] for draws of the parameters. It gives the mean, the standard
// deviations and the intervals alone, and with MeanOnly the mean.
func (o *Predict) Mixed(ctx context.Context, x *gp.Mixture, in dataset.Rows) ([]TargetColumns, error) {
	marginal, err := x.Predict(ctx, in.X, in.N, in.Noise)
	if err != nil {
		return nil, err
	}
	return o.Marginals(x.Model(), marginal), nil
}

// Marginals returns the columns of the predictions of each target: the mean alone if there are no standard
// deviations, and no std_latent if the predictions have none.
func (o *Predict) Marginals(of *gp.Model, predictions []*gp.Prediction) []TargetColumns {
	parts := newParts(of, len(predictions))
	for t, m := range predictions {
		r := &parts[t]
		r.Add("mean", m.Mean)
		if o.MeanOnly || m.Std == nil {
			continue
		}
		r.Prediction = m
		r.Add("std", m.Std)
		for _, probability := range o.Probabilities {
			lower, upper := m.Interval(probability)
			r.Add("lower"+Level(probability), lower)
			r.Add("upper"+Level(probability), upper)
		}
		if m.StdLatent != nil {
			r.Add("std_latent", m.StdLatent)
		}
	}
	return parts
}

// Parts predicts rows and returns a part for each target: columns mean, std, lower
// and upper bound of each interval, std_latent, and the other selected columns. It
// returns the errors of [gp.Posterior].
func (o *Predict) Parts(ctx context.Context, p *gp.Posterior, in dataset.Rows) ([]TargetColumns, error) {
	marginal, err := p.PredictTargets(ctx, in.X, in.N, in.Noise)
	if err != nil {
		return nil, err
	}
	parts := o.Marginals(p.Whole(), marginal)
	for t := range parts {
		if err := o.more(ctx, p.Target(t), in, &parts[t]); err != nil {
			return nil, err
		}
	}
	return parts, nil
}

// more adds the results beyond mean and deviation to r.
func (o *Predict) more(ctx context.Context, p *gp.Posterior, in dataset.Rows, r *TargetColumns) error {
	if o.Terms {
		terms, meanFunction, err := p.Terms(ctx, in.X, in.N)
		if err != nil {
			return err
		}
		r.Add("mean_function", meanFunction)
		for _, t := range terms {
			r.Add("mean_"+t.Path, t.Mean, "terms", t.Path, "mean")
			r.Add("std_"+t.Path, t.Std, "terms", t.Path, "std")
		}
	}
	for _, g := range []struct {
		wanted  bool
		name    string
		compute func(ctx context.Context, rows []float64, m int) ([]float64, error)
	}{{o.Gradient, "gradient", p.MeanGradient}, {o.GradientStd, "gradient_std", p.GradientStd}} {
		if !g.wanted {
			continue
		}
		values, err := g.compute(ctx, in.X, in.N)
		if err != nil {
			return err
		}
		for c, name := range p.Model().FeatureNames {
			r.Add(g.name+"_"+name, Of(values, in.N, c), g.name, name)
		}
	}
	if !o.Wanted() {
		return nil
	}
	joint, err := p.Joint(ctx, in.X, in.N, gp.JointOptions{Observed: o.Observed, Noise: in.Noise})
	if err != nil {
		return err
	}
	return o.Add(ctx, joint, r, r.Target)
}

// Of returns column c of a row-major matrix with n rows.
func Of(matrix []float64, n, c int) []float64 {
	values := make([]float64, n)
	for i := range values {
		values[i] = matrix[i*(len(matrix)/n)+c]
	}
	return values
}

// LeaveOneOut returns columns with a row for each training row of m.
func LeaveOneOut(m *gp.Model, l *gp.LeaveOneOut) TargetColumns {
	numbers := make([]float64, len(l.Target))
	for i := range numbers {
		numbers[i] = float64(m.Row(i))
	}
	var r TargetColumns
	r.Add("row", numbers)
	r.Add("target", l.Target)
	r.Add("mean", l.Mean)
	r.Add("std", l.Std)
	r.Add("residual", l.Residual)
	r.Add("standardized", l.Standardized)
	r.Add("log_density", l.LogDensity)
	return r
}

package columns

import (
	"context"
	"strconv"

	"gpfit/gp"
	"gpfit/gp/rows"
)

// Predict selects the predictions for rows, all in original units.
type Predict struct {
	// Probability is the probability, between 0 and 1, of the interval for a new
	// observation.
	Probability float64
	// Terms adds predictions of each term of a sum of kernels, Gradient the
	// derivatives of the mean by the features, and GradientStd the standard
	// deviations of the function's derivatives.
	Terms, Gradient, GradientStd bool
	// Sampling selects results of the joint distribution of all rows.
	Sampling
}

// Level returns the probability in percent, as in lower95.
func (o *Predict) Level() string { return strconv.FormatFloat(100*o.Probability, 'g', 10, 64) }

// Info returns further members of the JSON object of a [Sheet].
func (o *Predict) Info() map[string]any {
	return map[string]any{"type": "prediction", "probability": o.Probability}
}

// Parts predicts rows and returns a part for each target: columns mean, std, lower
// and upper bound of the interval, std_latent, and the other selected columns. It
// returns the errors of [gp.Posterior].
func (o *Predict) Parts(ctx context.Context, p *gp.Posterior, in rows.Rows) ([]TargetColumns, error) {
	marginal, err := p.PredictTargets(ctx, in.X, in.N, in.Noise)
	if err != nil {
		return nil, err
	}
	parts := make([]TargetColumns, len(marginal))
	for t, m := range marginal {
		r, one := &parts[t], p.Target(t)
		if len(marginal) > 1 {
			r.Target = one.Model().TargetName
		}
		lower, upper := m.Interval(o.Probability)
		r.Add("mean", m.Mean)
		r.Add("std", m.Std)
		r.Add("lower"+o.Level(), lower)
		r.Add("upper"+o.Level(), upper)
		r.Add("std_latent", m.StdLatent)
		if err := o.more(ctx, one, in, r); err != nil {
			return nil, err
		}
	}
	return parts, nil
}

// more adds the results beyond mean and deviation to r.
func (o *Predict) more(ctx context.Context, p *gp.Posterior, in rows.Rows, r *TargetColumns) error {
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
	if o.Gradient {
		gradient, err := p.MeanGradient(ctx, in.X, in.N)
		if err != nil {
			return err
		}
		for c, name := range p.Model().FeatureNames {
			r.Add("gradient_"+name, Of(gradient, in.N, c), "gradient", name)
		}
	}
	if o.GradientStd {
		std, err := p.GradientStd(ctx, in.X, in.N)
		if err != nil {
			return err
		}
		for c, name := range p.Model().FeatureNames {
			r.Add("gradient_std_"+name, Of(std, in.N, c), "gradient_std", name)
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

package main

import (
	"context"

	"github.com/spf13/pflag"

	"gpfit/gp"
)

// outputFlags say what is predicted and where it goes.
type outputFlags struct {
	interval        float64
	terms, gradient bool
	out             string
	jointFlags
}

func (f *outputFlags) add(s *pflag.FlagSet) {
	s.Float64Var(&f.interval, "interval", 0.95, "probability of the interval for a new observation")
	s.BoolVar(&f.terms, "terms", false, "predict each term of a sum of kernels apart, too")
	s.BoolVar(&f.gradient, "gradient", false, "derivatives of the mean by the features, too")
	f.jointFlags.add(s, 0)
	s.StringVar(&f.out, "out", "", "write to `FILE` instead of standard output")
	commandLineOnly(s, "out")
}

func (f *outputFlags) check() error {
	if !(f.interval > 0 && f.interval < 1) {
		return usagef("--interval %v: must be a probability between 0 and 1, such as 0.9", f.interval)
	}
	return f.jointFlags.check()
}

// info is what the JSON object says of the whole.
func (f *outputFlags) info() map[string]any {
	return map[string]any{"type": "prediction", "probability": f.interval}
}

// rowsToPredict are n rows, row-major with all features, and their noise.
type rowsToPredict struct {
	rows  []float64
	n     int
	noise gp.RowNoise
}

// predict computes all that the flags ask for, a part for each target.
func (f *outputFlags) predict(ctx context.Context, p *gp.Posterior, in rowsToPredict, targets []string, msg *messages) ([]part, error) {
	marginal, err := p.PredictTargets(ctx, in.rows, in.n, in.noise)
	if err != nil {
		return nil, err
	}
	parts := make([]part, len(marginal))
	for t, m := range marginal {
		r := &parts[t]
		if len(marginal) > 1 {
			r.target = targets[t]
		}
		lower, upper := m.Interval(f.interval)
		r.add("mean", m.Mean)
		r.add("std", m.Std)
		r.add("lower"+levelName(f.interval), lower)
		r.add("upper"+levelName(f.interval), upper)
		r.add("std_latent", m.StdLatent)
		r.info = map[string]any{}
		if err := f.more(ctx, p.Target(t), in, r, msg); err != nil {
			return nil, err
		}
	}
	return parts, nil
}

// more adds to r what goes beyond mean and deviation.
func (f *outputFlags) more(ctx context.Context, p *gp.Posterior, in rowsToPredict, r *part, msg *messages) error {
	if f.terms {
		terms, meanFunction, err := p.Terms(ctx, in.rows, in.n)
		if err != nil {
			return err
		}
		r.add("mean_function", meanFunction)
		for _, t := range terms {
			r.add("mean_"+t.Path, t.Mean, "terms", t.Path, "mean")
			r.add("std_"+t.Path, t.Std, "terms", t.Path, "std")
		}
	}
	if f.gradient {
		gradient, err := p.MeanGradient(ctx, in.rows, in.n)
		if err != nil {
			return err
		}
		names := p.Model().FeatureNames
		for c, name := range names {
			values := make([]float64, in.n)
			for i := range values {
				values[i] = gradient[i*len(names)+c]
			}
			r.add("gradient_"+name, values, "gradient", name)
		}
	}
	if !f.wanted() {
		return nil
	}
	joint, err := p.Joint(ctx, in.rows, in.n, gp.JointOptions{Observed: f.observed, Noise: in.noise})
	if err != nil {
		return err
	}
	return f.use(joint, r, r.target, msg)
}

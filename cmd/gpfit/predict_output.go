package main

import (
	"context"
	"io"

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
}

func (f *outputFlags) check() error {
	if !(f.interval > 0 && f.interval < 1) {
		return usagef("--interval %v: must be a probability between 0 and 1, such as 0.9", f.interval)
	}
	return f.jointFlags.check()
}

// predicted is the result of gpfit predict, as columns and as JSON.
type predicted struct {
	columns []column
	object  map[string]any
}

func (r *predicted) write(w io.Writer, asJSON bool) error {
	if asJSON {
		return encodeJSON(w, r.object, nil)
	}
	return writeColumns(w, r.columns)
}

// add adds a column under its own name to both forms.
func (r *predicted) add(name string, values []float64) {
	r.columns = append(r.columns, column{name, values})
	r.object[name] = values
}

// predict computes all that the flags ask for at n rows.
func (f *outputFlags) predict(ctx context.Context, p *gp.Posterior, rows []float64, n int, noise gp.RowNoise, msg *messages) (*predicted, error) {
	marginal, err := p.PredictNoise(ctx, rows, n, noise)
	if err != nil {
		return nil, err
	}
	r := &predicted{object: map[string]any{"type": "prediction", "schema_version": 1, "n": n, "probability": f.interval}}
	lower, upper := marginal.Interval(f.interval)
	r.add("mean", marginal.Mean)
	r.add("std", marginal.Std)
	r.add("lower"+levelName(f.interval), lower)
	r.add("upper"+levelName(f.interval), upper)
	r.add("std_latent", marginal.StdLatent)
	if f.terms {
		if err := r.addTerms(ctx, p, rows, n); err != nil {
			return nil, err
		}
	}
	if f.gradient {
		if err := r.addGradient(ctx, p, rows, n); err != nil {
			return nil, err
		}
	}
	if !f.wanted() {
		return r, nil
	}
	joint, err := p.Joint(ctx, rows, n, gp.JointOptions{Observed: f.observed, Noise: noise})
	if err != nil {
		return nil, err
	}
	d, err := f.use(joint, msg)
	if err != nil {
		return nil, err
	}
	r.columns = append(r.columns, d.columns...)
	d.addJSON(r.object, &f.jointFlags)
	return r, nil
}

func (r *predicted) addTerms(ctx context.Context, p *gp.Posterior, rows []float64, n int) error {
	terms, meanFunction, err := p.Terms(ctx, rows, n)
	if err != nil {
		return err
	}
	r.add("mean_function", meanFunction)
	list := make([]map[string]any, len(terms))
	for i, t := range terms {
		r.columns = append(r.columns, column{"mean_" + t.Path, t.Mean}, column{"std_" + t.Path, t.Std})
		list[i] = map[string]any{"path": t.Path, "kernel": t.Text, "mean": t.Mean, "std": t.Std}
	}
	r.object["terms"] = list
	return nil
}

func (r *predicted) addGradient(ctx context.Context, p *gp.Posterior, rows []float64, n int) error {
	gradient, err := p.MeanGradient(ctx, rows, n)
	if err != nil {
		return err
	}
	names := p.Model().FeatureNames
	byName := map[string][]float64{}
	for c, name := range names {
		values := make([]float64, n)
		for i := range n {
			values[i] = gradient[i*len(names)+c]
		}
		r.columns = append(r.columns, column{"gradient_" + name, values})
		byName[name] = values
	}
	r.object["gradient"] = byName
	return nil
}

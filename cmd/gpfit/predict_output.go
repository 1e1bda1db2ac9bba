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
func (f *outputFlags) predict(ctx context.Context, p *gp.Posterior, rows []float64, n int, msg *messages) (*predicted, error) {
	marginal, err := p.Predict(ctx, rows, n)
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
	if !f.wanted() {
		return r, nil
	}
	joint, err := p.Joint(ctx, rows, n, gp.JointOptions{Observed: f.observed})
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

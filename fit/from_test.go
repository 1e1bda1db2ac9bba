package fit

import (
	"context"
	"math"
	"strings"
	"testing"

	"gpfit/fit/problem"
	"gpfit/gp"
	"gpfit/internal/must"
	"gpfit/internal/tuning"
)

// firstRowsOf returns the first n rows of a table.
func firstRowsOf(d problem.Data, n int) problem.Data {
	d.X, d.Y, d.N = d.X[:n*d.D], d.Y[:n], n
	return d
}

// modelOf returns the model of a fit with its record, as a file has it.
func modelOf(t *testing.T, o *Outcome) *gp.Model {
	t.Helper()
	must.Do(t, o.record())
	return o.Model
}

// TestFrom checks that a fit from a model takes what describes it, starts at its
// parameters in the units of the new table, and ends where a fit from scratch does.
func TestFrom(t *testing.T) {
	all := synthetic(240)
	o := problem.Options{Kernel: "rbf(ard, dims=[mm, kelvin]) + matern12(dims=kelvin)", Mean: "linear(dims=mm)", StdErrors: true,
		Ties:   []problem.Tie{{Name: "k2.lengthscale", Source: "k1.lengthscale[kelvin]"}},
		Priors: []problem.ParameterPrior{{Name: "noise_variance", Density: density(t, "lognormal(-4, 2)")}, {Name: "k2.signal_variance", Density: density(t, "lognormal(-2, 1)")}}}
	first := mustFit(t, firstRowsOf(all, 200), o)
	if e := first.Report.StdErrors; e.Failure != "" {
		t.Fatal(e.Failure)
	}
	m := modelOf(t, first)
	warm := mustPrepare(t, all, problem.Options{From: m})
	cold := mustPrepare(t, all, problem.Options{Kernel: o.Kernel, Mean: o.Mean, Ties: o.Ties, Priors: o.Priors})
	if warm.Kernel() != cold.Kernel() || warm.MeanText() != cold.MeanText() || warm.ObjectiveName() != cold.ObjectiveName() || len(warm.Params.Free) != len(cold.Params.Free) {
		t.Errorf("kernel %s, mean %s, objective %s", warm.Kernel(), warm.MeanText(), warm.ObjectiveName())
	}
	// In original units the start values are those of the model.
	was, is := first.Report.ParametersOriginalUnits, warm.OriginalUnits(0, warm.Params.Values(warm.Params.Start())).Values
	for name, v := range is {
		if math.Abs(v/was[name]-1) > 1e-12 {
			t.Errorf("%s starts at %v, the model has %v", name, v, was[name])
		}
	}
	if metric, want := warm.Options.Settings.Metric, first.Report.StdErrors.Hessian[0][0]*240/200; len(metric) == 0 || math.Abs(metric[0]/want-1) > 1e-14 {
		t.Errorf("metric %v, want %v first", metric, want)
	}
	ends := [2]*Outcome{}
	for i, j := range []*tuning.Job{warm, cold} {
		var err error
		if ends[i], err = Run(context.Background(), j, backend); err != nil {
			t.Fatal(err)
		}
		defer ends[i].Close()
	}
	w, c := ends[0].Report, ends[1].Report
	if math.Abs(w.Objective-c.Objective) > 1e-4 || w.Evaluations.Gradient >= c.Evaluations.Gradient {
		t.Errorf("from the model %v after %d gradients, from scratch %v after %d", w.Objective, w.Evaluations.Gradient, c.Objective, c.Evaluations.Gradient)
	}
}

// TestFromOptions checks that the options given beside a model count, and which models do
// not suit.
func TestFromOptions(t *testing.T) {
	d := synthetic(60)
	m := modelOf(t, mustFit(t, d, problem.Options{Kernel: "rbf(ard)", Standardize: gp.StandardizeX, NoNoise: false}))
	j := mustPrepare(t, d, problem.Options{From: m, Kernel: "matern52(ard)", Set: []problem.Assignment{{Name: "noise_variance", Value: 7, Given: true}}})
	if j.Kernel() != "matern52(ard)" || j.Options.Standardize != gp.StandardizeX {
		t.Errorf("kernel %s, scaling %s", j.Kernel(), j.Options.Standardize)
	}
	start := j.Params.Named(j.Params.Start())
	if start["noise_variance"] != 7 || math.Abs(start["lengthscale[mm]"]/m.Parameters()["lengthscale[mm]"]-1) > 1e-12 {
		t.Errorf("start %v", start)
	}
	// A lengthscale for all columns starts each of them.
	one := modelOf(t, mustFit(t, d, problem.Options{}))
	ard := mustPrepare(t, d, problem.Options{From: one, ARD: true})
	if start := ard.Params.Named(ard.Params.Start()); math.Abs(start["lengthscale[kelvin]"]/one.Theta[0]-1) > 1e-12 {
		t.Errorf("start %v, model %v", start, one.Parameters())
	}
	none := modelOf(t, mustFit(t, d, problem.Options{NoNoise: true, Kernel: "matern12"}))
	if j := mustPrepare(t, d, problem.Options{From: none}); !j.Options.NoNoise {
		t.Error("a model without noise starts a fit with noise")
	}
	if j := mustPrepare(t, d, problem.Options{From: none, Set: []problem.Assignment{{Name: "noise_variance", Value: 0.1, Given: true}}}); j.Options.NoNoise {
		t.Error("option set names the noise, but the fit has none")
	}
	if w := strings.Join(mustPrepare(t, d, problem.Options{From: m, Kernel: "rq(ard)"}).Warnings(), ";"); !strings.Contains(w, "no value of alpha") {
		t.Errorf("warnings %q", w)
	}
	wantOption(t, d, problem.Options{From: m, Kernel: "rbf + matern12", NoNoise: true}, "kernel is rbf(ard)")
	other := d
	other.FeatureNames = []string{"mm", "const", "celsius"}
	wantOption(t, other, problem.Options{From: m, Kernel: "rbf(ard)"}, "celsius")
}

// TestFromIdentity checks that a checkpoint of a fit from a model is one of its start
// values.
func TestFromIdentity(t *testing.T) {
	d := synthetic(60)
	m := modelOf(t, mustFit(t, d, problem.Options{Kernel: "rbf(ard)"}))
	a, b := mustPrepare(t, d, problem.Options{From: m}), mustPrepare(t, d, problem.Options{Kernel: "rbf(ard)"})
	changed := *m
	changed.Theta = append([]float64{m.Theta[0] * 1.01}, m.Theta[1:]...)
	c := mustPrepare(t, d, problem.Options{From: &changed})
	if a.ID() == b.ID() || a.ID() == c.ID() || a.ID() != mustPrepare(t, d, problem.Options{From: m}).ID() {
		t.Error("the identity of a job does not follow its start values")
	}
}

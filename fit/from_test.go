package fit

import (
	"context"
	"math"
	"strings"
	"testing"

	"gpfit/gp"
)

// firstRowsOf returns the first n rows of a table.
func firstRowsOf(d Data, n int) Data {
	d.X, d.Y, d.N = d.X[:n*d.D], d.Y[:n], n
	return d
}

// modelOf returns the model of a fit with its record, as a file has it.
func modelOf(t *testing.T, o *Outcome) *gp.Model {
	t.Helper()
	if err := o.record(); err != nil {
		t.Fatal(err)
	}
	return o.Model
}

// TestFrom checks that a fit from a model takes what describes it, starts at its
// parameters in the units of the new table, and ends where a fit from scratch does.
func TestFrom(t *testing.T) {
	all := synthetic(240)
	o := Options{Kernel: "rbf(ard, dims=[mm, kelvin]) + matern12(dims=kelvin)", Mean: "linear(dims=mm)", StdErrors: true,
		Ties:   []Tie{{"k2.lengthscale", "k1.lengthscale[kelvin]"}},
		Priors: []ParameterPrior{{"noise_variance", density(t, "lognormal(-4, 2)")}, {"k2.signal_variance", density(t, "lognormal(-2, 1)")}}}
	first := mustFit(t, firstRowsOf(all, 200), o)
	if e := first.Report.StdErrors; e.Failure != "" {
		t.Fatal(e.Failure)
	}
	m := modelOf(t, first)
	warm := mustPrepare(t, all, Options{From: m})
	cold := mustPrepare(t, all, Options{Kernel: o.Kernel, Mean: o.Mean, Ties: o.Ties, Priors: o.Priors})
	if warm.Kernel() != cold.Kernel() || warm.meanText() != cold.meanText() || warm.objectiveName() != cold.objectiveName() || len(warm.params.free) != len(cold.params.free) {
		t.Errorf("kernel %s, mean %s, objective %s", warm.Kernel(), warm.meanText(), warm.objectiveName())
	}
	// In original units the start values are those of the model.
	was, is := first.Report.ParametersOriginalUnits, warm.originalUnits(0, warm.params.values(warm.params.start())).values
	for name, v := range is {
		if math.Abs(v/was[name]-1) > 1e-12 {
			t.Errorf("%s starts at %v, the model has %v", name, v, was[name])
		}
	}
	if metric, want := warm.opts.Settings.Metric, first.Report.StdErrors.Hessian[0][0]*240/200; len(metric) == 0 || math.Abs(metric[0]/want-1) > 1e-14 {
		t.Errorf("metric %v, want %v first", metric, want)
	}
	ends := [2]*Outcome{}
	for i, j := range []*Job{warm, cold} {
		var err error
		if ends[i], err = j.Fit(context.Background(), backend); err != nil {
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
	m := modelOf(t, mustFit(t, d, Options{Kernel: "rbf(ard)", Standardize: gp.StandardizeX, NoNoise: false}))
	j := mustPrepare(t, d, Options{From: m, Kernel: "matern52(ard)", Set: []Assignment{{"noise_variance", 7, true}}})
	if j.Kernel() != "matern52(ard)" || j.opts.Standardize != gp.StandardizeX {
		t.Errorf("kernel %s, scaling %s", j.Kernel(), j.opts.Standardize)
	}
	start := j.params.named(j.params.start())
	if start["noise_variance"] != 7 || math.Abs(start["lengthscale[mm]"]/m.Parameters()["lengthscale[mm]"]-1) > 1e-12 {
		t.Errorf("start %v", start)
	}
	// A lengthscale for all columns starts each of them.
	one := modelOf(t, mustFit(t, d, Options{}))
	ard := mustPrepare(t, d, Options{From: one, ARD: true})
	if start := ard.params.named(ard.params.start()); math.Abs(start["lengthscale[kelvin]"]/one.Theta[0]-1) > 1e-12 {
		t.Errorf("start %v, model %v", start, one.Parameters())
	}
	none := modelOf(t, mustFit(t, d, Options{NoNoise: true, Kernel: "matern12"}))
	if j := mustPrepare(t, d, Options{From: none}); !j.opts.NoNoise {
		t.Error("a model without noise starts a fit with noise")
	}
	if j := mustPrepare(t, d, Options{From: none, Set: []Assignment{{"noise_variance", 0.1, true}}}); j.opts.NoNoise {
		t.Error("option set names the noise, but the fit has none")
	}
	if w := strings.Join(mustPrepare(t, d, Options{From: m, Kernel: "rq(ard)"}).Warnings(), ";"); !strings.Contains(w, "no value of alpha") {
		t.Errorf("warnings %q", w)
	}
	wantOption(t, d, Options{From: m, Kernel: "rbf + matern12", NoNoise: true}, "kernel is rbf(ard)")
	other := d
	other.FeatureNames = []string{"mm", "const", "celsius"}
	wantOption(t, other, Options{From: m, Kernel: "rbf(ard)"}, "celsius")
}

// TestFromIdentity checks that a checkpoint of a fit from a model is one of its start
// values.
func TestFromIdentity(t *testing.T) {
	d := synthetic(60)
	m := modelOf(t, mustFit(t, d, Options{Kernel: "rbf(ard)"}))
	a, b := mustPrepare(t, d, Options{From: m}), mustPrepare(t, d, Options{Kernel: "rbf(ard)"})
	changed := *m
	changed.Theta = append([]float64{m.Theta[0] * 1.01}, m.Theta[1:]...)
	c := mustPrepare(t, d, Options{From: &changed})
	if a.id() == b.id() || a.id() == c.id() || a.id() != mustPrepare(t, d, Options{From: m}).id() {
		t.Error("the identity of a job does not follow its start values")
	}
}

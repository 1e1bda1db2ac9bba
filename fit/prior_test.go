package fit

import (
	"errors"
	"math"
	"strings"
	"testing"

	"gpfit/fit/problem"
	"gpfit/graph"
	"gpfit/internal/must"
	"gpfit/internal/tuning"
)

func density(t *testing.T, text string) graph.Prior {
	t.Helper()
	p := must.Get(graph.ParsePrior(text))(t)
	return p
}

func mustPrepare(t *testing.T, d problem.Data, o problem.Options) *tuning.Job {
	return watched(t, d, o, problem.Events{})
}

// watched is mustPrepare with events.
func watched(t *testing.T, d problem.Data, o problem.Options, e problem.Events) *tuning.Job {
	t.Helper()
	task := must.Get(Prepare(d, o, e))(t)
	return task
}

// wantOption fails unless Prepare returns an OptionError that contains word.
func wantOption(t *testing.T, d problem.Data, o problem.Options, word string) {
	t.Helper()
	_, err := Prepare(d, o, problem.Events{})
	var oe *problem.OptionError
	if !errors.As(err, &oe) || !strings.Contains(oe.Error(), word) {
		t.Errorf("error %v, want an OptionError with %q", err, word)
	}
}

// TestMAP checks that a strong prior holds its parameter at the prior's mode, for the
// density over θ itself. The report has the likelihood separately.
func TestMAP(t *testing.T) {
	d := synthetic(60)
	free := mustFit(t, d, problem.Options{Kernel: "rbf(ard)"}).Report
	r := mustFit(t, d, problem.Options{Kernel: "rbf(ard)", Priors: []problem.ParameterPrior{
		{Name: "lengthscale", Density: density(t, "lognormal(0, 1)")},
		{Name: "lengthscale[2]", Density: density(t, "lognormal(-0.5, 0.001)")},
	}}).Report
	mode := math.Exp(-0.5 - 1e-6)
	// The likelihood's slope, some tens, against the prior's curvature of 1e6.
	if got := r.Parameters["lengthscale[kelvin]"]; math.Abs(got/mode-1) > 1e-3 {
		t.Errorf("lengthscale[kelvin] = %v, prior's mode %v", got, mode)
	}
	if r.Priors["lengthscale[mm]"] != "lognormal(0, 1)" || r.Priors["lengthscale[kelvin]"] != "lognormal(-0.5, 0.001)" {
		t.Errorf("priors %v", r.Priors)
	}
	want := 0.0
	for name, p := range map[string]string{"lengthscale[mm]": "lognormal(0, 1)", "lengthscale[kelvin]": "lognormal(-0.5, 0.001)"} {
		want -= density(t, p).LogDensity(r.Parameters[name])
	}
	if math.Abs(*r.NegLogPrior-want) > 1e-9*math.Abs(want) || math.Abs(r.Objective-r.NLML-want) > 1e-9*math.Abs(r.Objective) {
		t.Errorf("−log prior %v, want %v; objective %v, NLML %v", *r.NegLogPrior, want, r.Objective, r.NLML)
	}
	if r.NLML < free.NLML || r.ObjectiveName != "nlml+neg_log_prior" || free.ObjectiveName != "nlml" || free.Objective != free.NLML || free.NegLogPrior != nil {
		t.Errorf("NLML %v with priors, %v without", r.NLML, free.NLML)
	}
	if r.Starts[0].NLML != nil || math.Abs(*r.Starts[0].Objective-r.Objective) > 1e-9*math.Abs(r.Objective) {
		t.Errorf("start %+v", r.Starts[0])
	}
}

// TestUniformPrior checks that the limits of a uniform prior are bounds. A given
// start outside them is an error; a default start moves.
func TestUniformPrior(t *testing.T) {
	d := synthetic(60)
	prior := []problem.ParameterPrior{{Name: "lengthscale", Density: density(t, "uniform(3, 4)")}}
	r := mustFit(t, d, problem.Options{Priors: prior}).Report
	if got := r.Parameters["lengthscale"]; math.Abs(got-3) > 1e-9 || len(r.AtBound) != 1 {
		t.Errorf("lengthscale %v within 3 … 4, at bound %v", got, r.AtBound)
	}
	for _, w := range r.Warnings {
		if strings.Contains(w, "moved") {
			t.Errorf("the default start gave a warning: %s", w)
		}
	}
	if math.Abs(*r.NegLogPrior) > 1e-12 {
		t.Errorf("−log density %v on an interval of length 1", *r.NegLogPrior)
	}
	if p := mustPrepare(t, d, problem.Options{Priors: []problem.ParameterPrior{{Name: "lengthscale", Density: density(t, "uniform(1e7, 1e8)")}}}).Params.Free[0]; math.Abs(p.Lower/1e7-1) > 1e-12 || math.Abs(p.Upper/1e8-1) > 1e-12 {
		t.Errorf("bounds %v:%v", p.Lower, p.Upper)
	}
	if p := mustPrepare(t, d, problem.Options{Priors: []problem.ParameterPrior{{Name: "lengthscale", Density: density(t, "uniform(0, 1e-9)")}}}).Params.Free[0]; !(p.Lower > 0 && p.Lower < p.Start && p.Start < p.Upper && p.Upper == 1e-9) {
		t.Errorf("bounds %v:%v, start %v", p.Lower, p.Upper, p.Start)
	}
	wantOption(t, d, problem.Options{Priors: prior, Set: []problem.Assignment{{Name: "lengthscale", Value: 5, Given: true}}}, "no density")
	wantOption(t, d, problem.Options{Priors: prior, Fix: []problem.Assignment{{Name: "lengthscale", Value: 5, Given: true}}}, "no density")
	wantOption(t, d, problem.Options{Priors: prior, Bounds: []problem.Interval{{Name: "lengthscale", Lo: 5, Hi: 6}}}, "no density")
	wantOption(t, d, problem.Options{Priors: []problem.ParameterPrior{{Name: "lengthscale", Density: density(t, "uniform(-2, -1)")}}}, "positive")
}

func TestPriorOptions(t *testing.T) {
	d := synthetic(30)
	gamma := density(t, "gamma(2, 1)")
	wantOption(t, d, problem.Options{Priors: []problem.ParameterPrior{{Name: "lenghtscale", Density: gamma}}}, `did you mean "lengthscale"`)
	wantOption(t, d, problem.Options{Priors: []problem.ParameterPrior{{Name: "lengthscale", Density: gamma}, {Name: "lengthscale", Density: gamma}}}, "twice")
	wantOption(t, d, problem.Options{Priors: []problem.ParameterPrior{{Name: "lengthscale", Density: density(t, "normal(0, 1)")}}}, "use lognormal")
	wantOption(t, d, problem.Options{Mean: "constant", MeanFit: problem.MeanFree, Priors: []problem.ParameterPrior{{Name: "mean_constant", Density: gamma}}}, "use normal")
	fixed := mustPrepare(t, d, problem.Options{Priors: []problem.ParameterPrior{{Name: "lengthscale", Density: gamma}}, Fix: []problem.Assignment{{Name: "lengthscale"}}})
	if w := strings.Join(fixed.Warnings(), "; "); !strings.Contains(w, "it is fixed") {
		t.Errorf("warnings %q", w)
	}
	// A prior for an element precedes one for the vector in any order.
	for _, order := range [][]problem.ParameterPrior{
		{{Name: "lengthscale", Density: gamma}, {Name: "lengthscale[0]", Density: density(t, "gamma(5, 5)")}},
		{{Name: "lengthscale[0]", Density: density(t, "gamma(5, 5)")}, {Name: "lengthscale", Density: gamma}},
	} {
		p := mustPrepare(t, d, problem.Options{Kernel: "rbf(ard)", Priors: order}).Params.Priors
		if p["lengthscale[mm]"].String() != "gamma(5, 5)" || p["lengthscale[kelvin]"].String() != "gamma(2, 1)" {
			t.Errorf("priors %v", p)
		}
	}
}

// TestBoundsOfEveryKind checks that bounds hold for every parameter, including the
// mean's, whose optimum they exclude.
func TestBoundsOfEveryKind(t *testing.T) {
	d := synthetic(60)
	o := problem.Options{Kernel: "rbf(ard) + matern32", Mean: "linear", MeanFit: problem.MeanFree}
	free := mustFit(t, d, o).Report
	for _, name := range free.Names {
		best := free.Parameters[name]
		b := problem.Interval{Name: name, Lo: best - 2 - math.Abs(best), Hi: best - 1 - math.Abs(best)/2}
		if !strings.HasPrefix(name, "mean") {
			b = problem.Interval{Name: name, Lo: best / 8, Hi: best / 2}
		}
		o.Bounds = []problem.Interval{b}
		r := mustFit(t, d, o).Report
		if v := r.Parameters[name]; v < b.Lo*(1-1e-12)-1e-12*math.Abs(b.Lo) && b.Lo > 0 || v < b.Lo-1e-12*math.Abs(b.Lo) || v > b.Hi+1e-12*math.Abs(b.Hi) {
			t.Errorf("%s = %v outside of %v:%v", name, v, b.Lo, b.Hi)
		}
		for _, w := range r.Warnings {
			if strings.Contains(w, "NaN") {
				t.Error(w)
			}
		}
	}
	o.Bounds, o.Set = []problem.Interval{{Name: "mean_constant", Lo: -0.5, Hi: 0.5}}, []problem.Assignment{{Name: "mean_constant", Value: -3, Given: true}}
	found := false
	for _, w := range mustFit(t, d, o).Report.Warnings {
		found = found || strings.Contains(w, "the start of mean_constant, -3, is outside its bounds [-0.5, 0.5]")
	}
	if !found {
		t.Error("no warning in natural units of a start outside of its bounds")
	}
	wantOption(t, d, problem.Options{Mean: "constant", MeanFit: problem.MeanFree, Bounds: []problem.Interval{{Name: "mean_constant", Lo: 1, Hi: -1}}}, "lower < upper")
}

package fit

import (
	"errors"
	"math"
	"strings"
	"testing"

	"gpfit/graph"
)

func density(t *testing.T, text string) graph.Prior {
	t.Helper()
	p, err := graph.ParsePrior(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func mustPrepare(t *testing.T, d Data, o Options) *Job { return watched(t, d, o, Events{}) }

// watched is mustPrepare with events.
func watched(t *testing.T, d Data, o Options, e Events) *Job {
	t.Helper()
	task, err := Prepare(d, o, e)
	if err != nil {
		t.Fatal(err)
	}
	return task
}

// wantOption fails unless Prepare returns an OptionError that contains word.
func wantOption(t *testing.T, d Data, o Options, word string) {
	t.Helper()
	_, err := Prepare(d, o, Events{})
	var oe *OptionError
	if !errors.As(err, &oe) || !strings.Contains(oe.Error(), word) {
		t.Errorf("error %v, want an OptionError with %q", err, word)
	}
}

// TestMAP checks that a strong prior holds its parameter at the prior's mode, for the
// density over θ itself. The report has the likelihood separately.
func TestMAP(t *testing.T) {
	d := synthetic(60)
	free := mustFit(t, d, Options{Kernel: "rbf(ard)"}).Report
	r := mustFit(t, d, Options{Kernel: "rbf(ard)", Priors: []ParameterPrior{
		{"lengthscale", density(t, "lognormal(0, 1)")},
		{"lengthscale[2]", density(t, "lognormal(-0.5, 0.001)")},
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
	prior := []ParameterPrior{{"lengthscale", density(t, "uniform(3, 4)")}}
	r := mustFit(t, d, Options{Priors: prior}).Report
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
	if p := mustPrepare(t, d, Options{Priors: []ParameterPrior{{"lengthscale", density(t, "uniform(1e7, 1e8)")}}}).params.free[0]; math.Abs(p.Lower/1e7-1) > 1e-12 || math.Abs(p.Upper/1e8-1) > 1e-12 {
		t.Errorf("bounds %v:%v", p.Lower, p.Upper)
	}
	if p := mustPrepare(t, d, Options{Priors: []ParameterPrior{{"lengthscale", density(t, "uniform(0, 1e-9)")}}}).params.free[0]; !(p.Lower > 0 && p.Lower < p.Start && p.Start < p.Upper && p.Upper == 1e-9) {
		t.Errorf("bounds %v:%v, start %v", p.Lower, p.Upper, p.Start)
	}
	wantOption(t, d, Options{Priors: prior, Set: []Assignment{{"lengthscale", 5, true}}}, "no density")
	wantOption(t, d, Options{Priors: prior, Fix: []Assignment{{"lengthscale", 5, true}}}, "no density")
	wantOption(t, d, Options{Priors: prior, Bounds: []Interval{{"lengthscale", 5, 6}}}, "no density")
	wantOption(t, d, Options{Priors: []ParameterPrior{{"lengthscale", density(t, "uniform(-2, -1)")}}}, "positive")
}

func TestPriorOptions(t *testing.T) {
	d := synthetic(30)
	gamma := density(t, "gamma(2, 1)")
	wantOption(t, d, Options{Priors: []ParameterPrior{{"lenghtscale", gamma}}}, `did you mean "lengthscale"`)
	wantOption(t, d, Options{Priors: []ParameterPrior{{"lengthscale", gamma}, {"lengthscale", gamma}}}, "twice")
	wantOption(t, d, Options{Priors: []ParameterPrior{{"lengthscale", density(t, "normal(0, 1)")}}}, "use lognormal")
	wantOption(t, d, Options{Mean: "constant", MeanFit: MeanFree, Priors: []ParameterPrior{{"mean_constant", gamma}}}, "use normal")
	fixed := mustPrepare(t, d, Options{Priors: []ParameterPrior{{"lengthscale", gamma}}, Fix: []Assignment{{Name: "lengthscale"}}})
	if w := strings.Join(fixed.Warnings(), "; "); !strings.Contains(w, "it is fixed") {
		t.Errorf("warnings %q", w)
	}
	// A prior for an element precedes one for the vector in any order.
	for _, order := range [][]ParameterPrior{
		{{"lengthscale", gamma}, {"lengthscale[0]", density(t, "gamma(5, 5)")}},
		{{"lengthscale[0]", density(t, "gamma(5, 5)")}, {"lengthscale", gamma}},
	} {
		p := mustPrepare(t, d, Options{Kernel: "rbf(ard)", Priors: order}).params.priors
		if p["lengthscale[mm]"].String() != "gamma(5, 5)" || p["lengthscale[kelvin]"].String() != "gamma(2, 1)" {
			t.Errorf("priors %v", p)
		}
	}
}

// TestBoundsOfEveryKind checks that bounds hold for every parameter, including the
// mean's, whose optimum they exclude.
func TestBoundsOfEveryKind(t *testing.T) {
	d := synthetic(60)
	o := Options{Kernel: "rbf(ard) + matern32", Mean: "linear", MeanFit: MeanFree}
	free := mustFit(t, d, o).Report
	for _, name := range free.Names {
		best := free.Parameters[name]
		b := Interval{name, best - 2 - math.Abs(best), best - 1 - math.Abs(best)/2}
		if !strings.HasPrefix(name, "mean") {
			b = Interval{name, best / 8, best / 2}
		}
		o.Bounds = []Interval{b}
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
	o.Bounds, o.Set = []Interval{{"mean_constant", -0.5, 0.5}}, []Assignment{{"mean_constant", -3, true}}
	found := false
	for _, w := range mustFit(t, d, o).Report.Warnings {
		found = found || strings.Contains(w, "the start of mean_constant, -3, is outside its bounds [-0.5, 0.5]")
	}
	if !found {
		t.Error("no warning in natural units of a start outside of its bounds")
	}
	wantOption(t, d, Options{Mean: "constant", MeanFit: MeanFree, Bounds: []Interval{{"mean_constant", 1, -1}}}, "lower < upper")
}

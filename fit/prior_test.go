package fit

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"gpfit/fit/problem"
	"gpfit/fit/tuning"
	"gpfit/graph"
	"gpfit/hyperopt"
	"gpfit/internal/each"
	"gpfit/internal/fuzzguard"
	"gpfit/internal/testcheck"
	"gpfit/kernel"
)

func density(t *testing.T, text string) graph.Prior {
	t.Helper()
	return testcheck.Get(graph.ParsePrior(text))(t)
}

func mustPrepare(t *testing.T, d problem.Data, o problem.Options) *tuning.Job {
	return watched(t, d, o, problem.Events{})
}

// watched is mustPrepare with events.
func watched(t *testing.T, d problem.Data, o problem.Options, e problem.Events) *tuning.Job {
	t.Helper()
	return testcheck.Get(Prepare(d, o, e))(t)
}

// wantOption fails unless Prepare returns an OptionError that contains word.
func wantOption(t *testing.T, d problem.Data, o problem.Options, word string) {
	t.Helper()
	_, err := Prepare(d, o, problem.Events{})
	testcheck.Fail[*problem.OptionError](t, err, word)
}

// refusal is a change of a table after which a fit with some options is refused with an
// error that has the words.
type refusal struct {
	change  func(d *problem.Data)
	options problem.Options
	words   string
}

// refuses checks what is refused of the table.
func refuses(t *testing.T, table func() problem.Data, refusals map[string]refusal) {
	t.Helper()
	for what, c := range refusals {
		d := table()
		c.change(&d)
		_, err := Prepare(d, c.options, problem.Events{})
		if !errors.As(err, new(*problem.DataError)) && !errors.As(err, new(*problem.OptionError)) || !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s: error %v, want %q", what, err, c.words)
		}
	}
}

// every returns a mask of n rows that holds out one of k, from the first.
func every(k, first, n int) []bool {
	mask := make([]bool, n)
	for i := first; i < n; i += k {
		mask[i] = true
	}
	return mask
}

// cycled returns n of the values in turn.
func cycled[T any](n int, values ...T) []T { return slices.Repeat(values, n/len(values)+1)[:n] }

// TestMAP checks that a strong prior holds its parameter at the prior's mode, for the
// density over θ itself. The report has the likelihood separately.
func TestMAP(t *testing.T) {
	d := synthetic(60)
	free := mustFit(t, d, problem.Options{Mean: "zero", Kernel: "rbf(ard)"}).Report
	r := mustFit(t, d, problem.Options{Mean: "zero", Kernel: "rbf(ard)", Settings: hyperopt.Settings{Coarse: hyperopt.CoarseOff}, Priors: []problem.ParameterPrior{
		{Name: "lengthscale", Density: density(t, "lognormal(0, 1)")},
		{Name: "lengthscale[2]", Density: density(t, "lognormal(-0.5, 0.001)")},
	}}).Report
	mode := math.Exp(-0.5 - 1e-6)
	// The likelihood's slope, some tens, against the prior's curvature of 1e6.
	testcheck.Within(t, r.Parameters["lengthscale[kelvin]"], mode, 1e-3*mode, "mode")
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
	r := mustFit(t, d, problem.Options{Kernel: "rbf", Mean: "zero", Priors: prior}).Report
	if got := r.Parameters["lengthscale"]; math.Abs(got-3) > 1e-9 || len(r.AtBound) != 1 {
		t.Errorf("lengthscale %v within 3 … 4, at bound %v", got, r.AtBound)
	}
	w := strings.Join(r.Warnings, "\n")
	if strings.Contains(w, "moved") {
		t.Errorf("the default start gave a warning: %s", w)
	}
	testcheck.Words(t, w, "lengthscale is at the lower limit of its prior, uniform(3, 4): a value beyond it would fit the data better; option prior sets another prior")
	testcheck.Within(t, *r.NegLogPrior, 0, 1e-12, "−log density on an interval of length 1")
	if p := mustPrepare(t, d, problem.Options{Kernel: "rbf", Mean: "zero", Priors: []problem.ParameterPrior{{Name: "lengthscale", Density: density(t, "uniform(1e7, 1e8)")}}}).Params.Free[0]; math.Abs(p.Lower/1e7-1) > 1e-12 || math.Abs(p.Upper/1e8-1) > 1e-12 {
		t.Errorf("bounds %v:%v", p.Lower, p.Upper)
	}
	if p := mustPrepare(t, d, problem.Options{Kernel: "rbf", Mean: "zero", Priors: []problem.ParameterPrior{{Name: "lengthscale", Density: density(t, "uniform(0, 1e-9)")}}}).Params.Free[0]; !(p.Lower > 0 && p.Lower < p.Start && p.Start < p.Upper && p.Upper == 1e-9) {
		t.Errorf("bounds %v:%v, start %v", p.Lower, p.Upper, p.Start)
	}
	wantOption(t, d, problem.Options{Kernel: "rbf", Mean: "zero", Priors: prior, Set: []problem.Assignment{{Name: "lengthscale", Value: 5, Given: true}}}, "no density")
	wantOption(t, d, problem.Options{Kernel: "rbf", Mean: "zero", Priors: prior, Fix: []problem.Assignment{{Name: "lengthscale", Value: 5, Given: true}}}, "no density")
	wantOption(t, d, problem.Options{Kernel: "rbf", Mean: "zero", Priors: prior, Bounds: []problem.Interval{{Name: "lengthscale", Lo: 5, Hi: 6}}}, "no density")
	wantOption(t, d, problem.Options{Kernel: "rbf", Mean: "zero", Priors: []problem.ParameterPrior{{Name: "lengthscale", Density: density(t, "uniform(-2, -1)")}}}, "positive")
}

func TestPriorOptions(t *testing.T) {
	d := synthetic(30)
	gamma := density(t, "gamma(2, 1)")
	wantOption(t, d, problem.Options{Kernel: "rbf", Mean: "zero", Priors: []problem.ParameterPrior{{Name: "lenghtscale", Density: gamma}}}, `did you mean "lengthscale"`)
	wantOption(t, d, problem.Options{Kernel: "rbf", Mean: "zero", Priors: []problem.ParameterPrior{{Name: "lengthscale", Density: gamma}, {Name: "lengthscale", Density: gamma}}}, "twice")
	wantOption(t, d, problem.Options{Kernel: "rbf", Mean: "zero", Priors: []problem.ParameterPrior{{Name: "lengthscale", Density: density(t, "normal(0, 1)")}}}, "use lognormal")
	wantOption(t, d, problem.Options{Kernel: "rbf", Mean: "constant", MeanFit: problem.MeanFree, Priors: []problem.ParameterPrior{{Name: "mean_constant", Density: gamma}}}, "use normal")
	fixed := mustPrepare(t, d, problem.Options{Kernel: "rbf", Mean: "zero", Priors: []problem.ParameterPrior{{Name: "lengthscale", Density: gamma}}, Fix: []problem.Assignment{{Name: "lengthscale"}}})
	testcheck.Words(t, strings.Join(fixed.Warnings(), "\n"), "it is fixed")
	// A prior for an element precedes one for the vector in any order.
	for _, order := range [][]problem.ParameterPrior{
		{{Name: "lengthscale", Density: gamma}, {Name: "lengthscale[0]", Density: density(t, "gamma(5, 5)")}},
		{{Name: "lengthscale[0]", Density: density(t, "gamma(5, 5)")}, {Name: "lengthscale", Density: gamma}},
	} {
		p := mustPrepare(t, d, problem.Options{Mean: "zero", Kernel: "rbf(ard)", Priors: order}).Params.Priors
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
		if w := strings.Join(r.Warnings, "\n"); strings.Contains(w, "NaN") {
			t.Error(w)
		}
	}
	o.Bounds, o.Set = []problem.Interval{{Name: "mean_constant", Lo: -0.5, Hi: 0.5}}, []problem.Assignment{{Name: "mean_constant", Value: -3, Given: true}}
	testcheck.Words(t, strings.Join(mustFit(t, d, o).Report.Warnings, "\n"), "the start of mean_constant, -3, is outside its bounds [-0.5, 0.5]")
	wantOption(t, d, problem.Options{Kernel: "rbf", Mean: "constant", MeanFit: problem.MeanFree, Bounds: []problem.Interval{{Name: "mean_constant", Lo: 1, Hi: -1}}}, "lower < upper")
}

// TestTies checks that a fit with ties has the optimum of the equivalent simpler
// model and reports every parameter.
func TestTies(t *testing.T) {
	d := synthetic(80)
	iso := mustFit(t, d, problem.Options{Mean: "zero", Kernel: "rbf"}).Report
	for _, ties := range [][]problem.Tie{{{Name: "lengthscale[2]", Source: "lengthscale[0]"}}, {{Name: "lengthscale", Source: "lengthscale[0]"}}, {{Name: "lengthscale", Source: "lengthscale[2]"}}} {
		r := mustFit(t, d, problem.Options{Mean: "zero", Kernel: "rbf(ard)", Ties: ties}).Report
		p := r.Parameters
		if math.Abs(r.NLML-iso.NLML) > 1e-6*math.Abs(iso.NLML) || p["lengthscale[mm]"] != p["lengthscale[kelvin]"] || math.Abs(p["lengthscale[mm]"]/iso.Parameters["lengthscale"]-1) > 1e-3 {
			t.Errorf("%v: NLML %v, lengthscales %v, isotropic %v %v", ties, r.NLML, p, iso.NLML, iso.Parameters)
		}
		if len(r.Tied) != 1 || len(r.GradientLog) != 3 || len(p) != 4 {
			t.Errorf("%v: tied %v, gradient %v, parameters %v", ties, r.Tied, r.GradientLog, p)
		}
		testcheck.Words(t, r.Text(), "tied to lengthscale")
	}
	// Predictions use the tied values, so that the held-out scores are the same.
	d.Test = every(4, 0, d.N)
	// Draws of the parameters would not: lengthscales of single columns have another default prior.
	a := mustFit(t, d, problem.Options{Mean: "zero", Kernel: "rbf", Posterior: problem.NoPosterior}).Report.Test
	b := mustFit(t, d, problem.Options{Mean: "zero", Kernel: "rbf(ard)", Posterior: problem.NoPosterior, Ties: []problem.Tie{{Name: "lengthscale[2]", Source: "lengthscale[0]"}}}).Report.Test
	if math.Abs(a.RMSE/b.RMSE-1) > 1e-3 || math.Abs(float64(a.NLPD)-float64(b.NLPD)) > 1e-3 {
		t.Errorf("scores %+v with a tie, %+v isotropic", b, a)
	}
}

// TestTiedChain checks that a chain of ties leads to one parameter, whose start,
// bounds and prior hold for all.
func TestTiedChain(t *testing.T) {
	task := mustPrepare(t, synthetic(30), problem.Options{
		Mean:   "zero",
		Kernel: "rbf(ard) + matern32(ard, lengthscale=3) + matern52",
		Ties:   []problem.Tie{{Name: "k3.lengthscale", Source: "k2.lengthscale[2]"}, {Name: "k2.lengthscale", Source: "k1.lengthscale"}, {Name: "noise_variance", Source: "k1.signal_variance"}},
		Set:    []problem.Assignment{{Name: "k1.lengthscale", Value: 0.7, Given: true}}, Bounds: []problem.Interval{{Name: "k1.lengthscale", Lo: 0.1, Hi: 9}},
		Priors: []problem.ParameterPrior{{Name: "k1.lengthscale", Density: density(t, "gamma(2, 3)")}},
	})
	free := each.Of(task.Params.Free, func(p *problem.Parameter) string { return p.Name })
	if got := strings.Join(free, " "); got != "k1.lengthscale[mm] k1.lengthscale[kelvin] k1.signal_variance k2.signal_variance k3.signal_variance" {
		t.Errorf("free parameters %s", got)
	}
	for _, e := range task.Params.All {
		if e.Name == "k3.lengthscale" && e.Source != "k1.lengthscale[kelvin]" || e.Name == "noise_variance" && e.Source != "k1.signal_variance" {
			t.Errorf("%s takes the value of %q", e.Name, e.Source)
		}
	}
	if w := strings.Join(task.Warnings(), "; "); strings.Count(w, "the start value of k2.lengthscale") != 2 {
		t.Errorf("warnings %s", w)
	}
	if len(task.Params.Priors) != 2 {
		t.Errorf("priors %v", task.Params.Priors)
	}
	if v := task.Params.Values(task.Params.Start()); v[3] != v[0] || v[6] != v[1] || v[8] != v[2] || math.Abs(v[0]-0.7) > 1e-14 {
		t.Errorf("values %v", v)
	}
}

// TestTieNoiseGroups checks that a group's noise can be tied to another's and can have a prior.
func TestTieNoiseGroups(t *testing.T) {
	d := synthetic(60)
	d.NoiseGroupColumn, d.NoiseGroup = "g", cycled(d.N, "a", "b", "c")
	gamma := []problem.ParameterPrior{{Name: "noise_variance", Density: density(t, "gamma(2, 20)")}}
	r := mustFit(t, d, problem.Options{Kernel: "rbf", Mean: "zero", Priors: gamma, Ties: []problem.Tie{{Name: "noise_variance[c]", Source: "noise_variance[a]"}}}).Report
	p := r.Parameters
	if p["noise_variance[c]"] != p["noise_variance[a]"] || p["noise_variance[b]"] == p["noise_variance[a]"] || len(r.Priors) != 2 {
		t.Errorf("parameters %v, priors %v", p, r.Priors)
	}
	plain := synthetic(60)
	one := mustFit(t, plain, problem.Options{Kernel: "rbf", Mean: "zero"}).Report
	all := mustFit(t, d, problem.Options{Kernel: "rbf", Mean: "zero", Ties: []problem.Tie{{Name: "noise_variance", Source: "noise_variance[b]"}}}).Report
	testcheck.Within(t, all.NLML, one.NLML, 1e-6*math.Abs(one.NLML), "NLML with all groups tied, and without groups")
}

func TestTieErrors(t *testing.T) {
	d := synthetic(30)
	tied := func(ties ...problem.Tie) problem.Options {
		return problem.Options{Kernel: "rbf(ard) + matern32", Mean: "constant", MeanFit: problem.MeanFree, Ties: ties}
	}
	with := func(o problem.Options, change func(*problem.Options)) problem.Options { change(&o); return o }
	one := tied(problem.Tie{Name: "k2.lengthscale", Source: "k1.lengthscale[0]"})
	for word, o := range map[string]problem.Options{
		`did you mean "k1.lengthscale[mm]"`:               tied(problem.Tie{Name: "k2.lengthscale", Source: "k1.lenghtscale[0]"}),
		"option tie nonsense: there is no such parameter": tied(problem.Tie{Name: "nonsense", Source: "k1.lengthscale"}),
		"tied to itself": tied(problem.Tie{Name: "k1.lengthscale", Source: "k1.lengthscale"}),
		"has length 1 and k1.lengthscale has length 2":                tied(problem.Tie{Name: "k2.lengthscale", Source: "k1.lengthscale"}),
		"already tied to k1.lengthscale[mm]":                          tied(problem.Tie{Name: "k2.lengthscale", Source: "k1.lengthscale[0]"}, problem.Tie{Name: "k2.lengthscale", Source: "k1.lengthscale[2]"}),
		"cycle: k2.lengthscale = k1.lengthscale[mm] = k2.lengthscale": tied(problem.Tie{Name: "k2.lengthscale", Source: "k1.lengthscale[0]"}, problem.Tie{Name: "k1.lengthscale[0]", Source: "k2.lengthscale"}),
		"coefficient of the mean":                                     tied(problem.Tie{Name: "mean_constant", Source: "k2.lengthscale"}),
		"is fixed, by option fix k2.lengthscale; fix k1.lengthscale[0] instead": with(one, func(o *problem.Options) {
			o.Fix = []problem.Assignment{{Name: "k2.lengthscale", Value: 1, Given: true}}
		}),
		"option set k2.lengthscale: k2.lengthscale is tied to k1.lengthscale[mm]; give it to ": with(one, func(o *problem.Options) {
			o.Set = []problem.Assignment{{Name: "k2.lengthscale", Value: 1, Given: true}}
		}),
		"option bounds k2.lengthscale: k2.lengthscale is tied": with(one, func(o *problem.Options) { o.Bounds = []problem.Interval{{Name: "k2.lengthscale", Lo: 1, Hi: 2}} }),
		"option prior k2.lengthscale: k2.lengthscale is tied": with(one, func(o *problem.Options) {
			o.Priors = []problem.ParameterPrior{{Name: "k2.lengthscale", Density: density(t, "gamma(2, 3)")}}
		}),
	} {
		wantOption(t, d, o, word)
	}
	// The source may be fixed.
	r := mustFit(t, d, with(one, func(o *problem.Options) {
		o.Fix = []problem.Assignment{{Name: "k1.lengthscale[0]", Value: 1.5, Given: true}}
	})).Report
	testcheck.Within(t, r.Parameters["k2.lengthscale"], 1.5, 1e-14, "tied to a fixed parameter")
}

// FuzzPrepare checks that options of every kind, with arbitrary names and texts, give a job whose
// start values are finite and within their bounds, or an error that names the option or the data.
func FuzzPrepare(f *testing.F) {
	f.Add("rbf(ard)", "linear", "lengthscale[2]", "noise_variance", "lognormal(0, 1)", 2.0, 1e-3, 10.0, uint16(0))
	f.Add("rbf + periodic*linear", "poly(2, dims=0)", "k1.lengthscale", "k2.k1.lengthscale", "uniform(1, 2)", 0.5, 0.1, 0.2, uint16(0xffff))
	f.Add("constant", "bumps(3)", "noise_variance[a=b]", "noise_variance[]", "normal(0, 1)", 0.0, math.NaN(), math.Inf(1), uint16(0x5555))
	f.Add("rq(alpha=1e300)*poly(100)", "zero", "mean_constant", "alpha", "gamma(1e-300, 1)", 1e308, 5e-324, 1e308, uint16(3))
	f.Fuzz(func(t *testing.T, expression, mean, name, other, density string, value, lo, hi float64, flags uint16) {
		o := problem.Options{Kernel: expression, Mean: mean, ARD: flags&1 != 0, NoNoise: flags&2 != 0, StdErrors: flags&4 != 0}
		if flags&8 != 0 {
			o.Set = []problem.Assignment{{Name: name, Value: value, Given: true}}
		}
		if flags&16 != 0 {
			o.Fix = []problem.Assignment{{Name: other, Value: lo, Given: flags&32 != 0}}
		}
		if flags&64 != 0 {
			o.Bounds = []problem.Interval{{Name: name, Lo: lo, Hi: hi}}
		}
		if flags&128 != 0 {
			o.Ties = []problem.Tie{{Name: other, Source: name}}
		}
		if p, err := graph.ParsePrior(density); err == nil && flags&256 != 0 {
			o.Priors = []problem.ParameterPrior{{Name: name, Density: p}}
		}
		if flags&512 != 0 {
			o.Objective, o.MeanFit, o.MaxJitter = problem.LOO, problem.MeanFree, math.Abs(value)
		}
		fuzzguard.Run(t, func() { checkPrepare(t, fuzzData(flags), o) })
	})
}

// fuzzData is a small table whose noise groups have labels that look like the names of parameters.
func fuzzData(flags uint16) problem.Data {
	d := synthetic(8)
	if flags&1024 != 0 {
		d.NoiseGroupColumn = "lab"
		d.NoiseGroup = cycled(d.N, "a=b", "[0]")
	}
	return d
}

func checkPrepare(t *testing.T, d problem.Data, o problem.Options) {
	job, err := Prepare(d, o, problem.Events{})
	if err != nil {
		var text *kernel.ParseError
		typed := errors.As(err, new(*problem.OptionError)) || errors.As(err, new(*problem.DataError)) || errors.As(err, new(*kernel.CompileError)) || errors.As(err, &text) && text.Pos <= len(text.Text)
		if !typed || err.Error() == "" {
			t.Fatalf("%+v: %#v", o, err)
		}
		return
	}
	for _, p := range job.Params.Free {
		// A fixed parameter may stand anywhere. A start value that the user gave may, too:
		// the optimizer moves it into the bounds with a warning.
		anywhere := p.Fixed || p.Given || p.TextStart
		if math.IsNaN(p.Start) || math.IsInf(p.Start, 0) || p.Log && !(p.Start > 0) || !anywhere && !(p.Lower <= p.Start && p.Start <= p.Upper) {
			t.Fatalf("%+v: %s begins at %v within %v … %v", o, p.Name, p.Start, p.Lower, p.Upper)
		}
	}
}

// TestTiedLengthscale fits a lengthscale that is tied to the signal variance: the two are equal.
func TestTiedLengthscale(t *testing.T) {
	d := problem.Data{N: 40, D: 1}
	for i := range d.N {
		x := float64(i*i%41) / 8
		d.X, d.Y = append(d.X, x), append(d.Y, math.Sin(3*x)+0.1*math.Cos(40*x))
	}
	r := mustFit(t, d, problem.Options{Kernel: "rbf", Ties: []problem.Tie{{Name: "lengthscale", Source: "signal_variance"}}}).Report
	if l, s := r.Parameters["lengthscale"], r.Parameters["signal_variance"]; l != s {
		t.Errorf("lengthscale %g, signal variance %g", l, s)
	}
}

package fit

import (
	"math"
	"strings"
	"testing"

	"gpfit/fit/problem"
)

// TestTies checks that a fit with ties has the optimum of the equivalent simpler
// model and reports every parameter.
func TestTies(t *testing.T) {
	d := synthetic(80)
	iso := mustFit(t, d, problem.Options{Kernel: "rbf"}).Report
	for _, ties := range [][]problem.Tie{{{Name: "lengthscale[2]", Source: "lengthscale[0]"}}, {{Name: "lengthscale", Source: "lengthscale[0]"}}, {{Name: "lengthscale", Source: "lengthscale[2]"}}} {
		r := mustFit(t, d, problem.Options{Kernel: "rbf(ard)", Ties: ties}).Report
		p := r.Parameters
		if math.Abs(r.NLML-iso.NLML) > 1e-6*math.Abs(iso.NLML) || p["lengthscale[mm]"] != p["lengthscale[kelvin]"] || math.Abs(p["lengthscale[mm]"]/iso.Parameters["lengthscale"]-1) > 1e-3 {
			t.Errorf("%v: NLML %v, lengthscales %v, isotropic %v %v", ties, r.NLML, p, iso.NLML, iso.Parameters)
		}
		if len(r.Tied) != 1 || len(r.GradientLog) != 3 || len(p) != 4 {
			t.Errorf("%v: tied %v, gradient %v, parameters %v", ties, r.Tied, r.GradientLog, p)
		}
		if !strings.Contains(r.Text(), "tied to lengthscale") {
			t.Errorf("text:\n%s", r.Text())
		}
	}
	// Predictions use the tied values, so that the held-out scores are the same.
	d.Test = make([]bool, d.N)
	for i := 0; i < d.N; i += 4 {
		d.Test[i] = true
	}
	a := mustFit(t, d, problem.Options{Kernel: "rbf"}).Report.Test
	b := mustFit(t, d, problem.Options{Kernel: "rbf(ard)", Ties: []problem.Tie{{Name: "lengthscale[2]", Source: "lengthscale[0]"}}}).Report.Test
	if math.Abs(a.RMSE/b.RMSE-1) > 1e-3 || math.Abs(float64(a.NLPD)-float64(b.NLPD)) > 1e-3 {
		t.Errorf("scores %+v with a tie, %+v isotropic", b, a)
	}
}

// TestTiedChain checks that a chain of ties leads to one parameter, whose start,
// bounds and prior hold for all.
func TestTiedChain(t *testing.T) {
	task := mustPrepare(t, synthetic(30), problem.Options{
		Kernel: "rbf(ard) + matern32(ard, lengthscale=3) + matern52",
		Ties:   []problem.Tie{{Name: "k3.lengthscale", Source: "k2.lengthscale[2]"}, {Name: "k2.lengthscale", Source: "k1.lengthscale"}, {Name: "noise_variance", Source: "k1.signal_variance"}},
		Set:    []problem.Assignment{{Name: "k1.lengthscale", Value: 0.7, Given: true}}, Bounds: []problem.Interval{{Name: "k1.lengthscale", Lo: 0.1, Hi: 9}},
		Priors: []problem.ParameterPrior{{Name: "k1.lengthscale", Density: density(t, "gamma(2, 3)")}},
	})
	var free []string
	for _, p := range task.Params.Free {
		free = append(free, p.Name)
	}
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

// TestTieNoiseGroups checks that a group's noise can be tied to another's and can
// have a prior.
func TestTieNoiseGroups(t *testing.T) {
	d := synthetic(60)
	d.NoiseGroupColumn = "g"
	for i := range d.N {
		d.NoiseGroup = append(d.NoiseGroup, string(rune('a'+i%3)))
	}
	gamma := []problem.ParameterPrior{{Name: "noise_variance", Density: density(t, "gamma(2, 20)")}}
	r := mustFit(t, d, problem.Options{Priors: gamma, Ties: []problem.Tie{{Name: "noise_variance[c]", Source: "noise_variance[a]"}}}).Report
	p := r.Parameters
	if p["noise_variance[c]"] != p["noise_variance[a]"] || p["noise_variance[b]"] == p["noise_variance[a]"] || len(r.Priors) != 2 {
		t.Errorf("parameters %v, priors %v", p, r.Priors)
	}
	plain := synthetic(60)
	one := mustFit(t, plain, problem.Options{}).Report
	all := mustFit(t, d, problem.Options{Ties: []problem.Tie{{Name: "noise_variance", Source: "noise_variance[b]"}}}).Report
	if math.Abs(all.NLML-one.NLML) > 1e-6*math.Abs(one.NLML) {
		t.Errorf("NLML %v with all groups tied, %v without groups", all.NLML, one.NLML)
	}
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
	if math.Abs(r.Parameters["k2.lengthscale"]-1.5) > 1e-14 {
		t.Errorf("tied to a fixed parameter: %v", r.Parameters)
	}
}

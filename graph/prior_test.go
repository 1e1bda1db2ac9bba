package graph_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"gpfit/graph"
	"gpfit/internal/fuzzguard"
	"gpfit/internal/testcheck"
)

func mustPrior(t testing.TB, text string) graph.Prior {
	t.Helper()
	return testcheck.Get(graph.ParsePrior(text))(t)
}

// TestLogDensity compares with scipy.stats 1.15.3 at 0.03, 0.7, 1 and 4.5
// (SmoothedBoxPrior: GPyTorch's formula with scipy's normal density).
func TestLogDensity(t *testing.T) {
	at := [4]float64{0.03, 0.7, 1, 4.5}
	for _, c := range []struct {
		text string
		want [4]float64
	}{
		{"lognormal(0, 1)", [4]float64{-3.5603547795132573, -0.6258720970827892, -0.9189385332046727, -3.5541403377275937}},
		{"lognormal(-1.5, 0.3)", [4]float64{-18.576600027654237, -6.620469583926122, -12.214965728878742, -51.35504871355566}},
		{"gamma(3, 6)", [4]float64{-2.510984567515744, -0.23121866075324515, -1.3178687728757805, -19.30971397932323}},
		{"gamma(0.5, 0.25)", [4]float64{0.4802668251753459, -1.262174651515279, -1.5155121234846454, -3.1425508218727822}},
		{"halfnormal(2)", [4]float64{-0.9190510332046726, -0.9801885332046727, -1.0439385332046727, -3.4501885332046727}},
		{"uniform(0.01, 5)", [4]float64{-1.6074359097634274, -1.6074359097634274, -1.6074359097634274, -1.6074359097634274}},
		{"normal(0.5, 2)", [4]float64{-1.639698213764618, -1.617085713764618, -1.643335713764618, -3.612085713764618}},
		{"smoothedbox(0.5, 2, 0.1)", [4]float64{-11.604994474774848, -0.5599944747748529, -0.5599944747748529, -313.05999447477484}},
		{"smoothedbox(0.5, 2)", [4]float64{-1104.9220378732107, -0.4220378732107801, -0.4220378732107801, -31250.42203787321}},
	} {
		p := mustPrior(t, c.text)
		for i, x := range at {
			// The rounding of about ten operations.
			if got := p.LogDensity(x); math.Abs(got-c.want[i]) > 1e-14*(10+math.Abs(c.want[i])) {
				t.Errorf("log density of %s at %v: %v, scipy %v", c.text, x, got, c.want[i])
			}
		}
	}
	if u := mustPrior(t, "uniform(1, 2)"); !math.IsInf(u.LogDensity(0.9), -1) || !math.IsInf(u.LogDensity(2.1), -1) {
		t.Error("uniform has density outside of its bounds")
	}
	if !math.IsInf(mustPrior(t, "gamma(2, 1)").LogDensity(-1), -1) {
		t.Error("gamma has density below 0")
	}
}

// TestPriorNodes checks for every family, on scalars, whole vectors and elements, that the graph
// has the value of LogDensity and the gradient of central differences.
func TestPriorNodes(t *testing.T) {
	positive := []string{"lognormal(0.2, 0.7)", "gamma(3, 2)", "gamma(0.4, 0.2)", "halfnormal(0.8)", "uniform(0, 100)", "smoothedbox(0.9, 1.1, 0.3)"}
	real := []string{"normal(0.3, 0.2)", "smoothedbox(-0.1, 0.1, 0.2)", "uniform(-9, 9)"}
	cases := map[string]map[string]graph.Prior{"mixed": {
		"lengthscale[0]": mustPrior(t, "lognormal(1, 0.3)"), "lengthscale[2]": mustPrior(t, "gamma(2, 3)"),
		"noise_variance": mustPrior(t, "halfnormal(0.1)"), "mean_linear[1]": mustPrior(t, "normal(-1, 0.4)"),
		"mean_constant": mustPrior(t, "smoothedbox(0.05, 0.2, 0.1)"),
	}}
	add := func(text string, names ...string) {
		m := map[string]graph.Prior{}
		for _, name := range names {
			m[name] = mustPrior(t, text)
		}
		cases[text+" "+names[0]] = m
	}
	for _, text := range positive {
		add(text, "noise_variance")
		add(text, "lengthscale[0]", "lengthscale[1]", "lengthscale[2]")
		add(text, "lengthscale[1]")
	}
	for _, text := range real {
		add(text, "mean_constant")
		add(text, "mean_linear[0]", "mean_linear[1]", "mean_linear[2]")
	}
	for name, priors := range cases {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, "rbf(ard)", 20, 3, func(s *graph.Spec) {
				freeMean("linear")(s)
				s.Prior = graph.NegLogPrior(priors)
			})
			f.checkGradient(t)
			z := f.z(4)
			v := f.value(t, z)
			want := 0.0
			for i, element := range f.obj.Names() {
				x := z[i]
				if f.obj.IsLog()[i] {
					x = math.Exp(x)
				}
				if p, ok := priors[element]; ok {
					want -= p.LogDensity(x)
				}
			}
			terms := f.obj.Terms()
			if math.Abs(terms.NegLogPrior-want) > 1e-13*(10+math.Abs(want)) || math.Abs(v-terms.NLML()-want) > 1e-12*(math.Abs(v)+math.Abs(want)) {
				t.Errorf("prior term %v of %v, want %v", terms.NegLogPrior, v, want)
			}
		})
	}
}

// TestPriorMode checks that, without a Jacobian, the gradient by z of the lognormal
// term vanishes at the mode of the density of θ, exp(μ − σ²).
func TestPriorMode(t *testing.T) {
	p := map[string]graph.Prior{"lengthscale": mustPrior(t, "lognormal(0.4, 0.9)")}
	with := newFixture(t, "rbf", 20, 2, func(s *graph.Spec) { s.Prior = graph.NegLogPrior(p) })
	without := newFixture(t, "rbf", 20, 2, nil)
	z := []float64{0.4 - 0.81, 0.1, -1}
	_, a := with.gradient(t, z)
	if _, b := without.gradient(t, z); math.Abs(a[0]-b[0]) > 1e-13 {
		t.Errorf("gradient of the prior at the mode of θ is %v", a[0]-b[0])
	}
}

func TestPriorRefused(t *testing.T) {
	for what, priors := range map[string]map[string]graph.Prior{
		"normal on a positive parameter": {"noise_variance": mustPrior(t, "normal(0, 1)")},
		"gamma on a coefficient":         {"mean_constant": mustPrior(t, "gamma(1, 1)")},
		"no such parameter":              {"x": mustPrior(t, "gamma(1, 1)")},
	} {
		f := newFixture(t, "rbf", 10, 1, nil)
		spec := f.spec
		freeMean("constant")(&spec)
		spec.Prior = graph.NegLogPrior(priors)
		if _, err := graph.Build(f.ws, spec); err == nil {
			t.Errorf("%s accepted", what)
		}
	}
}

func TestParsePriorErrors(t *testing.T) {
	for _, c := range []struct {
		text string
		pos  int
		word string
	}{
		{"", 0, "expected a density: one of lognormal"},
		{"lognorml(0, 1)", 0, `did you mean "lognormal"`},
		{"gamma", 5, "expected '(': gamma(shape, rate)"},
		{"gamma(1)", 7, "rate is missing"},
		{"gamma(1, 2", 10, "expected ',' or ')'"},
		{"gamma(1, 2, 3)", 12, "too many"},
		{"gamma(1, -2)", 9, "rate must be positive"},
		{"gamma(x, 2)", 6, `not "x"`},
		{"gamma(, 2)", 6, "expected a number"},
		{"gamma(shape=1, scale=2)", 15, `no argument "scale"`},
		{"gamma(shap=1, rate=2)", 6, `did you mean "shape"`},
		{"gamma(shape=1, 2)", 15, "without a name"},
		{"gamma(1, shape=2)", 15, "twice"},
		{"gamma(1, 2) x", 12, "expected the end"},
		{"uniform(2, 1)", 11, "above lo"},
		{"uniform(hi=1, lo=1)", 11, "above lo"},
		{"lognormal(inf, 1)", 10, "finite"},
		{"halfnormal(1e-200)", 0, "too large or too small"},
		{"halfnormal(é)", 11, "finite"},
	} {
		_, err := graph.ParsePrior(c.text)
		var pe *graph.PriorError
		if !errors.As(err, &pe) || pe.Pos != c.pos || !strings.Contains(pe.Msg, c.word) {
			t.Errorf("%q: %v, want %q at %d", c.text, err, c.word, c.pos)
		}
	}
	p := mustPrior(t, " gamma( rate = 2.5 ,\tshape=1e-3 ) ")
	if p.Family != "gamma" || !slices.Equal(p.Args, []float64{1e-3, 2.5}) {
		t.Errorf("%+v", p)
	}
}

// FuzzParsePrior checks that no text costs much, that errors are
// [*graph.PriorError] and point into the text, and that a density prints as text
// that reads back to the same numbers, is never NaN, and is −∞ outside its support.
func FuzzParsePrior(f *testing.F) {
	for _, text := range []string{"lognormal(0,1)", "gamma(shape=2, rate=.5)", "smoothedbox(-1,1)", "uniform(1, 2)x", "normal(", "halfnormal(1e308)", "smoothedbox(0, 1, sigma=1e-3)"} {
		f.Add(text, 1.0)
	}
	f.Add("lognormal(700, 1e-3)", 0.0)
	f.Add("gamma(0.5, 1)", 0.0)
	f.Fuzz(func(t *testing.T, text string, x float64) { fuzzguard.Run(t, func() { checkPrior(t, text, x) }) })
}

func checkPrior(t *testing.T, text string, x float64) {
	p, err := graph.ParsePrior(text)
	if err != nil {
		var pe *graph.PriorError
		if !errors.As(err, &pe) || pe.Pos < 0 || pe.Pos > len(text) || err.Error() == "" {
			t.Fatalf("error %#v", err)
		}
		return
	}
	if q, err := graph.ParsePrior(p.String()); err != nil || q.Family != p.Family || !slices.Equal(q.Args, p.Args) {
		t.Fatalf("%q read back as %+v, %v", p, q, err)
	}
	if !p.Suits(true) && !p.Suits(false) {
		t.Fatalf("%s suits no parameter", p)
	}
	for _, at := range []float64{1, x} {
		v, inside := p.LogDensity(at), true
		if lo, hi := p.Support(); at < lo || at > hi {
			inside = false
		}
		if math.Abs(at) < 1e9 && (math.IsNaN(v) || !inside && !math.IsInf(v, -1)) {
			t.Fatalf("log density of %s at %v is %v", p, at, v)
		}
	}
}

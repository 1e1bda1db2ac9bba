package kernel

import (
	"errors"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"gpfit/internal/fuzzguard"
	"gpfit/internal/testcheck"
)

// TestFormulasAsFamilies checks that a formula equals the family that it spells out.
func TestFormulasAsFamilies(t *testing.T) {
	const d = 3
	for _, c := range []struct{ formula, family string }{
		{"formula(exp(-r2/(2*a^2)), a=1)", "rbf"},
		{"formula(exp(-r^2/2), ard)", "rbf(ard)"},
		{"formula(exp(-r/a), a=1)", "matern12"},
		{"formula((1 + sqrt(3)*r/a)*exp(-sqrt(3)*r/a), a=1)", "matern32"},
		{"formula((1 + r2/(2*b*a**2))^-b, a=1, b=1)", "rq"},
		{"formula(exp(-b*log1p(r2/(2*b*a**2))), a=1, b=1)", "rq"},
		{"formula(exp(-2*sin(pi*abs(x - y)/b)^2/a^2), a=1, b=1, dims=1)", "periodic(dims=1)"},
		{"formula(cos(2*pi*(x - y)/b), b=1, dims=2)", "cosine(dims=2)"},
		{"formula(dot)", "linear"},
		{"formula((a + dot)^3, a=1)", "poly(3)"},
		{"formula(exp(-mismatches/a^2), a=1)", "hamming"},
		{"formula(exp(-mismatches), ard)", "hamming(ard)"},
		{"formula(2/pi*asin(2*(a + dot)/sqrt((1 + 2*(a + xx))*(1 + 2*(a + yy)))), a=1, ard)", "arcsine(ard)"},
		{"formula(pos(1 - r)^4*(1 + 4*r), ard)", "wendland(ard)"},
		{"formula(erf(1)*sinc(0)/erf(1))", "constant"},
		{"formula(sinc(2*pi*(x - y)/b)*2*pi*(x - y)/b*sin(2*pi*(x - y)/b) + cos(2*pi*(x - y)/b)^2, b=1, dims=2)", "constant(dims=2)"},
	} {
		p, q := mustCompile(t, c.formula, d), mustCompile(t, c.family, d)
		rng := rand.New(rand.NewPCG(3, 1))
		theta := randomTheta(rng, p)
		other := make([]float64, q.NumParams)
		for i, name := range q.Names() {
			at := slices.Index(p.Names(), name)
			if at < 0 {
				at = slices.Index(p.Names(), map[string]string{"lengthscale": "a", "alpha": "b", "period": "b", "offset": "a"}[name])
			}
			other[i] = theta[at]
		}
		x := randomPoints(rng, 7, d)
		e, f := bound(p, theta), bound(q, other)
		got, want := make([]float64, x.N), make([]float64, x.N)
		for i := range x.N {
			e.Row(got, x, i, x, 0, x.N)
			f.Row(want, x, i, x, 0, x.N)
			testcheck.Near(t, c.formula+" and "+c.family, got, want, 1e-11, 1e-11)
		}
		checkGradient(t, p, 5)
	}
}

// TestFormulaAtDistance0 checks that derivatives exist at equal points for any exponent.
func TestFormulaAtDistance0(t *testing.T) {
	for _, text := range []string{"formula(exp(-(r/a)^g), a=1, g=1)", "formula(exp(-r^0.3))", "formula(r2^1.5*exp(-r))", "formula(exp(-sqrt(r)), ard)", "formula(1/(1 + (r/a)^g), a=1, g=0.5)"} {
		p := mustCompile(t, text, 2)
		x := NewPoints([]float64{1, 2, 1, 2, 0, 3}, 3, 2)
		for _, g := range []float64{0.3, 1, 1.7} {
			theta := slices.Repeat([]float64{g}, p.NumParams)
			e, grad, input := bound(p, theta), make([]float64, p.NumParams), make([]float64, 2)
			e.RowGradient(grad, []float64{1, 1, 1}, x, 0, x, 0, 3)
			e.RowInputGradient(input, []float64{1, 1, 1}, x, 0, x, 0, 3)
			if slices.ContainsFunc(append(grad, input...), notFinite) {
				t.Errorf("%s at %v: derivatives %v, %v", text, g, grad, input)
			}
		}
	}
}

func notFinite(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) }

func TestFormulaText(t *testing.T) {
	for text, want := range map[string]string{
		"formula( exp( - r /a),a=1 )":                "formula(exp(-r/a), a=1)",
		"formula(((1+(r))))":                         "formula(1 + r)",
		"formula(1-(2-3)-4)":                         "formula(1 - (2 - 3) - 4)",
		"formula(r/(a/b)/c*d, a=1,b=2,c=3,d=4)":      "formula(r/(a/b)/c*d, a=1, b=2, c=3, d=4)",
		"formula((r**2)**3**2)":                      "formula((r^2)^3^2)",
		"formula(-r^2 + (-r)^2 - -r)":                "formula(-r^2 + (-r)^2 - -r)",
		"formula(r^-(1/2))":                          "formula(r^-(1/2))",
		"formula(r^(-1e-3)*1E3*.5*2.)":               "formula(r^-0.001*1000*0.5*2)",
		"formula(-(a*r), a=2, dims=[1,0], ard)":      "formula(-(a*r), ard, dims=[1, 0], a=2)",
		"formula(exp(-r), lengthscale=2, ard) + rbf": "formula(exp(-r), ard, lengthscale=2) + rbf",
		"formula(1, signal_variance=3)*rbf":          "formula(1, signal_variance=3)*rbf",
	} {
		if e := testcheck.Get(Parse(text))(t); e.String() != want {
			t.Errorf("%s prints as %s, want %s", text, e, want)
		}
	}
}

func TestFormulaErrors(t *testing.T) {
	for _, c := range []struct{ text, msg, at string }{
		{"formula", "needs parentheses", "formula"},
		{"formula()", "expected a number", ")"},
		{"rbf*formula(exp(-rr))", `did you mean "r"`, "rr"},
		{"formula(exp(-r/scael), scale=1)", `no argument "scale"`, "scale="},
		{"formula(exp(-r/a))", "needs a start value, a=1", "a)"},
		{"formula(exp(-r/a), a=1, b=1)", `no argument "b"`, "b="},
		{"formula(exq(-r))", `did you mean "exp"`, "exq"},
		{"formula(max(1 - r))", `did you mean pos? pos(a) is max(a, 0)`, "max"},
		{"formula(ln(1 + r2))", `did you mean "log"`, "ln"},
		{"formula(pow(r))", `did you mean the operator ^`, "pow"},
		{"formula(erff(r))", `did you mean "erf"`, "erff"},
		{"formula(sync(r))", `did you mean "sinc"`, "sync"},
		{"formula(sigmod(r))", `did you mean "sigmoid"`, "sigmod"},
		{"formula(exp + 1)", "argument needs parentheses", "exp"},
		{"formula(exp(-r)", "found the end", ""},
		{"formula(exp(-r) rbf)", "operator", "rbf"},
		{"formula(2^r)", "same for all points", "r)"},
		{"formula(1 + )", "expected a number", ")"},
		{"formula(1 % 2)", "operator", "%"},
		{"formula(1e999)", "not a finite number", "1e999"},
		{"formula(exp(-r/lengthscale), lengthscale=1)", "cannot be named", "lengthscale)"},
		{"formula(exp(-r/a), a=-1)", "positive number", "-1"},
		{"formula(exp(-r/a), a=1, a=1)", "twice", "a=1)"},
		{"formula(exp(-r/a), a=1, lengthscale=1, b)", "no argument", "b)"},
		{"formula(" + strings.Repeat("(", 200) + "1", "nested", strings.Repeat("(", 99) + "1"},
		{"formula(" + strings.Repeat("-", 200) + "1", "nested", strings.Repeat("-", 99) + "1"},
		{"formula(r" + strings.Repeat("+r", 500) + ")", "at most 500", ""},
	} {
		_, err := Parse(c.text)
		if e, ok := err.(*ParseError); !ok || !strings.Contains(e.Msg, c.msg) || c.at != "" && !strings.HasPrefix(c.text[e.Pos:], c.at) {
			t.Errorf("%.60s: error %v, want a ParseError, %q at %q", c.text, err, c.msg, c.at)
		}
	}
	for text, msg := range map[string]string{
		"formula(x*y)": "one column", "rbf + formula(x*y, ard)": "one column", "formula(1/0)": "not a finite", "formula(r/a, a=[1, 2])": "start values",
		"formula(r, lengthscale=2)": "only with ard",
	} {
		if _, err := Compile(testcheck.Get(Parse(text))(t), Columns(2)); err == nil || !strings.Contains(err.Error(), msg) {
			t.Errorf("%s: %v, want %q", text, err, msg)
		}
	}
}

func TestFormulaUnits(t *testing.T) {
	for text, want := range map[string]map[string]float64{
		"exp(-r/a)":                          {"a": 1},
		"exp(-a*r2)":                         {"a": -2},
		"exp(-(r/a)^g)":                      {"a": 1, "g": 0},
		"exp(-a*r^0.5)":                      {"a": -0.5},
		"(1 + r2/(2*b*a^2))^-b":              {"a": 1, "b": 0},
		"exp(-r)*a":                          {"a": 0}, // contradicts itself
		"a + dot":                            {"a": 2, "value": 2},
		"(a + dot/b)^2":                      {"a": 2, "b": 0, "value": 4},
		"tanh(a*dot + b)":                    {"a": -2, "b": 0},
		"exp(-r/a)*cos(2*pi*(r/b + c))":      {"a": 1, "b": 1, "c": 0},
		"exp(-a*b*r)":                        {"a": -1, "b": 0},
		"x*y*exp(-abs(x - y)/a)":             {"a": 1, "value": 2},
		"exp(-r*a)*sqrt(dot + b)":            {"a": -1, "b": 2, "value": 1},
		"pos(1 - r/a)^4*mismatches*(b + xx)": {"a": 1, "b": 2, "value": 2},
		"exp(-r/a) + exp(-r/b)*c":            {"a": 1, "b": 1, "c": 0},
		"sin(a*x)*sin(a*y)/log(b*r)":         {"a": -1, "b": -1},
		"erf(a*x)*erf(a*y)*sinc(r/b)":        {"a": -1, "b": 1},
		"1":                                  {},
	} {
		start := ""
		for _, name := range slices.Sorted(maps.Keys(want)) {
			if name != "value" {
				start += ", " + name + "=1"
			}
		}
		p := mustCompile(t, "formula("+text+start+")", 1)
		for _, q := range p.Params {
			wantInput := want[q.Name]
			if q.Kind == Variance {
				wantInput = -want["value"]
			}
			if q.Units.Input != wantInput {
				t.Errorf("%s: %s has units of the inputs to the power %v, want %v", text, q.Name, q.Units.Input, wantInput)
			}
			if (q.Kind == Lengthscale) != (q.Units.Input == 1) {
				t.Errorf("%s: %s has units %v and is of kind %d", text, q.Name, q.Units.Input, q.Kind)
			}
		}
	}
	for _, q := range mustCompile(t, "formula(exp(-r*a), ard, a=1)", 2).Params {
		if want := map[Kind]float64{Lengthscale: 1}[q.Kind]; q.Units.Input != want {
			t.Errorf("with ard %s has units %v, want %v", q.Name, q.Units.Input, want)
		}
	}
}

// sane draws formulas whose values are finite and differentiable almost everywhere.
func sane(depth int) *rapid.Generator[string] {
	leaf := rapid.SampledFrom([]string{"r", "r2", "dot", "xx", "yy", "mismatches", "u", "v", "0.5", "2", "pi"})
	if depth == 0 {
		return leaf
	}
	inner := sane(depth - 1)
	form := rapid.SampledFrom([]string{
		"exp(-abs(@)/(1 + abs(@)))", "log1p(abs(@))", "log(1 + (@)^2)", "sqrt(1 + abs(@))", "sin(@)", "cos(@)", "tanh(@)", "asin(tanh(@)/2)", "erf(@)", "sinc(@)",
		"pos(@)", "sigmoid(@)", "(@) + (@)", "(@) - (@)", "(@)*(@)", "(@)/(1 + (@)^2)", "-(@)", "(1 + abs(@))^-0.5", "abs(@)^u",
	})
	return rapid.Custom(func(t *rapid.T) string {
		text := form.Draw(t, "form")
		for strings.Contains(text, "@") {
			text = strings.Replace(text, "@", inner.Draw(t, "part"), 1)
		}
		return text
	})
}

func TestRandomFormulas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := "formula(" + sane(2).Draw(t, "formula")
		var given []string
		for _, name := range []string{"u", "v"} { // in no other word than formula
			if strings.Contains(text[len("formula"):], name) {
				given = append(given, name+"=1.5")
			}
		}
		e := testcheck.Get(Parse(strings.Join(append([]string{text}, given...), ", ") + ", dims=1)"))(t)
		if again, err := Parse(e.String()); err != nil || again.String() != e.String() {
			t.Fatalf("%s prints as %s, which reads back as %v, %v", text, e, again, err)
		}
		p := testcheck.Get(Compile(e, Columns(2)))(t)
		x := randomPoints(rand.New(rand.NewPCG(1, 2)), 6, 2)
		ev := bound(p, slices.Repeat([]float64{0.7}, p.NumParams))
		row, grad, input := make([]float64, 6), make([]float64, p.NumParams), make([]float64, 2)
		ev.Row(row, x, 2, x, 0, 6)
		ev.RowGradient(grad, row, x, 2, x, 0, 6)
		ev.RowInputGradient(input, row, x, 2, x, 0, 6)
		if slices.ContainsFunc(slices.Concat(row, grad, input), notFinite) {
			t.Fatalf("%s: values %v, derivatives %v, %v", e, row, grad, input)
		}
	})
}

// eigenvalueTolerance is relative to n times the largest eigenvalue.
const eigenvalueTolerance = 1e-13

// TestCheckMatrix compares extreme eigenvalues with the closed forms of known matrices.
func TestCheckMatrix(t *testing.T) {
	for _, n := range []int{1, 2, 3, 10, 60, 129} {
		theta := math.Pi / float64(2*n+1)
		for name, c := range map[string]struct {
			k                 func(i, j int) float64
			smallest, largest float64
			ok                bool
		}{
			// Brownian motion at 1, …, n: an inverse second difference (Fortiana & Cuadras 1997).
			"min": {func(i, j int) float64 { return float64(min(i, j) + 1) }, 1 / (2 + 2*math.Cos(theta*2)), 1 / (2 - 2*math.Cos(theta)), true},
			// Second differences, with eigenvalues 2 − 2 cos(πk/(n+1)).
			"second difference": {func(i, j int) float64 { return float64(2*b2i(i == j) - b2i(i-j == 1 || j-i == 1)) }, 2 - 2*math.Cos(math.Pi/float64(n+1)), 2 - 2*math.Cos(math.Pi*float64(n)/float64(n+1)), true},
			"constant":          {func(int, int) float64 { return 3 }, 0, 3 * float64(n), true},
			"one minus unit":    {func(i, j int) float64 { return float64(b2i(i != j)) }, -1, float64(n - 1), false},
		} {
			if n == 1 && name != "min" {
				continue
			}
			k := testcheck.Slice(n*n, func(i int) float64 { return c.k(i/n, i%n) })
			h := testcheck.Get(CheckMatrix(n, k))(t)
			if tol := eigenvalueTolerance * float64(n) * c.largest; math.Abs(h.Largest-c.largest) > tol || math.Abs(h.Smallest-c.smallest) > tol {
				t.Errorf("%s, n = %d: eigenvalues from %v to %v, want %v to %v", name, n, h.Smallest, h.Largest, c.smallest, c.largest)
			}
			if h.OK() != c.ok {
				t.Errorf("%s, n = %d: %v", name, n, h)
			}
		}
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// TestNoKernels checks that functions that look like kernels and are none are found.
func TestNoKernels(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	x := testcheck.Slice(40, func(int) float64 { return rng.Float64() })
	for name, f := range map[string]func(a, b float64) float64{
		"max - min": func(a, b float64) float64 { return math.Max(a, b) - math.Min(a, b) },
		"|x - x'|":  func(a, b float64) float64 { return math.Abs(a - b) },
		"max":       math.Max,
		"box":       func(a, b float64) float64 { return float64(b2i(math.Abs(a-b) < 0.3)) },
		"x":         func(a, _ float64) float64 { return a },
		"NaN":       func(a, b float64) float64 { return math.Log(a - b) },
	} {
		k := testcheck.Slice(len(x)*len(x), func(i int) float64 { return f(x[i/len(x)], x[i%len(x)]) })
		if h, err := CheckMatrix(len(x), k); err != nil || h.OK() {
			t.Errorf("%s: %v, error %v", name, h, err)
		}
	}
}

// FuzzParse checks that no text costs much, that errors are [*ParseError] and point into the text,
// and that an expression prints as text that reads back to it, with the same compiled function.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"rbf", "rbf(ard)*matern12 + (rbf(lengthscale=[1, 2e3], dims=[0, 1]))", "((rbf))", "rbf(", "rbf(dims=", "é",
		"periodic(dims=0, period=1)*rbf + linear", "rq(alpha=0.8, ard)", "poly(2, offset=0.25)", "poly(2, offset=0)", "poly(degree=3, ard)*cosine(period=[1, 2, 3], ard)",
		"constant(signal_variance=2) + constant", "poly(", "poly(2,", "linear(ard)*(rbf+poly)", "rbf(lengthscale=1e-320)", "matern52(dims=[2,0])",
		"formula(exp(-r/a)*cos(2*pi*r/b), a=1, b=2)", "formula((1+a*r2)^-b**2,ard,a=1,b=.5e1)*matern(3.5)", "formula(pos(1-r)^4*(dot-xx)/-yy)",
		"formula(tanh(x)*sigmoid(--y), dims=0)", "wendland(0)+formula(mismatches", "formula(log1p(abs(asin(1))))", "formula(2^3^c, c=1)",
		`rbf(dims=temp)`, `rbf(dims=["wind \"x\"", temp], ard) + linear(dims="1")`, `rbf(dims="`, `rbf(dims="\u12")`, "rbf(dims=[temp, 0])", "rbf(dims=tmp)"} {
		f.Add(text)
	}
	x := randomPoints(rand.New(rand.NewPCG(1, 2)), 3, 3)
	f.Fuzz(func(t *testing.T, text string) { fuzzguard.Run(t, func() { checkParse(t, text, x) }) })
}

func checkParse(t *testing.T, text string, x *Points) {
	named := Parser{Columns: []string{"temp", `wind "x"`, "1"}}
	e, err := named.Parse(text)
	if errCheck := CheckText(text); err == nil && errCheck != nil {
		t.Fatalf("%q: %v before the table is read", text, errCheck)
	}
	if err != nil {
		var pe *ParseError
		if !errors.As(err, &pe) || pe.Pos < 0 || pe.Pos > len(text) || pe.Msg == "" || err.Error() == "" {
			t.Fatalf("%q: error %#v", text, err)
		}
		return
	}
	again, err := Parse(e.String())
	if err != nil || again.String() != e.String() {
		t.Fatalf("%q prints as %q, which reads back as %v, %v", text, e, again, err)
	}
	withNames := Text(e, named.Columns)
	if again, err := named.Parse(withNames); err != nil || again.String() != e.String() {
		t.Fatalf("%q prints as %q with names, which reads back as %v, %v", text, withNames, again, err)
	}
	p, err := Compile(e, Columns(3))
	q, errAgain := Compile(again, Columns(3))
	if err != nil || errAgain != nil {
		if err == nil || errAgain == nil || err.Error() != errAgain.Error() || !errors.As(err, new(*CompileError)) {
			t.Fatalf("%q: %v, and read back %v", text, err, errAgain)
		}
		return
	}
	if len(p.Names()) != p.NumParams || !slices.Equal(p.Names(), q.Names()) {
		t.Fatalf("%q: names %v for %d parameters, read back %v", text, p.Names(), p.NumParams, q.Names())
	}
	if a, b := firstRow(p, x), firstRow(q, x); !slices.EqualFunc(a, b, sameBits) {
		t.Fatalf("%q: %v, read back %v", text, a, b)
	}
}

// firstRow returns k(x₀, xⱼ) for all j, at the start values of the text.
func firstRow(p *Program, x *Points) []float64 {
	theta := testcheck.Slice(p.NumParams, func(i int) float64 { return 1 + float64(i%7)/8 })
	for _, q := range p.Params {
		copy(theta[q.Offset:], q.Start)
	}
	e := bound(p, theta)
	out := make([]float64, x.N)
	e.Row(out, x, 0, x, 0, x.N)
	return out
}

func sameBits(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }

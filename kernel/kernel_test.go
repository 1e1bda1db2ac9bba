package kernel

import (
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"

	"gpfit/internal/testcheck"
)

// relTol bounds rounding in a kernel value: a few operations and one
// exponential of an argument of moderate size.
const relTol = 1e-13

// diffTol bounds a central difference of the fourth order with step 2e-5:
// cancellation ε·f/h is near 1e-11 for functions of order one, and truncation
// h⁴·f⁽⁵⁾/30 below that for waves of up to some tens of turns.
const diffTol = 2e-9

// centralDifference returns f′(0), and the difference from twice the step: sixteen times the truncation of a smooth f, and more
// near the edge of a kernel of bounded support.
func centralDifference(f func(h float64) float64) (slope, doubt float64) {
	const h = 2e-5
	once, twice, four := f(h)-f(-h), f(2*h)-f(-2*h), f(4*h)-f(-4*h)
	slope = (8*once - twice) / (12 * h)
	return slope, math.Abs(slope - (8*twice-four)/(24*h))
}

func mustCompile(t testing.TB, text string, d int) *Program {
	t.Helper()
	return testcheck.Get(CompileText(text, d))(t)
}

func randomPoints(rng *rand.Rand, n, d int) *Points {
	return NewPoints(testcheck.Slice(n*d, func(int) float64 { return rng.NormFloat64() }), n, d)
}

// bound returns an evaluator with its parameters.
func bound(p *Program, theta []float64) *Evaluator {
	e := NewEvaluator(p)
	e.Bind(theta)
	return e
}

func randomTheta(rng *rand.Rand, p *Program) []float64 {
	return testcheck.Slice(p.NumParams, func(int) float64 { return math.Exp(0.5 * rng.NormFloat64()) })
}

// checkGradient compares RowGradient with central differences of Row by every log-parameter.
func checkGradient(t testcheck.Reporter, p *Program, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 3))
	const m = 9
	x, y := randomPoints(rng, 2, p.D), randomPoints(rng, m, p.D)
	for c := range p.D { // one pair of equal points
		y.Column(c)[4] = x.Column(c)[1]
	}
	theta := randomTheta(rng, p)
	adj := randomPoints(rng, m, 1).X
	e := bound(p, theta)
	grad := make([]float64, p.NumParams)
	e.RowGradient(grad, adj, x, 1, y, 0, m)
	row := make([]float64, m)
	f := func(theta []float64) float64 {
		e.Bind(theta)
		e.Row(row, x, 1, y, 0, m)
		return floats.Dot(adj, row)
	}
	top := []float64{0} // k(x, x) bounds every value and, up to a small factor, every slope
	e.Bind(theta)
	e.Diagonal(top, x, 1, 2)
	other := make([]float64, m)
	e.Diagonal(other, y, 0, m)
	scale := 0.0
	for j := range row {
		scale += math.Abs(adj[j]) * max(top[0], other[j])
	}
	names := p.Names()
	for i := range theta {
		want, doubt := centralDifference(func(h float64) float64 {
			moved := append([]float64(nil), theta...)
			moved[i] *= math.Exp(h)
			return f(moved)
		})
		if p.IsReal(i) {
			grad[i] *= theta[i] // it is the derivative by the number itself
		}
		if math.Abs(grad[i]-want) > diffTol*(scale+math.Abs(want))+doubt {
			t.Errorf("%s: ∂/∂log %s = %v, central difference %v", p.Text, names[i], grad[i], want)
		}
	}
}

func TestGradients(t *testing.T) {
	for _, name := range Families() {
		for _, args := range []string{"", "(ard)", "(dims=1)", "(ard, dims=[3, 1])"} {
			checkGradient(t, mustCompile(t, name+args, 4), 7)
		}
	}
	for _, text := range []string{
		"rbf + matern32", "rbf*matern12(ard)", "rbf(ard) + rbf*matern52 + matern12(dims=2)",
		"rq*periodic + linear", "rbf*periodic(ard) + poly(3, ard) + constant", "cosine*(linear(ard) + rq(ard))", "linear*poly(2)*matern12",
		"(rbf + matern32)*matern52", "(rbf + matern12)*(matern32 + matern52)", "rbf*(matern12 + rbf*(matern32 + matern52(ard)))",
	} {
		checkGradient(t, mustCompile(t, text, 4), 8)
	}
}

// leafOf draws random leaves on some of d columns.
func leafOf(d int) *rapid.Generator[Expr] {
	return rapid.Custom(func(t *rapid.T) Expr {
		l := &Leaf{Family: rapid.SampledFrom(slices.Concat(families, additives())).Draw(t, "family"), ARD: rapid.Bool().Draw(t, "ard")}
		if n := l.Family.number(); n != nil {
			l.Degree = rapid.IntRange(1, min(4, n.count)).Draw(t, "degree")
		}
		if rapid.Bool().Draw(t, "hasDims") {
			l.Dims = rapid.SliceOfNDistinct(rapid.IntRange(0, d-1), 1, d, rapid.ID).Draw(t, "dims")
		}
		if rapid.Bool().Draw(t, "hasStart") {
			l.Start = map[string][]float64{}
			for _, s := range l.Family.Parameters {
				if s.Count != OnlyARD || l.ARD {
					l.Start[s.Name] = []float64{rapid.Float64Range(1e-3, 1e3).Draw(t, "start")}
				}
			}
		}
		return l
	})
}

// expressions draws random trees to the given depth.
func expressions(d, depth int) *rapid.Generator[Expr] {
	leaf := leafOf(d)
	if depth == 0 {
		return leaf
	}
	inner := rapid.SliceOfN(expressions(d, depth-1), 2, 3)
	return rapid.OneOf(leaf,
		rapid.Custom(func(t *rapid.T) Expr { return Sum(inner.Draw(t, "terms")) }),
		rapid.Custom(func(t *rapid.T) Expr { return Product(inner.Draw(t, "factors")) }))
}

func TestRandomExpressions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := expressions(3, 4).Draw(t, "expr")
		text := e.String()
		if again := testcheck.Get(Parse(text))(t); again.String() != text {
			t.Fatalf("%q reads back as %q", text, again)
		}
		p := testcheck.Get(Compile(e, Columns(3)))(t)
		if len(slices.Compact(slices.Sorted(slices.Values(p.Names())))) != p.NumParams || len(p.Names()) != p.NumParams {
			t.Fatalf("names %v for %d parameters", p.Names(), p.NumParams)
		}
		checkGradient(t, p, 9)
	})
}

// TestEqualHashes checks the gradient of an expression in whose derivative two different nodes have equal hashes in
// Gorgonia, which then takes them for one.
func TestEqualHashes(t *testing.T) {
	const text = "(arcsine(ard) + matern12*(matern32(ard) + periodic)*(constant(dims=0) + arcsine(dims=[2, 0, 1]) + rbf(ard)))*(rbf(dims=0) + arcsine)"
	checkGradient(t, mustCompile(t, text, 3), 9)
}

func TestParameterNames(t *testing.T) {
	for text, want := range map[string]string{
		"rbf":                        "lengthscale signal_variance",
		"rbf(ard)":                   "lengthscale[0] lengthscale[1] lengthscale[2] signal_variance",
		"rbf(ard, dims=[1])":         "lengthscale[1] signal_variance",
		"rq":                         "lengthscale alpha signal_variance",
		"periodic(ard, dims=[2, 0])": "lengthscale[2] lengthscale[0] period[2] period[0] signal_variance",
		"poly":                       "offset signal_variance",
		"cosine + constant":          "k1.period k1.signal_variance k2.signal_variance",
		"rbf*periodic":               "k1.lengthscale k2.lengthscale k2.period signal_variance",
		"rbf*matern12":               "k1.lengthscale k2.lengthscale signal_variance",
		"rbf + rbf*matern12":         "k1.lengthscale k1.signal_variance k2.k1.lengthscale k2.k2.lengthscale k2.signal_variance",
		"rbf*(rbf+matern12)":         "k1.lengthscale k2.k1.lengthscale k2.k1.signal_variance k2.k2.lengthscale k2.k2.signal_variance",
		"(rbf+rbf)*(rbf+rbf)":        "k1.k1.lengthscale k1.k1.signal_variance k1.k2.lengthscale k1.k2.signal_variance k2.k1.lengthscale k2.k2.lengthscale k2.k2.signal_variance",
	} {
		if got := strings.Join(mustCompile(t, text, 3).Names(), " "); got != want {
			t.Errorf("%s: parameters %s, want %s", text, got, want)
		}
	}
}

// TestLabels checks that omitting columns of a table does not renumber the others.
func TestLabels(t *testing.T) {
	e, _ := Parse("rbf(ard) + matern12(dims=5)")
	p := testcheck.Get(Compile(e, []int{0, 2, 5}))(t)
	want := "k1.lengthscale[0] k1.lengthscale[2] k1.lengthscale[5] k1.signal_variance k2.lengthscale k2.signal_variance"
	if got := strings.Join(p.Names(), " "); got != want {
		t.Errorf("parameters %s, want %s", got, want)
	}
	if d := p.Params[2].Dims; len(d) != 1 || d[0] != 2 {
		t.Errorf("dims=5 is position %v, want [2]", d)
	}
	if _, err := Compile(&Leaf{Family: families[0], Dims: []int{1}}, []int{0, 2, 5}); err == nil {
		t.Error("dims=1 accepted although column 1 was omitted")
	}
}

func TestSharedFeatures(t *testing.T) {
	for text, want := range map[string]int{
		"rbf + matern32*matern12 + rbf(dims=0)": 2, // isotropic leaves on the same columns share one
		"rbf + rq*matern32":                     1,
		"linear + poly(3)*poly(2)":              1,
		"linear + rbf + constant":               2,
		"cosine + cosine*cosine":                1,
		"periodic + periodic":                   2, // of different periods
		"rbf(ard) + rbf(ard)":                   2,
		"constant":                              0,
	} {
		if p := mustCompile(t, text, 2); len(p.Features) != want {
			t.Errorf("%s: %d features, want %d", text, len(p.Features), want)
		}
	}
}

func TestStartValues(t *testing.T) {
	p := mustCompile(t, "rbf(ard, lengthscale=[1, 2], signal_variance=3) + matern12(ard, lengthscale=4)", 2)
	for i, want := range [][]float64{{1, 2}, {3}, {4, 4}, nil} {
		if got := p.Params[i].Start; !slices.Equal(got, want) {
			t.Errorf("%s: start %v, want %v", p.Params[i].Name, got, want)
		}
	}
}

func TestErrors(t *testing.T) {
	parse := []struct {
		text, msg string
		pos       int
	}{
		{"", "expected a kernel", 0},
		{"rbv", `unknown kernel "rbv"`, 0},
		{"rbf + ", "expected a kernel", 6},
		{"rbf(ard", "found the end", 7},
		{"rbf(ard, ard)", "given twice", 9},
		{"rbf(dims=-1)", "index from 0", 9},
		{"rbf(dims=[1, 1])", "given twice", 13},
		{"rbf(lengthscale=0)", "a start value is a positive number", 16},
		{"poly(2, offset=-1)", "a positive number or is the constant 0", 15},
		{"poly(2, signal_variance=0)", "a start value is a positive number", 24},
		{"formula(dot + a, a=0)", "a start value is a positive number", 19},
		{"poly(2, offset=0, offset=1)", "given twice", 18},
		{"rbf(length=1)", "no argument", 4},
		{"rbf matern12", "expected '+'", 4},
		{"(rbf", "found the end", 4},
		{"rbf)", "expected '+'", 3},
		{"rbf + periodc(dims=0)", `did you mean "periodic"`, 6},
		{"poly(0)", "whole number from 1", 5},
		{"poly(degree=2.5)", "whole number from 1", 12},
		{"poly(2, 3)", "degree is given twice", 8},
		{"poly(101)", "whole number from 1", 5},
		{"rq(alhpa=1)", `did you mean "alpha"`, 3},
		{"rbf(period=1)", "no argument", 4},
		{"rbf(2)", "no argument", 4},
		{"constant(lengthscale=1)", "no argument", 9},
		{"periodic(period=-1)", "positive number", 16},
		{"rbf(=1)", "expected an argument", 4},
		{strings.Repeat("(", 200) + "rbf", "nested", 101},
	}
	for _, c := range parse {
		_, err := Parse(c.text)
		if pe, ok := err.(*ParseError); !ok || pe.Pos != c.pos || !strings.Contains(pe.Msg, c.msg) || !strings.HasSuffix(pe.Error(), "^") {
			t.Errorf("%q: error %v, want a ParseError, %q at %d, with a mark", c.text, err, c.msg, c.pos)
		}
	}
	for _, text := range []string{
		"rbf(dims=7)", "rbf(ard, lengthscale=[1, 2])", "rbf(signal_variance=1)*rbf(signal_variance=2)",
		"rbf(signal_variance=1)*(rbf + rbf)", "linear(lengthscale=1)", "linear(ard, signal_variance=1)", "poly(2, lengthscale=1)",
		"periodic(ard, period=[1, 2])", "rq(alpha=[1, 2])",
	} {
		if _, err := Compile(testcheck.Get(Parse(text))(t), Columns(3)); err == nil {
			t.Errorf("%s compiled", text)
		}
	}
	p := mustCompile(t, "rbf", 1)
	for _, theta := range [][]float64{{1}, {1, 0}, {math.NaN(), 1}, {math.Inf(1), 1}, {-1, 1}} {
		if p.CheckTheta(theta) == nil {
			t.Errorf("θ = %v accepted", theta)
		}
	}
	if err := mustCompile(t, "poly(2)", 1).CheckTheta([]float64{0, 1}); err == nil || !strings.Contains(err.Error(), "offset=0 in the kernel") {
		t.Errorf("a parameter 0: %v", err)
	}
}

func TestDiagonal(t *testing.T) {
	p := mustCompile(t, "rbf + matern32*matern12", 2)
	theta := []float64{1, 2, 1, 1, 3}
	e := bound(p, theta)
	got := make([]float64, 3)
	e.Diagonal(got, randomPoints(rand.New(rand.NewPCG(5, 5)), 8, 2), 5, 8)
	if !slices.Equal(got, []float64{5, 5, 5}) {
		t.Errorf("k(x, x) = %v, want 5", got)
	}
}

// TestCompileErrorPosition checks that compilation errors point to the faulty part
// in sums, products and parentheses, and to the second of two equal leaves.
func TestCompileErrorPosition(t *testing.T) {
	for text, want := range map[string]string{
		"rbf(dims=7)":            "rbf(dims=7)",
		"rbf + matern32(dims=7)": "matern32(dims=7)",
		"rbf + (rbf + linear*(rbf(dims=0) + rq(dims=9)))":     "rq(dims=9)",
		"(rbf + linear)*periodic(dims=[0, 5])*rbf":            "periodic(dims=[0, 5])",
		"rbf + rbf(ard, lengthscale=[1, 2, 3])":               "rbf(ard, lengthscale=[1, 2, 3])",
		"linear + linear(lengthscale=2)*rbf":                  "linear(lengthscale=2)*rbf",
		"rbf + linear(ard)*rbf(signal_variance=2)":            "linear(ard)*rbf(signal_variance=2)",
		"rbf + rbf(signal_variance=2)*rbf(signal_variance=2)": "rbf(signal_variance=2)",
	} {
		_, err := Compile(testcheck.Get(Parse(text))(t), Columns(2))
		var ce *CompileError
		if !errors.As(err, &ce) || !strings.HasPrefix(ce.Text[ce.Pos:], want) {
			t.Errorf("%s: error %v, want a mark below %s", text, err, want)
			continue
		}
		if lines := strings.Split(err.Error(), "\n"); len(lines) != 3 || len(lines[2]) != len("  ")+ce.Pos+1 {
			t.Errorf("%s: %q", text, lines)
		}
	}
}

// TestIdentifiable checks that no parameter is redundant: the Jacobian of the
// covariances of random points by the log-parameters has full rank, except that
// several linear(ard) in one product have one lengthscale too many.
func TestIdentifiable(t *testing.T) {
	for text, spare := range map[string]int{
		"rbf*linear": 0, "rbf*linear(ard)": 0, "poly(2, ard)": 0, "poly(3)": 0, "poly(2)*linear": 0, "poly(2, ard)*rq": 0,
		"(rbf + rq)*(cosine + constant)": 0, "linear(ard)*(rbf + constant)": 0, "(periodic + constant)*linear(ard)": 0,
		"rbf*constant*constant": 0, "constant*(linear(ard) + periodic)": 0, "(rbf + constant)*(linear(ard) + constant)": 0,
		"linear(ard)*(linear(ard) + rbf)": 0, "rbf*(linear + matern12*(cosine + constant))": 0, "(rbf + constant)*(rq*(cosine + constant) + constant)": 0,
		"linear(ard)*linear(ard)": 1,
	} {
		p := mustCompile(t, text, 2)
		rng := rand.New(rand.NewPCG(71, 1))
		const n = 14
		x, theta := randomPoints(rng, n, 2), randomTheta(rng, p)
		e := bound(p, theta)
		jacobian := mat.NewDense(n*n, p.NumParams, nil)
		for i := range n {
			for j := range n {
				e.RowGradient(jacobian.RawRowView(i*n+j), []float64{1}, x, i, x, j, j+1)
			}
		}
		var svd mat.SVD
		if !svd.Factorize(jacobian, mat.SVDNone) {
			t.Fatal("no singular values")
		}
		rank, values := 0, svd.Values(nil)
		for _, v := range values {
			if v > 1e-9*values[0] {
				rank++
			}
		}
		if rank != p.NumParams-spare {
			t.Errorf("%s: %d parameters %v, rank %d, singular values %v", text, p.NumParams, p.Names(), rank, values)
		}
	}
}

// TestReference compares values and derivatives with 50-digit arithmetic (testdata/reference.py).
// Errors are relative to the value or, where terms cancel, to the signal variance.
func TestReference(t *testing.T) {
	text := testcheck.Get(os.ReadFile("testdata/reference.json"))(t)
	var pairs []struct {
		Kernel      string
		X, Y, Theta []float64
		Value       string
		Gradient    []string
	}
	testcheck.Do(t, json.Unmarshal(text, &pairs))
	number := func(text string) float64 { return testcheck.Get(strconv.ParseFloat(text, 64))(t) }
	worst := 0.0
	for _, c := range pairs {
		p := mustCompile(t, c.Kernel, len(c.X))
		e, grad := bound(p, c.Theta), make([]float64, p.NumParams)
		e.RowGradient(grad, []float64{1}, NewPoints(c.X, 1, p.D), 0, NewPoints(c.Y, 1, p.D), 0, 1)
		size := 1 + math.Abs(number(c.Value))
		check := func(what string, got, want float64) {
			// The parameters already have errors of a few units in the last place.
			if err := math.Abs(got-want) / (size + math.Abs(want)); err > 1e-14 {
				t.Errorf("%s at %v, %v, θ = %v: %s %v, want %v", c.Kernel, c.X, c.Y, c.Theta, what, got, want)
			} else {
				worst = max(worst, err)
			}
		}
		check("k", eval(p, c.Theta, c.X, c.Y), number(c.Value))
		for i, name := range p.Names() {
			check("∂k/∂log "+name, grad[i], number(c.Gradient[i]))
		}
	}
	t.Logf("%d pairs, largest error %.1e", len(pairs), worst)
}

package kernel

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// relTol bounds rounding in a kernel value: a few operations and one
// exponential of an argument of moderate size.
const relTol = 1e-13

// diffTol bounds a central difference of the fourth order with step 2e-5:
// cancellation ε·f/h is near 1e-11 for functions of order one, and truncation
// h⁴·f⁽⁵⁾/30 below that for waves of up to some tens of turns.
const diffTol = 2e-9

// centralDifference returns f′(0).
func centralDifference(f func(h float64) float64) float64 {
	const h = 2e-5
	return (8*(f(h)-f(-h)) - (f(2*h) - f(-2*h))) / (12 * h)
}

func mustCompile(t testing.TB, text string, d int) *Program {
	t.Helper()
	e, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	p, err := Compile(e, Columns(d))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func randomPoints(rng *rand.Rand, n, d int) *Points {
	rows := make([]float64, n*d)
	for i := range rows {
		rows[i] = rng.NormFloat64()
	}
	return NewPoints(rows, n, d)
}

func randomTheta(rng *rand.Rand, p *Program) []float64 {
	theta := make([]float64, p.NumParams)
	for i := range theta {
		theta[i] = math.Exp(0.5 * rng.NormFloat64())
	}
	return theta
}

// checkGradient compares RowGradient with central differences of Row by every
// log-parameter.
func checkGradient(t interface{ Errorf(string, ...any) }, p *Program, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 3))
	const m = 9
	x, y := randomPoints(rng, 2, p.D), randomPoints(rng, m, p.D)
	for c := range p.D { // one pair of equal points
		y.Column(c)[4] = x.Column(c)[1]
	}
	theta := randomTheta(rng, p)
	adj := make([]float64, m)
	for j := range adj {
		adj[j] = rng.NormFloat64()
	}
	e := NewEvaluator(p)
	e.Bind(theta)
	grad := make([]float64, p.NumParams)
	e.RowGradient(grad, adj, x, 1, y, 0, m)
	row := make([]float64, m)
	f := func(theta []float64) float64 {
		e.Bind(theta)
		e.Row(row, x, 1, y, 0, m)
		sum := 0.0
		for j, v := range row {
			sum += adj[j] * v
		}
		return sum
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
		want := centralDifference(func(h float64) float64 {
			moved := append([]float64(nil), theta...)
			moved[i] *= math.Exp(h)
			return f(moved)
		})
		if math.Abs(grad[i]-want) > diffTol*(scale+math.Abs(want)) {
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
		"(rbf + matern32)*matern52", "(rbf + matern12)*(matern32 + matern52)", "rbf*(matern12 + rbf*(matern32 + matern52(ard)))",
	} {
		checkGradient(t, mustCompile(t, text, 4), 8)
	}
}

// expressions draws random trees to the given depth.
func expressions(d, depth int) *rapid.Generator[Expr] {
	leaf := rapid.Custom(func(t *rapid.T) Expr {
		l := &Leaf{Family: rapid.SampledFrom(families).Draw(t, "family"), ARD: rapid.Bool().Draw(t, "ard")}
		if l.Family.hasDegree() {
			l.Degree = rapid.IntRange(1, 4).Draw(t, "degree")
		}
		if rapid.Bool().Draw(t, "hasDims") {
			l.Dims = rapid.SliceOfNDistinct(rapid.IntRange(0, d-1), 1, d, rapid.ID).Draw(t, "dims")
		}
		if rapid.Bool().Draw(t, "hasStart") {
			l.Start = map[string][]float64{}
			for _, s := range l.Family.slots {
				if s.use != onlyARD || l.ARD {
					l.Start[s.name] = []float64{rapid.Float64Range(1e-3, 1e3).Draw(t, "start")}
				}
			}
		}
		return l
	})
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
		e := expressions(3, 3).Draw(t, "expr")
		text := e.String()
		again, err := Parse(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if again.String() != text {
			t.Fatalf("%q reads back as %q", text, again)
		}
		p, err := Compile(e, Columns(3))
		if err != nil {
			t.Fatal(err)
		}
		if len(p.Names()) != p.NumParams {
			t.Fatalf("%d names for %d parameters", len(p.Names()), p.NumParams)
		}
		seen := map[string]bool{}
		for _, name := range p.Names() {
			if seen[name] {
				t.Fatalf("two parameters are called %s", name)
			}
			seen[name] = true
		}
		checkGradient(t, p, 9)
	})
}

// TestAlgebra checks identities that hold for every kernel: sums and products
// commute, and a signal variance scales.
func TestAlgebra(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	x, y := []float64{0.3, -1.2}, []float64{1.1, 0.4}
	for range 20 {
		a, b := math.Exp(rng.NormFloat64()), math.Exp(rng.NormFloat64())
		s, u := math.Exp(rng.NormFloat64()), math.Exp(rng.NormFloat64())
		sum1 := Eval(mustCompile(t, "rbf + matern32", 2), []float64{a, s, b, u}, x, y)
		sum2 := Eval(mustCompile(t, "matern32 + rbf", 2), []float64{b, u, a, s}, x, y)
		if math.Abs(sum1-sum2) > relTol*sum1 {
			t.Errorf("k1 + k2 = %v, k2 + k1 = %v", sum1, sum2)
		}
		prod1 := Eval(mustCompile(t, "rbf*matern32", 2), []float64{a, b, s}, x, y)
		prod2 := Eval(mustCompile(t, "matern32*rbf", 2), []float64{b, a, s}, x, y)
		if math.Abs(prod1-prod2) > relTol*prod1 {
			t.Errorf("k1·k2 = %v, k2·k1 = %v", prod1, prod2)
		}
		// (s₁k₁ + s₂k₂)·k₃ distributes.
		left := Eval(mustCompile(t, "(rbf + matern32)*matern12", 2), []float64{a, s, b, u, 2}, x, y)
		right := Eval(mustCompile(t, "rbf*matern12 + matern32*matern12", 2), []float64{a, 2, s, b, 2, u}, x, y)
		if math.Abs(left-right) > relTol*left {
			t.Errorf("(k1 + k2)·k3 = %v, k1·k3 + k2·k3 = %v", left, right)
		}
	}
}

func TestParameterNames(t *testing.T) {
	cases := map[string]string{
		"rbf":                 "lengthscale signal_variance",
		"rbf(ard)":            "lengthscale[0] lengthscale[1] lengthscale[2] signal_variance",
		"rbf(ard, dims=[1])":  "lengthscale[1] signal_variance",
		"rbf*matern12":        "k1.lengthscale k2.lengthscale signal_variance",
		"rbf + rbf*matern12":  "k1.lengthscale k1.signal_variance k2.k1.lengthscale k2.k2.lengthscale k2.signal_variance",
		"rbf*(rbf+matern12)":  "k1.lengthscale k2.k1.lengthscale k2.k1.signal_variance k2.k2.lengthscale k2.k2.signal_variance",
		"(rbf+rbf)*(rbf+rbf)": "k1.k1.lengthscale k1.k1.signal_variance k1.k2.lengthscale k1.k2.signal_variance k2.k1.lengthscale k2.k2.lengthscale k2.k2.signal_variance",
	}
	for text, want := range cases {
		if got := strings.Join(mustCompile(t, text, 3).Names(), " "); got != want {
			t.Errorf("%s: parameters %s, want %s", text, got, want)
		}
	}
}

// TestLabels: columns that were left out of a table keep the others' numbers.
func TestLabels(t *testing.T) {
	e, _ := Parse("rbf(ard) + matern12(dims=5)")
	p, err := Compile(e, []int{0, 2, 5})
	if err != nil {
		t.Fatal(err)
	}
	want := "k1.lengthscale[0] k1.lengthscale[2] k1.lengthscale[5] k1.signal_variance k2.lengthscale k2.signal_variance"
	if got := strings.Join(p.Names(), " "); got != want {
		t.Errorf("parameters %s, want %s", got, want)
	}
	if d := p.Params[2].Dims; len(d) != 1 || d[0] != 2 {
		t.Errorf("dims=5 is position %v, want [2]", d)
	}
	if _, err := Compile(&Leaf{Family: families[0], Dims: []int{1}}, []int{0, 2, 5}); err == nil {
		t.Error("dims=1 accepted though column 1 was left out")
	}
}

func TestSharedFeatures(t *testing.T) {
	if p := mustCompile(t, "rbf + matern32*matern12 + rbf(dims=0)", 2); len(p.Features) != 2 {
		t.Errorf("%d features, want 2: isotropic leaves on the same columns share one", len(p.Features))
	}
}

func TestStartValues(t *testing.T) {
	p := mustCompile(t, "rbf(ard, lengthscale=[1, 2], signal_variance=3) + matern12(ard, lengthscale=4)", 2)
	for i, want := range [][]float64{{1, 2}, {3}, {4, 4}, nil} {
		got := p.Params[i].Start
		if len(got) != len(want) {
			t.Fatalf("%s: start %v, want %v", p.Params[i].Name, got, want)
		}
		for j := range want {
			if got[j] != want[j] {
				t.Errorf("%s: start %v, want %v", p.Params[i].Name, got, want)
			}
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
		{"rbf(dims=-1)", "column numbers", 9},
		{"rbf(dims=[1, 1])", "given twice", 13},
		{"rbf(lengthscale=0)", "positive number", 16},
		{"rbf(length=1)", "no argument", 4},
		{"rbf matern12", "expected '+'", 4},
		{"(rbf", "found the end", 4},
		{"rbf)", "expected '+'", 3},
		{strings.Repeat("(", 200) + "rbf", "nested", 101},
	}
	for _, c := range parse {
		_, err := Parse(c.text)
		pe, ok := err.(*ParseError)
		if !ok {
			t.Errorf("%q: error %v, want a ParseError", c.text, err)
			continue
		}
		if pe.Pos != c.pos || !strings.Contains(pe.Msg, c.msg) {
			t.Errorf("%q: error at %d: %s; want %q at %d", c.text, pe.Pos, pe.Msg, c.msg, c.pos)
		}
		if !strings.HasSuffix(pe.Error(), "^") {
			t.Errorf("%q: no mark below the fault: %s", c.text, pe.Error())
		}
	}
	for _, text := range []string{
		"rbf(dims=7)", "rbf(ard, lengthscale=[1, 2])", "rbf(signal_variance=1)*rbf(signal_variance=2)",
		"rbf(signal_variance=1)*(rbf + rbf)",
	} {
		e, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Compile(e, Columns(3)); err == nil {
			t.Errorf("%s compiled", text)
		}
	}
	p := mustCompile(t, "rbf", 1)
	for _, theta := range [][]float64{{1}, {1, 0}, {math.NaN(), 1}, {math.Inf(1), 1}, {-1, 1}} {
		if p.CheckTheta(theta) == nil {
			t.Errorf("θ = %v accepted", theta)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"rbf", "rbf(ard)*matern12 + (rbf(lengthscale=[1, 2e3], dims=[0, 1]))", "((rbf))", "rbf(", "rbf(dims=", "é"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		e, err := Parse(text)
		if err != nil {
			_ = err.Error()
			return
		}
		again, err := Parse(e.String())
		if err != nil || again.String() != e.String() {
			t.Fatalf("%q prints as %q, which reads back as %v, %v", text, e, again, err)
		}
		if p, err := Compile(e, Columns(3)); err == nil && len(p.Names()) != p.NumParams {
			t.Fatalf("%q: %d names for %d parameters", text, len(p.Names()), p.NumParams)
		}
	})
}

func TestDiagonal(t *testing.T) {
	p := mustCompile(t, "rbf + matern32*matern12", 2)
	theta := []float64{1, 2, 1, 1, 3}
	e := NewEvaluator(p)
	e.Bind(theta)
	got := make([]float64, 3)
	e.Diagonal(got, randomPoints(rand.New(rand.NewPCG(5, 5)), 8, 2), 5, 8)
	for _, v := range got {
		if v != 5 {
			t.Errorf("k(x, x) = %v, want 5", v)
		}
	}
}

package kernel

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"gorgonia.org/gorgonia"
	"pgregory.net/rapid"

	"gpfit/internal/testcheck"
	"gpfit/kernel/oplist"
	"gpfit/kernel/symbolic"
)

var evaluatorCases = []string{
	"rbf", "rbf(ard)", "matern12", "matern12(ard)", "matern32(ard, dims=[2, 0])", "matern52", "rbf*matern32",
	"rbf(ard)*(matern12 + matern52(ard)) + rbf(dims=1)",
	"rq", "rq(ard)", "periodic", "periodic(ard)", "linear", "linear(ard)", "poly(3)", "poly(2, ard)", "cosine", "cosine(ard)", "constant",
	"rbf*periodic + rq + linear", "linear(ard)*(cosine + poly(1)) + constant*rq",
}

// eachEvaluator calls check for evaluatorCases over three columns, with random parameters and points.
func eachEvaluator(t *testing.T, seed uint64, n int, check func(rng *rand.Rand, e *Evaluator, x *Points)) {
	rng := rand.New(rand.NewPCG(seed, 1))
	x := randomPoints(rng, n, 3)
	for _, text := range evaluatorCases {
		p := mustCompile(t, text, 3)
		check(rng, bound(p, randomTheta(rng, p)), x)
	}
}

// TestRowsAgainstPairs checks that a value depends, to the last bit, neither on the
// position of its pair in a row nor on the order of the points.
func TestRowsAgainstPairs(t *testing.T) {
	const n = 150
	eachEvaluator(t, 21, n, func(rng *rand.Rand, e *Evaluator, x *Points) {
		all, part := make([]float64, n), make([]float64, n)
		for i := range 5 {
			e.Row(all, x, i, x, 0, n)
			for j0 := range 40 {
				j1 := j0 + rng.IntN(n-j0)
				e.Row(part, x, i, x, j0, j1)
				for j := j0; j < j1; j++ {
					if part[j-j0] != all[j] {
						t.Fatalf("%s: k(x%d, x%d) is %v in a row from %d to %d, %v in the whole", e.prog.Text, i, j, part[j-j0], j0, j1, all[j])
					}
				}
			}
			for j := range all {
				if e.Row(part, x, j, x, i, i+1); part[0] != all[j] {
					t.Fatalf("%s: k(x%d, x%d) = %v, the other way round %v", e.prog.Text, i, j, all[j], part[0])
				}
			}
		}
	})
}

// TestGradientOfRows checks that the gradient over a row is the sum of the
// gradients of its pairs, for every length.
func TestGradientOfRows(t *testing.T) {
	const n = 90
	eachEvaluator(t, 22, n, func(rng *rand.Rand, e *Evaluator, x *Points) {
		p, adj := e.prog, randomPoints(rng, n, 1).X
		for m := range n {
			got, want, size := make([]float64, p.NumParams), make([]float64, p.NumParams), 0.0
			e.RowGradient(got, adj, x, 7, x, 0, m)
			for j := range m {
				e.RowGradient(want, adj[j:], x, 7, x, j, j+1)
				size += math.Abs(adj[j]) * 20
			}
			testcheck.Near(t, "gradient of "+p.Text+" over "+strconv.Itoa(m)+" pairs", got, want, 0, relTol*size)
		}
	})
}

// TestDiagonalOfRows checks that the diagonal has the bits of rows at equal points.
func TestDiagonalOfRows(t *testing.T) {
	const n = 20
	eachEvaluator(t, 25, n, func(_ *rand.Rand, e *Evaluator, x *Points) {
		diagonal, row := make([]float64, 11), make([]float64, n)
		e.Diagonal(diagonal, x, 4, 15)
		for i := 4; i < 15; i++ {
			if e.Row(row, x, i, x, 0, n); row[i] != diagonal[i-4] {
				t.Errorf("%s: k(x%d, x%d) is %v in its row, %v on the diagonal", e.prog.Text, i, i, row[i], diagonal[i-4])
			}
		}
	})
}

// ones returns parameters that are all 1.
func ones(p *Program) []float64 { return slices.Repeat([]float64{1}, p.NumParams) }

// TestExtremes checks that k is 0 if the distance overflows, and that NaN stays NaN.
func TestExtremes(t *testing.T) {
	for _, text := range evaluatorCases[:6] {
		p := mustCompile(t, text, 3)
		theta := ones(p)
		for _, c := range []struct{ x, want float64 }{{1e3, 0}, {1e100, 0}, {1e200, 0}, {math.NaN(), math.NaN()}} {
			got := eval(p, theta, []float64{c.x, 0, c.x}, []float64{0, 0, 0})
			if got != c.want && (got == got || c.want == c.want) {
				t.Errorf("%s: k at distance %v is %v, want %v", text, c.x, got, c.want)
			}
		}
	}
}

// TestNoAllocation checks that nothing is allocated after the first row.
func TestNoAllocation(t *testing.T) {
	row, input := make([]float64, 60), make([]float64, 3)
	eachEvaluator(t, 23, 60, func(_ *rand.Rand, e *Evaluator, x *Points) {
		grad := make([]float64, e.prog.NumParams)
		if n := testing.AllocsPerRun(10, func() {
			e.Row(row, x, 1, x, 0, 60)
			e.RowGradient(grad, row, x, 1, x, 0, 60)
			e.RowInputGradient(input, row, x, 1, x, 0, 60)
			e.Diagonal(row, x, 0, 60)
		}); n != 0 {
			t.Errorf("%s: %v allocations a row", e.prog.Text, n)
		}
	})
}

// eval returns k(x, y) for two single points.
func eval(prog *Program, theta, x, y []float64) float64 {
	e := bound(prog, theta)
	out := []float64{math.NaN()}
	e.Row(out, NewPoints(x, 1, prog.D), 0, NewPoints(y, 1, prog.D), 0, 1)
	return out[0]
}

// distanceFamilies are matern12 and matern32 written in terms of the distance.
var distanceFamilies = []*Family{
	{Name: "kinked", Parameters: []Parameter{lengthscale}, Function: func(p *Pair) *Node {
		return p.Exp(p.Neg(p.Distance("lengthscale")))
	}},
	{Name: "smooth", Parameters: []Parameter{lengthscale}, Function: func(p *Pair) *Node {
		t := p.Scale(math.Sqrt(3), p.Distance("lengthscale"))
		return p.Mul(p.Add(p.Number(1), t), p.Exp(p.Neg(t)))
	}},
}

// withFamilies compiles a text that names families of its own, over two columns.
func withFamilies(t *testing.T, text string, own ...*Family) *Program {
	t.Helper()
	return compile(t, testcheck.Get(Parser{Families: own}.Parse(text))(t), Columns(2))
}

// TestSlopes compares prior variances of derivatives with second differences of the covariance.
func TestSlopes(t *testing.T) {
	const d, h = 3, 3e-4
	rng := rand.New(rand.NewPCG(31, 1))
	for _, text := range []string{
		"rbf", "rbf(ard)", "matern52(ard)", "rq", "periodic", "periodic(ard)", "linear(ard)", "poly(3)", "cosine(ard)", "constant",
		"matern52*linear", "rbf*cosine + poly(2, ard)*periodic", "linear*linear*rq(ard)",
	} {
		p := mustCompile(t, text, d)
		theta, x := randomTheta(rng, p), randomPoints(rng, 1, d).X
		got := slopeVariance(t, p, theta, x)
		for c := range d {
			at := func(u, v float64) float64 {
				a, b := append([]float64(nil), x...), append([]float64(nil), x...)
				a[c] += u
				b[c] += v
				return eval(p, theta, a, b)
			}
			mixed := func(h float64) float64 { return (at(h, h) - at(h, -h) - at(-h, h) + at(-h, -h)) / (4 * h * h) }
			// Four terms of size k have errors of 1e-16 over h²; the truncation error is h⁴.
			want := (4*mixed(h) - mixed(2*h)) / 3
			if math.Abs(got[c]-want) > 1e-6*(math.Abs(want)+math.Abs(at(0, 0))*10) {
				t.Errorf("%s, column %d: variance of the derivative %v, second difference %v", text, c, got[c], want)
			}
		}
	}
}

func slopeVariance(t *testing.T, p *Program, theta, x []float64) []float64 {
	t.Helper()
	s := testcheck.Get(NewSlopes(p, theta))(t)
	out := make([]float64, p.D)
	testcheck.Do(t, s.Variance(out, x))
	return out
}

// TestSlopesOfDistances checks that a function written in terms of the distance has
// the limit of its derivative, and that a function with a kink there is rejected.
func TestSlopesOfDistances(t *testing.T) {
	rng := rand.New(rand.NewPCG(32, 1))
	for _, other := range []string{"", "*rbf", " + periodic"} {
		want := mustCompile(t, "matern32(ard)"+other, 2)
		p := withFamilies(t, "smooth(ard)"+other, distanceFamilies...)
		theta, x := randomTheta(rng, p), randomPoints(rng, 1, 2).X
		got, exact := slopeVariance(t, p, theta, x), slopeVariance(t, want, theta, x)
		testcheck.Near(t, "variances of "+p.Text, got, exact, 1e-8, 0)
	}
	for _, text := range []string{"matern12", "matern12*linear", "kinked", "rbf + kinked"} {
		p := withFamilies(t, text, distanceFamilies...)
		s, err := NewSlopes(p, randomTheta(rng, p))
		if err == nil {
			err = s.Variance(make([]float64, 2), []float64{0.3, 0.4})
		}
		if !errors.As(err, new(*CompileError)) {
			t.Errorf("%s: error %v", text, err)
		}
	}
}

// TestSlopesOfFunctions checks second derivatives of erf and sinc at equal points by their closed forms.
func TestSlopesOfFunctions(t *testing.T) {
	at := 0.7
	for text, want := range map[string]float64{
		"formula(sinc(3*r))":            3,
		"formula(sinc(3*(x - y)))":      3,
		"formula(sinc(x)*sinc(y))":      math.Pow((math.Cos(at)-math.Sin(at)/at)/at, 2),
		"formula(erf(2*x)*erf(2*y))":    16 / math.Pi * math.Exp(-8*at*at),
		"formula(1 - erf((x - y)/2)^2)": 2 / math.Pi,
	} {
		got := slopeVariance(t, mustCompile(t, text, 1), []float64{1}, []float64{at})
		testcheck.Near(t, text, got, []float64{want}, 1e-14, 0)
	}
}

// checkRows reports the rows whose sum weighted by adj differs from a gradient. The tolerance of an
// element is relTol times the size of its terms, and of the gradient times slack.
func checkRows(t *testing.T, what string, adj, rows, want []float64, slack float64) {
	t.Helper()
	for p, w := range want {
		got, size := 0.0, slack*math.Abs(w)
		for j, a := range adj {
			got += a * rows[p*len(adj)+j]
			size += math.Abs(a * rows[p*len(adj)+j])
		}
		if !(math.Abs(got-w) <= relTol*size) {
			t.Errorf("%s %d: the row adds up to %v, gradient %v", what, p, got, w)
		}
	}
}

// TestRowSlopes checks that the weighted sum of the slopes is the gradient of a row.
func TestRowSlopes(t *testing.T) {
	const n, d = 40, 3
	eachEvaluator(t, 33, n, func(rng *rand.Rand, e *Evaluator, x *Points) {
		adj, want, slopes := randomPoints(rng, n, 1).X, make([]float64, d), make([]float64, n*d)
		e.RowInputGradient(want, adj, x, 3, x, 0, n)
		e.RowSlopes(slopes, x, 3, x, 0, n)
		checkRows(t, e.prog.Text+", column", adj, slopes, want, 0)
	})
}

// TestRowDerivatives checks that the weighted sum of the derivatives is the gradient of a row.
func TestRowDerivatives(t *testing.T) {
	const n = 40
	eachEvaluator(t, 34, n, func(rng *rand.Rand, e *Evaluator, x *Points) {
		params := e.prog.NumParams
		adj, want, rows := randomPoints(rng, n, 1).X, make([]float64, params), make([]float64, n*params)
		e.RowGradient(want, adj, x, 3, x, 0, n)
		e.RowDerivatives(rows, x, 3, x, 0, n)
		checkRows(t, e.prog.Text+", parameter", adj, rows, want, 1)
	})
}

// TestOperations checks that every operation on rows agrees with its definition in
// value and derivatives, even where it is limited or singular.
func TestOperations(t *testing.T) {
	one := Parameter{Name: "a"}
	for name, f := range map[string]func(p *Pair, s, a *Node) *Node{
		"decay of degree 5": func(p *Pair, s, a *Node) *Node { return p.Decay(p.Mul(a, s), 1, 1, 0.4, 0.1, 0.01, 0.001) },
		"decay with a kink": func(p *Pair, s, a *Node) *Node { return p.Decay(p.Mul(a, s), 1, 0.5, 0.2, 0.1) },
		"decay of degree 0": func(p *Pair, s, a *Node) *Node { return p.Decay(p.Mul(a, s), 2) },
		"log":               func(p *Pair, s, a *Node) *Node { return p.Log(p.Add(a, s)) },
		"sqrt":              func(p *Pair, s, a *Node) *Node { return p.Mul(a, p.Sqrt(s)) },
		"tanh":              func(p *Pair, s, a *Node) *Node { return p.Tanh(p.Mul(a, s)) },
		"sigmoid":           func(p *Pair, s, a *Node) *Node { return p.Sigmoid(p.Sub(s, a)) },
		"arcsine":           func(p *Pair, s, a *Node) *Node { return p.Arcsine(p.Div(s, p.Add(p.Number(2), p.Add(a, s)))) },
		"erf":               func(p *Pair, s, a *Node) *Node { return symbolic.Erf(p.Graph, p.Sub(s, a)) },
		"sinc":              func(p *Pair, s, a *Node) *Node { return symbolic.Sinc(p.Graph, p.Mul(p.Scale(3, a), p.Sqrt(s))) },
		"abs":               func(p *Pair, s, a *Node) *Node { return p.Abs(p.Sub(s, a)) },
		"positive":          func(p *Pair, s, a *Node) *Node { return p.PowInt(p.Positive(p.Sub(a, s)), 3) },
		"power":             func(p *Pair, s, a *Node) *Node { return p.Exp(p.Neg(p.Pow(s, a))) },
		"inverse":           func(p *Pair, s, a *Node) *Node { return p.Div(p.Number(1), p.Add(a, p.Square(s))) },
		"inverse cube":      func(p *Pair, s, a *Node) *Node { return p.PowInt(p.Add(p.Number(1), p.Mul(a, s)), -3) },
		"sine and cosine":   func(p *Pair, s, a *Node) *Node { return p.Mul(p.Sin(p.Mul(a, s)), p.Cos(p.Mul(a, s)), p.Sin(s)) },
		"number":            func(p *Pair, s, a *Node) *Node { return p.Mul(a, a) },
		"sum with offset":   func(p *Pair, s, a *Node) *Node { return p.Exp(p.Neg(p.Add(a, s, p.Sqrt(s), p.Mul(s, s)))) },
	} {
		family := &Family{Name: "own", Parameters: []Parameter{one, lengthscale}, Function: func(p *Pair) *Node {
			return f(p, p.SquaredDistance("lengthscale"), p.Parameter("a"))
		}}
		for _, text := range []string{"own", "own(ard)"} {
			checkOperations(t, name, text, family)
		}
	}
}

func checkOperations(t *testing.T, name, text string, family *Family) {
	t.Helper()
	const d, n = 2, 40
	p := withFamilies(t, text, family)
	rng := rand.New(rand.NewPCG(5, 1))
	x := randomPoints(rng, n, d)
	theta, row := []float64{0.9, 1.2, 1.5, 1.1}[:p.NumParams], make([]float64, n)
	e := bound(p, theta)
	e.Row(row, x, 0, x, 0, n)
	g, adj := p.Gradient(), make([]float64, n)
	for j := range n {
		s := 0.0
		for q := range d {
			f := &p.Features[0]
			term := x.X[q*n] - x.X[q*n+j]
			if f.Param >= 0 {
				term /= theta[f.Param+q]
			}
			s += term * term
		}
		want := p.List.Evaluate(theta, []float64{s}, p.Value)[0]
		if math.Abs(row[j]-want) > 1e-13*(1+math.Abs(want)) {
			t.Errorf("%s, %s: k at %v is %v, want %v", name, text, s, row[j], want)
		}
		// With a single pair, the sums are the values.
		clear(adj)
		adj[j] = 1
		e.RowGradient(make([]float64, p.NumParams), adj, x, 0, x, 0, n)
		for i, v := range g.Sums {
			if v == oplist.None {
				continue
			}
			want := g.List.Evaluate(theta, []float64{s}, v)[0]
			if got := e.gradient.sums[i]; math.Abs(got-want) > 1e-12*(1+math.Abs(want)) {
				t.Errorf("%s, %s: sum %d at %v is %v, want %v", name, text, i, s, got, want)
			}
		}
	}
}

// tolTape bounds the difference between a compiled kernel and its graph on Gorgonia's machine,
// relative to the sum of the magnitudes of value and derivative, and of what cancels in them ([tape.cancelled]).
const tolTape = 1e-13

// tape is a program's graph for Gorgonia's machine, and its operations.
type tape struct {
	prog  *Program
	f     *symbolic.Function
	nodes *symbolic.Expression
}

func newTape(t testcheck.Test, prog *Program) tape {
	f := testcheck.Get(prog.graph.Compile(prog.root, true, len(prog.Features), prog.NumParams))(t)
	return tape{prog, f, prog.graph.Differentiated()}
}

// check compares the two at given features and parameters.
func (c tape) check(t interface {
	testcheck.Test
	testcheck.Reporter
}, features, theta []float64) {
	symbolic.Building.Lock()
	defer symbolic.Building.Unlock()
	for _, n := range c.nodes.Inputs {
		x := 0.0
		if i, ok := c.nodes.Feature(n); ok {
			x = features[i]
		} else if i, ok := c.nodes.Parameter(n); ok {
			x = theta[i]
		}
		testcheck.Do(t, gorgonia.Let(n, x))
	}
	vm := gorgonia.NewTapeMachine(c.nodes.Value.Graph())
	defer vm.Close()
	testcheck.Do(t, vm.RunAll())
	number := func(n *Node) float64 {
		if n == nil {
			return 0
		}
		return n.Value().Data().(float64)
	}
	value := number(c.nodes.Value)
	compare := func(what string, want float64, id oplist.ID) {
		got := c.f.List.Evaluate(theta, features, id)[0]
		if !(math.Abs(got-want) <= tolTape*(math.Abs(value)+math.Abs(want)+c.cancelled(theta, features, id))) {
			t.Errorf("%s at features %v, parameters %v: %s %v, by Gorgonia's machine %v", c.prog.Text, features, theta, what, got, want)
		}
	}
	compare("k", value, c.f.Value)
	for i, n := range c.nodes.ByFeature {
		compare("∂k/∂ "+c.prog.FeatureName(i, strconv.Itoa), number(n), c.f.ByFeature[i])
	}
	for i, n := range c.nodes.ByParameter {
		compare("∂k/∂ log "+c.prog.Names()[i], theta[i]*number(n), c.f.ByParameter[i])
	}
}

// cancelled returns the largest change of a value, for a relative change of one, of 16 in which each parameter
// and feature changes by itself. Rounding does the same to each summand, so that its error has this size even
// where large summands leave a small value, such as matern12 and cosine in their product with others.
func (c tape) cancelled(theta, features []float64, id oplist.ID) (largest float64) {
	const change = 1. / (1 << 30)
	rng := rand.New(rand.NewPCG(1, 2))
	other := func(values []float64) []float64 {
		out := slices.Clone(values)
		for i := range out {
			out[i] *= 1 + change*float64(2*rng.IntN(2)-1)
		}
		return out
	}
	value := c.f.List.Evaluate(theta, features, id)[0]
	for range 16 {
		moved := c.f.List.Evaluate(other(theta), other(features), id)[0]
		largest = max(largest, math.Abs(moved-value)/change)
	}
	return largest
}

// randomFeatures draws features with their signs, and inner products smaller than the norms.
func randomFeatures(rng *rand.Rand, p *Program) []float64 {
	out := make([]float64, len(p.Features))
	for i := range out {
		out[i] = rng.NormFloat64()
		if p.Features[i].Kind.sign().NotNegative() {
			out[i] *= out[i]
		}
		switch p.Features[i].Kind {
		case InnerProduct:
			out[i] = math.Tanh(out[i])
		case FirstNorm, SecondNorm:
			out[i]++
		}
	}
	return out
}

// TestAgainstTapeMachine checks that Gorgonia's own machine computes the same from
// the graph as the translated and simplified list of operations.
func TestAgainstTapeMachine(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	texts := []string{"rbf(ard) + matern32*periodic(dims=0) + linear", "(rbf + matern12(dims=1))*rq", "poly(5)*cosine + constant", "matern52*matern52(ard)*matern32", "additive(matern52, ard)*rbf + additive(rq)"}
	for _, name := range Families() {
		texts = append(texts, name, name+"(ard)")
	}
	for _, text := range texts {
		c := newTape(t, mustCompile(t, text, 3))
		for range 5 {
			c.check(t, randomFeatures(rng, c.prog), randomTheta(rng, c.prog))
		}
		c.check(t, make([]float64, len(c.prog.Features)), randomTheta(rng, c.prog))
	}
}

// TestRandomAgainstTapeMachine does the same with random sums and products.
func TestRandomAgainstTapeMachine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 5))
		c := newTape(t, compile(t, expressions(3, 2).Draw(t, "expr"), Columns(3)))
		c.check(t, randomFeatures(rng, c.prog), randomTheta(rng, c.prog))
	})
}

package symbolic

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"gpfit/internal/testcheck"
	"gpfit/kernel/oplist"
)

// tolDerivative bounds a central difference of the fourth order, relative to the sum of the
// magnitudes of value and derivative, if the differences of two steps agree.
const tolDerivative = 1e-6

// point holds features and parameters.
type point struct{ features, theta []float64 }

func (p point) moved(feature bool, index int, h float64) point {
	q := point{append([]float64(nil), p.features...), append([]float64(nil), p.theta...)}
	if feature {
		q.features[index] += h
	} else {
		q.theta[index] *= math.Exp(h)
	}
	return q
}

// term is a node with its function in plain arithmetic.
type term struct {
	node *Node
	at   func(point) float64
	// uniform marks a term without features.
	uniform bool
}

// pool is a graph with terms; at is the point at which they must be well conditioned.
type pool struct {
	t     *rapid.T
	graph *Graph
	at    point
	terms []term
}

const (
	features, parameters = 3, 2
	// smallest and largest bound the values of operands.
	smallest, largest = 1e-2, 1e2
)

func newPool(t *rapid.T) *pool {
	p := &pool{t: t, graph: NewGraph()}
	for i := range features {
		x, sign := rapid.Float64Range(0.1, 2).Draw(t, "feature"), oplist.AtLeast0
		if i == features-1 {
			x, sign = x-1, oplist.Unknown
		}
		p.at.features = append(p.at.features, x)
		p.terms = append(p.terms, term{p.graph.Feature(i, "feature", sign), func(x point) float64 { return x.features[i] }, false})
	}
	for i := range parameters {
		p.at.theta = append(p.at.theta, rapid.Float64Range(0.3, 2).Draw(t, "parameter"))
		p.terms = append(p.terms, term{p.graph.Parameter(i, "parameter"), func(x point) float64 { return x.theta[i] }, true})
	}
	for range 2 {
		x := rapid.SampledFrom([]float64{-2, -0.5, 0.5, 1, 3}).Draw(t, "number")
		p.terms = append(p.terms, term{p.graph.Number(x), func(point) float64 { return x }, true})
	}
	return p
}

// operand draws a term that is allowed for its value.
func (p *pool) operand(allowed func(x float64, u term) bool) (term, bool) {
	var some []term
	for _, u := range p.terms {
		if x := u.at(p.at); math.Abs(x) > smallest && math.Abs(x) < largest && allowed(x, u) {
			some = append(some, u)
		}
	}
	if some == nil {
		return term{}, false
	}
	return some[rapid.IntRange(0, len(some)-1).Draw(p.t, "operand")], true
}

func anyValue(float64, term) bool     { return true }
func positive(x float64, _ term) bool { return x > 0 }
func within(size float64) func(float64, term) bool {
	return func(x float64, _ term) bool { return math.Abs(x) < size }
}

// unaries are the methods of one node.
var unaries = []struct {
	allowed func(float64, term) bool
	node    func(g *Graph, a *Node) *Node
	f       func(a float64) float64
}{
	{anyValue, (*Graph).Neg, func(a float64) float64 { return -a }},
	{anyValue, (*Graph).Square, func(a float64) float64 { return a * a }},
	{within(4), (*Graph).Exp, math.Exp},
	{positive, (*Graph).Log, math.Log},
	{positive, (*Graph).Log1p, math.Log1p},
	{anyValue, (*Graph).Tanh, math.Tanh},
	{within(10), (*Graph).Sigmoid, func(a float64) float64 { return 1 / (1 + math.Exp(-a)) }},
	{positive, (*Graph).Sqrt, math.Sqrt},
	{within(10), (*Graph).Sin, math.Sin},
	{within(10), (*Graph).Cos, math.Cos},
	{within(2), (*Graph).SineOfTurns, func(a float64) float64 { return math.Sin(2 * math.Pi * a) }},
	{within(2), (*Graph).CosineOfTurns, func(a float64) float64 { return math.Cos(2 * math.Pi * a) }},
	{within(0.9), (*Graph).Arcsine, math.Asin},
	{within(5), Erf, math.Erf},
	{within(20), Sinc, func(a float64) float64 { return math.Sin(a) / a }},
	{anyValue, (*Graph).Abs, math.Abs},
	{anyValue, (*Graph).Positive, func(a float64) float64 { return max(a, 0) }},
	{anyValue, func(g *Graph, a *Node) *Node { return g.Scale(-1.5, a) }, func(a float64) float64 { return -1.5 * a }},
	{anyValue, func(g *Graph, a *Node) *Node { return g.PowInt(a, 3) }, func(a float64) float64 { return a * a * a }},
	{anyValue, func(g *Graph, a *Node) *Node { return g.PowInt(a, -2) }, func(a float64) float64 { return 1 / (a * a) }},
	{positive, func(g *Graph, a *Node) *Node { return g.Decay(a, 1, 1, -0.25) },
		func(a float64) float64 { t := math.Sqrt(a); return (1 + t - a/4) * math.Exp(-t) }},
}

// binaries are the methods of two nodes.
var binaries = []struct {
	first, second func(float64, term) bool
	node          func(g *Graph, a, b *Node) *Node
	f             func(a, b float64) float64
}{
	{anyValue, anyValue, func(g *Graph, a, b *Node) *Node { return g.Add(a, b) }, func(a, b float64) float64 { return a + b }},
	{anyValue, anyValue, func(g *Graph, a, b *Node) *Node { return g.Mul(a, b) }, func(a, b float64) float64 { return a * b }},
	{anyValue, anyValue, (*Graph).Sub, func(a, b float64) float64 { return a - b }},
	{anyValue, anyValue, (*Graph).Div, func(a, b float64) float64 { return a / b }},
	{positive, func(x float64, u term) bool { return u.uniform && math.Abs(x) < 3 }, (*Graph).Pow, math.Pow},
}

func (p *pool) grow() {
	if rapid.Bool().Draw(p.t, "two operands") {
		o := binaries[rapid.IntRange(0, len(binaries)-1).Draw(p.t, "op")]
		a, found := p.operand(o.first)
		if b, both := p.operand(o.second); found && both {
			p.terms = append(p.terms, term{o.node(p.graph, a.node, b.node), func(x point) float64 { return o.f(a.at(x), b.at(x)) }, a.uniform && b.uniform})
		}
		return
	}
	o := unaries[rapid.IntRange(0, len(unaries)-1).Draw(p.t, "function")]
	if a, ok := p.operand(o.allowed); ok {
		p.terms = append(p.terms, term{o.node(p.graph, a.node), func(x point) float64 { return o.f(a.at(x)) }, a.uniform})
	}
}

// difference is a central difference of the fourth order; ok says that half the step agrees.
func difference(f func(h float64) float64) (d float64, ok bool) {
	at := func(h float64) float64 { return (8*(f(h)-f(-h)) - (f(2*h) - f(-2*h))) / (12 * h) }
	d, other := at(1e-3), at(5e-4)
	return d, math.Abs(d-other) <= 1e-8*(1+math.Abs(d))
}

// TestRandom compiles random expressions out of all ops, and compares value and
// derivatives with plain arithmetic and central differences.
func TestRandom(t *testing.T) {
	expressions, compared := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		expressions++
		Building.Lock()
		defer Building.Unlock()
		p := newPool(t)
		for range rapid.IntRange(1, 12).Draw(t, "ops") {
			p.grow()
		}
		root := p.terms[len(p.terms)-1]
		f := testcheck.Get(p.graph.Compile(root.node, true, features, parameters))(t)
		want := root.at(p.at)
		if !(math.Abs(want) < largest*largest) {
			t.Skip("not well conditioned")
		}
		got := f.List.Evaluate(p.at.theta, p.at.features, f.Value)[0]
		if !(math.Abs(got-want) <= 1e-9*(1+math.Abs(want))) {
			t.Fatalf("value %v, by plain arithmetic %v", got, want)
		}
		for i, d := range append(append([]oplist.ID(nil), f.ByFeature...), f.ByParameter...) {
			byFeature, index := i < features, i%features
			want, ok := difference(func(h float64) float64 { return root.at(p.at.moved(byFeature, index, h)) })
			if !ok {
				continue
			}
			compared++
			if got := f.List.Evaluate(p.at.theta, p.at.features, d)[0]; !(math.Abs(got-want) <= tolDerivative*(1+math.Abs(want))) {
				t.Fatalf("derivative by feature (%v) %d: %v, central difference %v", byFeature, index, got, want)
			}
		}
	})
	if compared < expressions { // on average about ten for each
		t.Errorf("%d derivatives of %d expressions compared", compared, expressions)
	}
}

// TestSecondDerivatives checks that a graph can be differentiated only once, and
// that its value is available before and after.
func TestSecondDerivatives(t *testing.T) {
	g := NewGraph()
	k := g.Exp(g.Scale(-0.5, g.Feature(0, "s", oplist.AtLeast0)))
	for _, derivatives := range []bool{false, true, false} {
		testcheck.Get(g.Compile(k, derivatives, 1, 0))(t)
	}
	if _, err := g.Compile(k, true, 1, 0); err == nil {
		t.Error("derivatives of a graph that was differentiated")
	}
	if e := g.Differentiated(); e.Value != k || len(e.ByFeature) != 1 || e.ByFeature[0] == nil {
		t.Errorf("kept %+v", e)
	}
}

// TestAtDistance0 checks that derivatives by a squared distance of 0 are finite.
func TestAtDistance0(t *testing.T) {
	for name, c := range map[string]struct {
		write func(g *Graph, s *Node) *Node
		want  float64
	}{
		"root":               {func(g *Graph, s *Node) *Node { return g.Sqrt(s) }, 0},
		"exp(−r)":            {func(g *Graph, s *Node) *Node { return g.Exp(g.Neg(g.Sqrt(s))) }, 0},
		"matern32":           {func(g *Graph, s *Node) *Node { return g.Decay(g.Scale(3, s), 1, 1) }, -1.5},
		"matern52":           {func(g *Graph, s *Node) *Node { return g.Decay(g.Scale(5, s), 1, 1, 1.0/3) }, -5.0 / 6},
		"square of the root": {func(g *Graph, s *Node) *Node { return g.Mul(g.Sqrt(s), g.Sqrt(s)) }, 1},
		"rq":                 {func(g *Graph, s *Node) *Node { return g.Exp(g.Scale(-2, g.Log1p(g.Scale(0.25, s)))) }, -0.5},
		"power":              {func(g *Graph, s *Node) *Node { return g.Pow(s, g.Number(2)) }, 0},
	} {
		g := NewGraph()
		f := testcheck.Get(g.Compile(c.write(g, g.Feature(0, "s", oplist.AtLeast0)), true, 1, 0))(t)
		if got := f.List.Evaluate(nil, []float64{0}, f.ByFeature[0])[0]; !(math.Abs(got-c.want) <= 1e-15) {
			t.Errorf("%s: derivative %v at 0, want %v", name, got, c.want)
		}
	}
}

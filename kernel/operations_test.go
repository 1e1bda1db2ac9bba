package kernel

import (
	"math"
	"math/rand/v2"
	"testing"

	"gpfit/internal/code"
	"gpfit/internal/must"
)

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
	expr := must.Get(Parser{Families: []*Family{family}}.Parse(text))(t)
	const d, n = 2, 40
	p := must.Get(Compile(expr, Columns(d)))(t)
	rng := rand.New(rand.NewPCG(5, 1))
	x := randomPoints(rng, n, d)
	theta, row, e := []float64{0.9, 1.2, 1.5, 1.1}[:p.NumParams], make([]float64, n), NewEvaluator(p)
	e.Bind(theta)
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
			if v == code.None {
				continue
			}
			want := g.List.Evaluate(theta, []float64{s}, v)[0]
			if got := e.gradient.sums[i]; math.Abs(got-want) > 1e-12*(1+math.Abs(want)) {
				t.Errorf("%s, %s: sum %d at %v is %v, want %v", name, text, i, s, got, want)
			}
		}
	}
}

package pair

import (
	"errors"
	"fmt"
	"strconv"
	"sync"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"gpfit/internal/code"
)

// Building serialises the building of graphs, because Gorgonia keeps global state.
var Building sync.Mutex

// Node is a Gorgonia node for a scalar of a pair.
type Node = gorgonia.Node

// Graph is a covariance function of a pair of points under construction. Its
// methods make nodes and keep the first error, which [Graph.Err] returns. They also
// accept nodes made by Gorgonia's own functions.
type Graph struct {
	graph *gorgonia.ExprGraph
	// inputs identifies features, parameters and constants; known finds them.
	inputs map[*Node]input
	known  map[input]*Node
	// derived is the differentiated expression, or nil.
	derived *Expression
	err     error
}

// input is what an input node stands for.
type input struct {
	op    code.Op
	index int
	sign  code.Sign
	value float64
}

// NewGraph returns an empty graph.
func NewGraph() *Graph {
	return &Graph{graph: gorgonia.NewGraph(), inputs: map[*Node]input{}, known: map[input]*Node{}}
}

// Err returns the first error of a method.
func (g *Graph) Err() error { return g.err }

// Fail keeps an error.
func (g *Graph) Fail(format string, args ...any) {
	if g.err == nil {
		g.err = fmt.Errorf(format, args...)
	}
}

// Feature returns the input node of the feature with the given index. name is for
// drawings, and sign is what is known about its values.
func (g *Graph) Feature(index int, name string, sign code.Sign) *Node {
	return g.input(name, input{op: code.Feature, index: index, sign: sign})
}

// Parameter returns the input node of θ[index].
func (g *Graph) Parameter(index int, name string) *Node {
	return g.input(name, input{op: code.Parameter, index: index})
}

// Number returns a constant as an input node, because Gorgonia merges its own
// constants if they print alike.
func (g *Graph) Number(x float64) *Node {
	return g.input(strconv.FormatFloat(x, 'g', -1, 64), input{op: code.Number, value: x})
}

func (g *Graph) input(name string, in input) *Node {
	if n := g.known[in]; n != nil {
		return n
	}
	if in.op != code.Number {
		name = fmt.Sprintf("%s#%d.%d", name, in.op, in.index) // make the name unique
	}
	n := gorgonia.NewScalar(g.graph, tensor.Float64, gorgonia.WithName(name), gorgonia.WithValue(in.value))
	g.inputs[n], g.known[in] = in, n
	return n
}

// keep returns a result of a Gorgonia call and keeps its error.
func (g *Graph) keep(n *Node, err error) *Node {
	if err != nil {
		g.Fail("kernel: %w", err)
		return g.Number(0)
	}
	return n
}

func (g *Graph) fold(f func(a, b *Node) (*Node, error), nodes []*Node) *Node {
	out := nodes[0]
	for _, n := range nodes[1:] {
		out = g.keep(f(out, n))
	}
	return out
}

// Add returns the sum of one or more nodes.
func (g *Graph) Add(nodes ...*Node) *Node { return g.fold(gorgonia.Add, nodes) }

// Mul returns the product of one or more nodes.
func (g *Graph) Mul(nodes ...*Node) *Node { return g.fold(gorgonia.Mul, nodes) }

// Sub returns a − b.
func (g *Graph) Sub(a, b *Node) *Node { return g.keep(gorgonia.Sub(a, b)) }

// Div returns a/b.
func (g *Graph) Div(a, b *Node) *Node { return g.keep(gorgonia.Div(a, b)) }

// Scale returns x·a.
func (g *Graph) Scale(x float64, a *Node) *Node { return g.Mul(g.Number(x), a) }

// Neg returns −a.
func (g *Graph) Neg(a *Node) *Node { return g.keep(gorgonia.Neg(a)) }

// Square returns a².
func (g *Graph) Square(a *Node) *Node { return g.keep(gorgonia.Square(a)) }

// Exp returns e^a.
func (g *Graph) Exp(a *Node) *Node { return g.keep(gorgonia.Exp(a)) }

// Log returns log a.
func (g *Graph) Log(a *Node) *Node { return g.keep(gorgonia.Log(a)) }

// Log1p returns log(1 + a) for a ≥ 0, exact for small a.
func (g *Graph) Log1p(a *Node) *Node { return g.keep(gorgonia.Log1p(a)) }

// Tanh returns tanh a.
func (g *Graph) Tanh(a *Node) *Node { return g.keep(gorgonia.Tanh(a)) }

// Sigmoid returns 1/(1 + e^−a), as ½ + ½ tanh(a/2).
func (g *Graph) Sigmoid(a *Node) *Node {
	return g.Add(g.Number(0.5), g.Scale(0.5, g.Tanh(g.Scale(0.5, a))))
}

// Sqrt returns √a. Its derivative at a = 0 is 0, so that by the chain rule every
// distance has the mean of both one-sided derivatives there.
func (g *Graph) Sqrt(a *Node) *Node { return g.apply(function{op: code.Sqrt}, a) }

// Sin returns sin a, a in radians.
func (g *Graph) Sin(a *Node) *Node { return g.SineOfTurns(g.Mul(g.Number(1/twoPi), a)) }

// Cos returns cos a, a in radians.
func (g *Graph) Cos(a *Node) *Node { return g.CosineOfTurns(g.Mul(g.Number(1/twoPi), a)) }

// SineOfTurns returns sin 2πa, accurate for every size of a.
func (g *Graph) SineOfTurns(a *Node) *Node { return g.apply(function{op: code.Sine}, a) }

// CosineOfTurns returns cos 2πa.
func (g *Graph) CosineOfTurns(a *Node) *Node { return g.apply(function{op: code.Cosine}, a) }

// Arcsine returns arcsin a for |a| < 1.
func (g *Graph) Arcsine(a *Node) *Node { return g.apply(function{op: code.Arcsine}, a) }

// Abs returns |a|; its derivative at 0 is 0.
func (g *Graph) Abs(a *Node) *Node { return g.apply(function{op: code.Abs}, a) }

// Positive returns max(a, 0); its derivative at 0 is 0.
func (g *Graph) Positive(a *Node) *Node { return g.apply(function{op: code.Positive}, a) }

// PowInt returns a^power by multiplications.
func (g *Graph) PowInt(a *Node, power int) *Node {
	return g.apply(function{op: code.Product, power: power}, a)
}

// Pow returns a^b for a ≥ 0 and an exponent b that does not depend on features.
func (g *Graph) Pow(a, b *Node) *Node { return g.apply(function{op: code.Power}, a, b) }

// Decay returns (Σ_k poly[k]·t^k)·e^−t with t = √a: a covariance function of the
// Matérn class if a is a multiple of the squared distance.
func (g *Graph) Decay(a *Node, poly ...float64) *Node {
	return g.apply(function{op: code.Decay, poly: append([]float64{0}, poly...)}, a)
}

func (g *Graph) apply(f function, nodes ...*Node) *Node {
	f.graph = g
	return g.keep(gorgonia.ApplyOp(f, nodes...))
}

// Function is a compiled expression: the operations for its value and derivatives.
type Function struct {
	List *code.List
	// Value is the expression.
	Value code.ID
	// ByFeature are the derivatives by the features, ByParameter those by the logs
	// of the parameters; None means 0. Both are empty if no derivatives were
	// requested.
	ByFeature, ByParameter []code.ID
}

// Compile translates an expression, and on request its derivatives, to operations.
// features and parameters are the numbers of features and parameters. A graph can
// be differentiated only once, because Gorgonia's derivatives of a graph that
// already has derivatives are wrong.
func (g *Graph) Compile(root *Node, derivatives bool, features, parameters int) (*Function, error) {
	if g.err != nil {
		return nil, g.err
	}
	t := translation{graph: g, list: &code.List{}, known: map[*Node]code.ID{}}
	f := &Function{List: t.list, Value: t.value(root)}
	if !derivatives {
		return f, t.err
	}
	e, err := g.differentiate(root, features, parameters)
	if err != nil {
		return nil, err
	}
	f.ByFeature, f.ByParameter = none(features), none(parameters)
	for _, n := range e.Inputs {
		in := g.inputs[n]
		if in.op == code.Feature {
			f.ByFeature[in.index] = t.derivative(e.ByFeature[in.index])
		} else if d := t.derivative(e.ByParameter[in.index]); d != code.None {
			f.ByParameter[in.index] = t.list.Mul(d, t.value(n))
		}
	}
	return f, errors.Join(g.err, t.err)
}

func none(n int) []code.ID {
	out := make([]code.ID, n)
	for i := range out {
		out[i] = code.None
	}
	return out
}

// reached returns the features and parameters that an expression depends on, and
// all its nodes, with operands first.
func (g *Graph) reached(roots ...*Node) (wrt, all gorgonia.Nodes) {
	seen := map[*Node]bool{}
	var visit func(n *Node)
	visit = func(n *Node) {
		if n == nil || seen[n] {
			return
		}
		seen[n] = true
		if in, ok := g.inputs[n]; ok && in.op != code.Number {
			wrt = append(wrt, n)
		}
		for _, c := range g.operands(n) {
			visit(c)
		}
		all = append(all, n)
	}
	for _, n := range roots {
		visit(n)
	}
	return wrt, all
}

func (g *Graph) operands(n *Node) []*Node {
	var out []*Node
	for it := g.graph.From(n.ID()); it != nil && it.Next(); {
		if c, ok := it.Node().(*Node); ok {
			out = append(out, c)
		}
	}
	return out
}

package symbolic

import (
	"errors"
	"fmt"
	"strings"

	"gorgonia.org/gorgonia"

	"gpfit/internal/each"
	"gpfit/kernel/oplist"
)

// translation translates nodes to operations.
type translation struct {
	graph *Graph
	list  *oplist.List
	known map[*Node]oplist.ID
	err   error
}

func (t *translation) value(root *Node) oplist.ID {
	if v, ok := t.known[root]; ok {
		return v
	}
	_, all := t.graph.reached(root)
	for _, n := range all {
		if _, ok := t.known[n]; !ok {
			t.known[n] = t.node(n)
		}
	}
	return t.known[root]
}

// derivative returns None for the number 0.
func (t *translation) derivative(n *Node) oplist.ID {
	d := t.value(n)
	if x := t.list.At(d); x.Op == oplist.Number && x.Number == 0 {
		return oplist.None
	}
	return d
}

func (t *translation) node(n *Node) oplist.ID {
	l := t.list
	if in, ok := t.graph.of[n]; ok {
		switch in.op {
		case oplist.Feature:
			return l.Feat(in.index, in.sign)
		case oplist.Parameter:
			if in.real {
				return l.RealParam(in.index)
			}
			return l.Param(in.index)
		}
		return l.Num(in.value)
	}
	args := each.Of(t.graph.operands(n), func(c *Node) oplist.ID { return t.known[c] })
	if f, ok := n.Op().(function); ok {
		return f.code(l, args[0], args[len(args)-1])
	}
	if n.Op() != nil && len(args) > 0 {
		if v := t.builtIn(n, args); v != oplist.None {
			return v
		}
	}
	if v := n.Value(); v != nil && len(args) == 0 {
		if x, ok := v.Data().(float64); ok {
			return l.Num(x)
		}
	}
	if t.err == nil {
		t.err = fmt.Errorf("kernel: a covariance function cannot contain the op %v", n.Op())
	}
	return l.Num(0)
}

// builtIn translates the Gorgonia ops whose derivatives were verified.
func (t *translation) builtIn(n *Node, args []oplist.ID) oplist.ID {
	l, a, b := t.list, args[0], args[len(args)-1]
	name := opName(n.Op())
	binary := map[string]func(*oplist.List, oplist.ID, oplist.ID) oplist.ID{
		"+": (*oplist.List).Add, "-": (*oplist.List).Sub, "⊙": (*oplist.List).Mul, "÷": (*oplist.List).Div, "^": (*oplist.List).Pow,
	}[name]
	switch {
	case len(args) == 2 && binary != nil:
		return binary(l, a, b)
	case len(args) != 1:
		return oplist.None
	}
	if op, ok := unary[name]; ok {
		return l.Apply(op, a)
	}
	if power, ok := powers[name]; ok {
		return l.PowInt(a, power)
	}
	switch name {
	case "neg":
		return l.Neg(a)
	case "expm1":
		return l.Sub(l.Apply(oplist.Exp, a), l.Num(1))
	case "sin":
		return l.Apply(oplist.Sine, l.Mul(l.Num(1/twoPi), a))
	case "cos":
		return l.Apply(oplist.Cosine, l.Mul(l.Num(1/twoPi), a))
	case "sign":
		return l.Sub(l.Apply(oplist.Step, a), l.Apply(oplist.Step, l.Neg(a)))
	case "softplus": // Gorgonia's form of log1p(exp(a)), with derivative sigmoid
		return l.Add(l.Apply(oplist.Positive, a), l.Apply(oplist.Log1p, l.Apply(oplist.Exp, l.Neg(l.Apply(oplist.Abs, a)))))
	case "sigmoid":
		half := l.Num(0.5)
		return l.Add(half, l.Mul(half, l.Apply(oplist.Tanh, l.Mul(half, a))))
	}
	return oplist.None
}

// unary and powers are the ops of Gorgonia that one operation replaces.
var (
	unary = map[string]oplist.Op{
		"exp": oplist.Exp, "ln": oplist.Log, "log1p": oplist.Log1p, "sqrt": oplist.Sqrt, "tanh": oplist.Tanh, "abs": oplist.Abs,
	}
	powers = map[string]int{"square": 2, "cube": 3, "inv": -1}
)

// Function is a compiled expression: the operations for its value and derivatives.
type Function struct {
	List *oplist.List
	// Value is the expression.
	Value oplist.ID
	// ByFeature are the derivatives by the features, ByParameter the derivatives by the logs
	// of the parameters, and by real parameters themselves; None means 0. Both are empty if no derivatives were requested.
	ByFeature, ByParameter []oplist.ID
}

// Compile translates an expression, and on request its derivatives, to operations. features and
// parameters are the numbers of features and parameters. A graph can be differentiated only once,
// because Gorgonia's derivatives of a graph that already has derivatives are wrong. Compile takes derivatives
// that two graphs agree on.
func (g *Graph) Compile(root *Node, derivatives bool, features, parameters int) (*Function, error) {
	f, err := g.compile(root, derivatives, features, parameters)
	if err != nil || !derivatives {
		return f, err
	}
	return confirmed(f, features, parameters)
}

func (g *Graph) compile(root *Node, derivatives bool, features, parameters int) (*Function, error) {
	if g.err != nil {
		return nil, g.err
	}
	t := translation{graph: g, list: &oplist.List{}, known: map[*Node]oplist.ID{}}
	f := &Function{List: t.list, Value: t.value(root)}
	if !derivatives {
		return f, t.err
	}
	e, err := differentiate(g, root, features, parameters)
	if err != nil {
		return nil, err
	}
	f.ByFeature, f.ByParameter = none(features), none(parameters)
	for _, n := range e.Inputs {
		in := g.of[n]
		if in.op == oplist.Feature {
			f.ByFeature[in.index] = t.derivative(e.ByFeature[in.index])
		} else if d := t.derivative(e.ByParameter[in.index]); d != oplist.None {
			if !in.real {
				d = t.list.Mul(d, t.value(n))
			}
			f.ByParameter[in.index] = d
		}
	}
	return f, errors.Join(g.err, t.err)
}

func none(n int) []oplist.ID {
	out := make([]oplist.ID, n)
	for i := range out {
		out[i] = oplist.None
	}
	return out
}

// Symbol returns the sign or word for an op in a drawing. The op can come from
// Gorgonia or from this package.
func Symbol(op gorgonia.Op) string {
	if f, ok := op.(function); ok {
		return f.String()
	}
	text := op.String()
	name := opName(op)
	if s, ok := symbols[name]; ok {
		return s
	}
	switch {
	case strings.HasPrefix(text, "Σ"):
		return "Σ"
	case strings.HasPrefix(text, "Repeat"):
		return "repeat"
	case strings.HasPrefix(text, "Reshape"):
		return "reshape"
	case strings.HasPrefix(text, "T["):
		return element(text)
	case strings.Contains(text, " × ") || strings.Contains(text, " ⋅ "):
		return text // of matrices and vectors
	}
	return name
}

// element returns the text for an op that slices, T[from:to:step...], or that adds to a slice.
func element(text string) string {
	from, _, _ := strings.Cut(strings.TrimPrefix(text, "T["), ":")
	if strings.Contains(text, "+=") {
		return "put at element " + from
	}
	return "element " + from
}

var symbols = map[string]string{
	"-": "−", "⊙": "×", "neg": "negate", "ln": "log", "square": "^ 2", "cube": "^ 3", "inv": "1 ÷", "sqrt": "√", "invSqrt": "1/√",
}

// opName returns the name of an op in package gorgonia.
func opName(op gorgonia.Op) string {
	name, _, _ := strings.Cut(op.String(), " ")
	return name
}

// Raise translates a value of a list to an expression in a new graph. It makes
// second derivatives possible, because Gorgonia differentiates a graph only once.
func Raise(list *oplist.List, root oplist.ID) (*Graph, *Node) { return raiseAs(list, root, 0) }

// raiseAs is Raise with hashes of its nodes that depend on salt.
func raiseAs(list *oplist.List, root oplist.ID, salt int) (*Graph, *Node) {
	g := NewGraph()
	g.salt = salt
	need, nodes := list.Needed(root), make([]*Node, len(list.Values))
	for id := range list.Values {
		if need[id] {
			nodes[id] = raised(g, &list.Values[id], nodes)
		}
	}
	return g, nodes[root]
}

func raised(g *Graph, v *oplist.Value, nodes []*Node) *Node {
	switch v.Op {
	case oplist.Number:
		return g.Number(v.Number)
	case oplist.Parameter:
		if v.Real {
			return g.RealParameter(v.Index, "θ")
		}
		return g.Parameter(v.Index, "θ")
	case oplist.Feature:
		return g.Feature(v.Index, "feature", v.Sign)
	case oplist.Sum:
		sum := g.Number(0)
		if v.Offset != oplist.None {
			sum = nodes[v.Offset]
		}
		for i, a := range v.Args {
			sum = g.Add(sum, g.Mul(nodes[v.Coef[i]], nodes[a]))
		}
		return sum
	case oplist.Product:
		product := g.Number(1)
		if v.Uniform {
			product = g.Number(v.Number)
		}
		for i, a := range v.Args {
			product = g.Mul(product, g.PowInt(nodes[a], v.Powers[i]))
		}
		return product
	}
	a := nodes[v.Args[0]]
	switch v.Op {
	case oplist.Exp:
		return g.Exp(a)
	case oplist.Log:
		return g.Log(a)
	case oplist.Log1p:
		return g.Log1p(a)
	case oplist.Tanh:
		return g.Tanh(a)
	case oplist.Power:
		return g.Pow(a, nodes[v.Coef[0]])
	}
	return applied(g, function{op: v.Op, poly: v.Poly, power: v.Index}, a)
}

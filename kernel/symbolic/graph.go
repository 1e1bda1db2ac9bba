package symbolic

import (
	"errors"
	"fmt"
	"hash"
	"hash/fnv"
	"math"
	"strconv"
	"sync"

	"github.com/chewxy/hm"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"gpfit/kernel/oplist"
)

// Building serializes the building of graphs, because Gorgonia keeps global state.
var Building sync.Mutex

// Node is a Gorgonia node for a scalar of a pair.
type Node = gorgonia.Node

// Graph is a covariance function of a pair of points under construction. Its methods make nodes and
// keep the first error, which Err returns. They also accept nodes made by Gorgonia's own functions.
type Graph struct {
	inputs
	// derived is the differentiated expression, or nil.
	derived *Expression
}

// inputs are the nodes that a graph begins with.
type inputs struct {
	graph *gorgonia.ExprGraph
	// of identifies features, parameters and constants; known finds them.
	of    map[*Node]input
	known map[input]*Node
	// salt is in the names of inputs, so that the hashes of nodes depend on it.
	salt int
	err  error
}

// input is the meaning of an input node.
type input struct {
	op    oplist.Op
	index int
	sign  oplist.Sign
	value float64
	real  bool // a parameter of either sign
}

// NewGraph returns an empty graph.
func NewGraph() *Graph {
	return &Graph{inputs: inputs{graph: gorgonia.NewGraph(), of: map[*Node]input{}, known: map[input]*Node{}}}
}

// Err returns the first error of a method.
func (g *inputs) Err() error { return g.err }

// Fail keeps an error.
func (g *inputs) Fail(format string, args ...any) {
	if g.err == nil {
		g.err = fmt.Errorf(format, args...)
	}
}

// Feature returns the input node of the feature with the given index. name is for
// drawings, and sign is the known sign of its values.
func (g *inputs) Feature(index int, name string, sign oplist.Sign) *Node {
	return g.input(name, input{op: oplist.Feature, index: index, sign: sign})
}

// Parameter returns the input node of θ[index].
func (g *inputs) Parameter(index int, name string) *Node {
	return g.input(name, input{op: oplist.Parameter, index: index})
}

// RealParameter returns the input node of θ[index], which may have either sign. Derivatives by it
// are by θ[index] itself, not by its logarithm.
func (g *inputs) RealParameter(index int, name string) *Node {
	return g.input(name, input{op: oplist.Parameter, index: index, real: true})
}

// Number returns a constant as an input node, because Gorgonia merges its own
// constants if they print alike.
func (g *inputs) Number(x float64) *Node {
	return g.input(strconv.FormatFloat(x, 'g', -1, 64), input{op: oplist.Number, value: x})
}

func (g *inputs) input(name string, in input) *Node {
	if n := g.known[in]; n != nil {
		return n
	}
	if in.op != oplist.Number {
		name = fmt.Sprintf("%s#%d.%d", name, in.op, in.index) // make the name unique
	}
	if g.salt > 0 {
		name = fmt.Sprintf("%s salt %d", name, g.salt)
	}
	n := gorgonia.NewScalar(g.graph, tensor.Float64, gorgonia.WithName(name), gorgonia.WithValue(in.value))
	g.of[n], g.known[in] = in, n
	return n
}

// keep returns a result of a Gorgonia call and keeps its error.
func (g *inputs) keep(n *Node, err error) *Node {
	if err != nil {
		g.Fail("%w", err)
		return g.Number(0)
	}
	return n
}

func fold(g *Graph, f func(a, b *Node) (*Node, error), nodes []*Node) *Node {
	out := nodes[0]
	for _, n := range nodes[1:] {
		out = g.keep(f(out, n))
	}
	return out
}

// Add returns the sum of one or more nodes.
func (g *Graph) Add(nodes ...*Node) *Node { return fold(g, gorgonia.Add, nodes) }

// Mul returns the product of one or more nodes.
func (g *Graph) Mul(nodes ...*Node) *Node { return fold(g, gorgonia.Mul, nodes) }

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
func (g *Graph) Sqrt(a *Node) *Node { return applied(g, function{op: oplist.Sqrt}, a) }

// Sin returns sin a, a in radians.
func (g *Graph) Sin(a *Node) *Node { return g.SineOfTurns(g.Mul(g.Number(1/twoPi), a)) }

// Cos returns cos a, a in radians.
func (g *Graph) Cos(a *Node) *Node { return g.CosineOfTurns(g.Mul(g.Number(1/twoPi), a)) }

// SineOfTurns returns sin 2πa, accurate for every size of a.
func (g *Graph) SineOfTurns(a *Node) *Node { return applied(g, function{op: oplist.Sine}, a) }

// CosineOfTurns returns cos 2πa.
func (g *Graph) CosineOfTurns(a *Node) *Node { return applied(g, function{op: oplist.Cosine}, a) }

// Arcsine returns arcsin a for |a| < 1.
func (g *Graph) Arcsine(a *Node) *Node { return applied(g, function{op: oplist.Arcsine}, a) }

// Erf returns the error function of a.
func Erf(g *Graph, a *Node) *Node { return applied(g, function{op: oplist.Erf}, a) }

// Sinc returns sin(a)/a, a in radians, and 1 at 0.
func Sinc(g *Graph, a *Node) *Node { return applied(g, function{op: oplist.Sinc}, a) }

// Abs returns |a|; its derivative at 0 is 0.
func (g *Graph) Abs(a *Node) *Node { return applied(g, function{op: oplist.Abs}, a) }

// Positive returns max(a, 0); its derivative at 0 is 0.
func (g *Graph) Positive(a *Node) *Node { return applied(g, function{op: oplist.Positive}, a) }

// PowInt returns a^power by multiplications.
func (g *Graph) PowInt(a *Node, power int) *Node {
	return applied(g, function{op: oplist.Product, power: power}, a)
}

// Pow returns a^b for a ≥ 0 and an exponent b that does not depend on features.
func (g *Graph) Pow(a, b *Node) *Node { return applied(g, function{op: oplist.Power}, a, b) }

// Decay returns (Σ_k poly[k]·t^k)·e^−t with t = √a: a covariance function of the
// Matérn class if a is a multiple of the squared distance.
func (g *Graph) Decay(a *Node, poly ...float64) *Node {
	return applied(g, function{op: oplist.Decay, poly: append([]float64{0}, poly...)}, a)
}

func applied(g *Graph, f function, nodes ...*Node) *Node {
	f.graph = g
	return g.keep(gorgonia.ApplyOp(f, nodes...))
}

// reached returns the features and parameters that an expression depends on, and
// all its nodes, with operands first.
func (g *inputs) reached(roots ...*Node) (wrt, all gorgonia.Nodes) {
	seen := map[*Node]bool{}
	var visit func(n *Node)
	visit = func(n *Node) {
		if n == nil || seen[n] {
			return
		}
		seen[n] = true
		if in, ok := g.of[n]; ok && in.op != oplist.Number {
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

func (g *inputs) operands(n *Node) []*Node {
	var out []*Node
	for it := g.graph.From(n.ID()); it != nil && it.Next(); {
		if c, ok := it.Node().(*Node); ok {
			out = append(out, c)
		}
	}
	return out
}

// Expression is a covariance function with its derivatives, as nodes.
type Expression struct {
	// Value is k(x, x′).
	Value *Node
	// ByFeature and ByParameter are its derivatives by features and parameters, nil
	// where it does not depend on them.
	ByFeature, ByParameter []*Node
	// Inputs are the features and parameters that it depends on.
	Inputs []*Node
	graph  *inputs
}

// Differentiated returns the expression that [Graph.Compile] differentiated, or nil
// before that call.
func (g *Graph) Differentiated() *Expression { return g.derived }

// differentiate takes the derivatives by all inputs.
func differentiate(g *Graph, root *Node, features, parameters int) (*Expression, error) {
	if g.derived != nil {
		return nil, errors.New("kernel: a graph can be differentiated only once")
	}
	wrt, _ := g.reached(root)
	e := &Expression{Value: root, ByFeature: make([]*Node, features), ByParameter: make([]*Node, parameters), Inputs: wrt, graph: &g.inputs}
	g.derived = e
	if len(wrt) == 0 {
		return e, nil
	}
	nodes, err := gorgonia.Grad(root, wrt...)
	if err != nil {
		return nil, fmt.Errorf("kernel: differentiating: %w", errors.Join(g.err, err))
	}
	for i, n := range wrt {
		if in := g.of[n]; in.op == oplist.Feature {
			e.ByFeature[in.index] = nodes[i]
		} else {
			e.ByParameter[in.index] = nodes[i]
		}
	}
	return e, nil
}

// Nodes returns the nodes of the value and the nodes that only derivatives need. In
// both lists, operands precede the nodes that use them.
func (e *Expression) Nodes() (value, derivatives []*Node) {
	_, value = e.graph.reached(e.Value)
	roots := append(append([]*Node{e.Value}, e.ByFeature...), e.ByParameter...)
	_, all := e.graph.reached(roots...)
	return value, all[len(value):]
}

// Operands returns the nodes that n is computed from.
func (e *Expression) Operands(n *Node) []*Node { return e.graph.operands(n) }

// Feature returns the index of the feature that n stands for, if it is a feature.
func (e *Expression) Feature(n *Node) (index int, ok bool) {
	in, ok := e.graph.of[n]
	return in.index, ok && in.op == oplist.Feature
}

// Parameter returns the index in θ of the parameter that n stands for, if it is one.
func (e *Expression) Parameter(n *Node) (index int, ok bool) {
	in, ok := e.graph.of[n]
	return in.index, ok && in.op == oplist.Parameter
}

// Number returns the value of n if it is a constant.
func (e *Expression) Number(n *Node) (float64, bool) {
	if in, ok := e.graph.of[n]; ok {
		return in.value, in.op == oplist.Number
	}
	return Constant(n)
}

// Constant returns the value of n if it is a Gorgonia constant.
func Constant(n *Node) (float64, bool) {
	if n.Op() == nil || n.Op().Arity() != 0 || n.Value() == nil {
		return 0, false
	}
	x, ok := n.Value().Data().(float64)
	return x, ok
}

const twoPi = 2 * math.Pi

// function is an op on scalars for an operation of package oplist that Gorgonia
// lacks, or whose Gorgonia derivative is wrong or singular at distance 0.
type function struct {
	graph *Graph
	op    oplist.Op
	// power is the exponent of oplist.Product and the order of oplist.Sinc; poly holds the coefficients of
	// oplist.Decay, starting with t^−1.
	power int
	poly  []float64
}

var _ gorgonia.SDOp = function{}

// String returns the op as a drawing shows it.
func (f function) String() string {
	switch f.op {
	case oplist.Product:
		return fmt.Sprintf("^ %d", f.power)
	case oplist.Decay:
		return polynomial(f.poly) + " exp(−t), t = √"
	}
	if f.op == oplist.Sinc && f.power > 0 {
		return fmt.Sprintf("j%d(t)/t^%d", f.power, f.power)
	}
	return names[f.op]
}

var names = map[oplist.Op]string{
	oplist.Sqrt: "√", oplist.RootInverse: "1/√ or 0", oplist.LogOrZero: "log or 0", oplist.Sine: "sin 2π", oplist.Cosine: "cos 2π",
	oplist.Arcsine: "arcsin", oplist.Erf: "erf", oplist.Sinc: "sinc", oplist.Abs: "abs", oplist.Positive: "positive part", oplist.Step: "step", oplist.Power: "^",
}

// Arity returns 2 for powers and 1 for all others.
func (f function) Arity() int {
	if f.op == oplist.Power {
		return 2
	}
	return 1
}

// Type returns a new type each time, because Gorgonia returns it to a pool.
func (f function) Type() hm.Type {
	if f.op == oplist.Power {
		return hm.NewFnType(tensor.Float64, tensor.Float64, tensor.Float64)
	}
	return hm.NewFnType(tensor.Float64, tensor.Float64)
}

func (function) InferShape(...gorgonia.DimSizer) (tensor.Shape, error) {
	return tensor.ScalarShape(), nil
}

func (function) ReturnsPtr() bool { return false }

func (function) CallsExtern() bool { return false }

func (function) OverwritesInput() int { return -1 }

func (f function) WriteHash(h hash.Hash) {
	fmt.Fprintf(h, "gpfit pair %d %d %x", f.op, f.power, f.poly)
}

func (f function) Hashcode() uint32 {
	h := fnv.New32a()
	f.WriteHash(h)
	return h.Sum32()
}

// Do computes the function.
func (f function) Do(inputs ...gorgonia.Value) (gorgonia.Value, error) {
	a := make([]float64, len(inputs))
	for i, v := range inputs {
		x, ok := v.Data().(float64)
		if !ok {
			return nil, fmt.Errorf("kernel: %v of %T", f, v.Data())
		}
		a[i] = x
	}
	l := &oplist.List{}
	// Use a feature, which may be negative; a parameter may not.
	root := f.code(l, l.Feat(0, oplist.Unknown), l.Param(1))
	return gorgonia.NewF64(l.Evaluate(append(a, 0), a, root)[0]), nil
}

// code appends the function to a list as an operation; b is the exponent of a power.
func (f function) code(l *oplist.List, a, b oplist.ID) oplist.ID {
	switch f.op {
	case oplist.Product:
		return l.PowInt(a, f.power)
	case oplist.Power:
		return l.Pow(a, b)
	case oplist.Decay:
		return l.Decay(a, f.poly)
	case oplist.Sinc:
		return l.SincAt(a, f.power)
	}
	return l.Apply(f.op, a)
}

// DiffWRT returns true for all inputs; a step also counts as differentiable, with derivative 0.
func (f function) DiffWRT(inputs int) []bool {
	out := make([]bool, inputs)
	for i := range out {
		out[i] = true
	}
	return out
}

// SymDiff returns the derivatives times the adjoint of the result.
func (f function) SymDiff(inputs gorgonia.Nodes, output, adjoint *Node) (gorgonia.Nodes, error) {
	g, a := f.graph, inputs[0]
	var d *Node
	switch f.op {
	case oplist.Sqrt:
		d = g.Scale(0.5, applied(g, function{op: oplist.RootInverse}, a))
	case oplist.RootInverse:
		d = g.Scale(-0.5, g.PowInt(output, 3))
	case oplist.Sine:
		d = g.Scale(twoPi, g.CosineOfTurns(a))
	case oplist.Cosine:
		d = g.Scale(-twoPi, g.SineOfTurns(a))
	case oplist.Arcsine:
		d = applied(g, function{op: oplist.RootInverse}, g.Sub(g.Number(1), g.Square(a)))
	case oplist.Erf:
		d = g.Scale(2/math.SqrtPi, g.Exp(g.Neg(g.Square(a))))
	case oplist.Sinc:
		d = g.Neg(g.Mul(a, applied(g, function{op: oplist.Sinc, power: f.power + 1}, a)))
	case oplist.Abs:
		d = g.Sub(applied(g, function{op: oplist.Step}, a), applied(g, function{op: oplist.Step}, g.Neg(a)))
	case oplist.Positive:
		d = applied(g, function{op: oplist.Step}, a)
	case oplist.Step:
		d = g.Number(0)
	case oplist.LogOrZero:
		d = g.PowInt(a, -1)
	case oplist.Product:
		d = g.Scale(float64(f.power), g.PowInt(a, f.power-1))
	case oplist.Power:
		return f.powerDiff(inputs, output, adjoint)
	case oplist.Decay:
		if f.poly[0] == 0 {
			d = applied(g, function{op: oplist.Decay, poly: decaySlope(f.poly)}, a)
		}
	}
	if d == nil {
		return nil, errNotTwice
	}
	return gorgonia.Nodes{g.Mul(adjoint, d)}, g.err
}

// errNotTwice reports a function with a kink at distance 0.
var errNotTwice = errors.New("the function has no second derivative at distance 0")

// powerDiff returns ∂a^b/∂a = b·a^b/a and ∂a^b/∂b = a^b log a. At a = 0 both count as 0, the first
// through 1/√a; for distances this is the mean of both one-sided derivatives.
func (f function) powerDiff(inputs gorgonia.Nodes, output, adjoint *Node) (gorgonia.Nodes, error) {
	g, a, b := f.graph, inputs[0], inputs[1]
	inverse := g.Square(applied(g, function{op: oplist.RootInverse}, a))
	byBase := g.Mul(b, output, inverse)
	byExponent := g.Mul(output, applied(g, function{op: oplist.LogOrZero}, a))
	return gorgonia.Nodes{g.Mul(adjoint, byBase), g.Mul(adjoint, byExponent)}, g.err
}

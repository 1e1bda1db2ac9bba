package pair

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"gorgonia.org/gorgonia"

	"gpfit/internal/code"
)

// Expression is a covariance function with its derivatives, as nodes.
type Expression struct {
	// Value is k(x, x′).
	Value *Node
	// ByFeature and ByParameter are its derivatives by features and parameters, nil
	// for those that it does not depend on.
	ByFeature, ByParameter []*Node
	// Inputs are the features and parameters that it depends on.
	Inputs []*Node
	graph  *Graph
}

// Differentiated returns the expression that [Graph.Compile] differentiated, or nil
// before that call.
func (g *Graph) Differentiated() *Expression { return g.derived }

// differentiate takes the derivatives by all inputs.
func (g *Graph) differentiate(root *Node, features, parameters int) (*Expression, error) {
	if g.derived != nil {
		return nil, errors.New("kernel: a graph can be differentiated only once")
	}
	wrt, _ := g.reached(root)
	e := &Expression{Value: root, ByFeature: make([]*Node, features), ByParameter: make([]*Node, parameters), Inputs: wrt, graph: g}
	g.derived = e
	if len(wrt) == 0 {
		return e, nil
	}
	nodes, err := gorgonia.Grad(root, wrt...)
	if err != nil {
		return nil, fmt.Errorf("kernel: differentiating: %w", errors.Join(g.err, err))
	}
	for i, n := range wrt {
		if in := g.inputs[n]; in.op == code.Feature {
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
	in, ok := e.graph.inputs[n]
	return in.index, ok && in.op == code.Feature
}

// Parameter returns the index in θ of the parameter that n stands for, if it is
// one.
func (e *Expression) Parameter(n *Node) (index int, ok bool) {
	in, ok := e.graph.inputs[n]
	return in.index, ok && in.op == code.Parameter
}

// Number returns the value of n if it is a constant.
func (e *Expression) Number(n *Node) (float64, bool) {
	if in, ok := e.graph.inputs[n]; ok {
		return in.value, in.op == code.Number
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

// element returns the text for an op that slices, T[from:to:step...], or that adds
// to a slice.
func element(text string) string {
	from, _, _ := strings.Cut(strings.TrimPrefix(text, "T["), ":")
	if strings.Contains(text, "+=") {
		return "put at element " + from
	}
	return "element " + from
}

// opName returns the name of an op in package gorgonia.
func opName(op gorgonia.Op) string {
	name, _, _ := strings.Cut(op.String(), " ")
	return name
}

var symbols = map[string]string{
	"-": "−", "⊙": "×", "neg": "negate", "ln": "log", "square": "^ 2", "cube": "^ 3", "inv": "1 ÷", "sqrt": "√", "invSqrt": "1/√",
}

// polynomial prints Σ_k poly[k]·t^(k−1), in parentheses if it has several terms.
func polynomial(poly []float64) string {
	powers := []string{"/t", "", "t", "t²", "t³", "t⁴", "t⁵", "t⁶", "t⁷", "t⁸", "t⁹"}
	var terms []string
	for k, c := range poly {
		if c == 0 {
			continue
		}
		power := "t^" + strconv.Itoa(k-1)
		if k < len(powers) {
			power = powers[k]
		}
		term := strconv.FormatFloat(math.Abs(c), 'g', 4, 64)
		if term == "1" && k > 1 {
			term = ""
		}
		sign := "+ "
		switch {
		case c < 0 && len(terms) == 0:
			sign = "-"
		case c < 0:
			sign = "− "
		case len(terms) == 0:
			sign = ""
		}
		terms = append(terms, sign+term+power)
	}
	if len(terms) == 1 {
		return terms[0]
	}
	return "(" + strings.Join(terms, " ") + ")"
}

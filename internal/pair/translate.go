package pair

import (
	"fmt"

	"gpfit/internal/code"
)

// translation translates nodes to operations.
type translation struct {
	graph *Graph
	list  *code.List
	known map[*Node]code.ID
	err   error
}

func (t *translation) value(root *Node) code.ID {
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
func (t *translation) derivative(n *Node) code.ID {
	d := t.value(n)
	if x := t.list.At(d); x.Op == code.Number && x.Number == 0 {
		return code.None
	}
	return d
}

func (t *translation) node(n *Node) code.ID {
	l := t.list
	if in, ok := t.graph.inputs[n]; ok {
		switch in.op {
		case code.Feature:
			return l.Feat(in.index, in.sign)
		case code.Parameter:
			return l.Param(in.index)
		}
		return l.Num(in.value)
	}
	var args []code.ID
	for _, c := range t.graph.operands(n) {
		args = append(args, t.known[c])
	}
	if f, ok := n.Op().(function); ok {
		return f.code(l, args[0], args[len(args)-1])
	}
	if n.Op() != nil && len(args) > 0 {
		if v := t.builtIn(n, args); v != code.None {
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
func (t *translation) builtIn(n *Node, args []code.ID) code.ID {
	l, a, b := t.list, args[0], args[len(args)-1]
	name := opName(n.Op())
	switch {
	case len(args) == 2 && name == "+":
		return l.Add(a, b)
	case len(args) == 2 && name == "-":
		return l.Sub(a, b)
	case len(args) == 2 && name == "⊙":
		return l.Mul(a, b)
	case len(args) == 2 && name == "÷":
		return l.Div(a, b)
	case len(args) == 2 && name == "^":
		return l.Pow(a, b)
	case len(args) != 1:
		return code.None
	}
	switch name {
	case "neg":
		return l.Neg(a)
	case "exp":
		return l.Exp(a)
	case "expm1":
		return l.Sub(l.Exp(a), l.Num(1))
	case "ln":
		return l.Log(a)
	case "log1p":
		return l.Log1p(a)
	case "square":
		return l.PowInt(a, 2)
	case "cube":
		return l.PowInt(a, 3)
	case "inv":
		return l.PowInt(a, -1)
	case "sqrt":
		return l.Sqrt(a)
	case "sin":
		return l.Sine(l.Mul(l.Num(1/twoPi), a))
	case "cos":
		return l.Cosine(l.Mul(l.Num(1/twoPi), a))
	case "tanh":
		return l.Tanh(a)
	case "abs":
		return l.Abs(a)
	case "sign":
		return l.Sub(l.Step(a), l.Step(l.Neg(a)))
	case "softplus": // Gorgonia's form of log1p(exp(a)), with derivative sigmoid
		return l.Add(l.Positive(a), l.Log1p(l.Exp(l.Neg(l.Abs(a)))))
	case "sigmoid":
		half := l.Num(0.5)
		return l.Add(half, l.Mul(half, l.Tanh(l.Mul(half, a))))
	}
	return code.None
}

package pair

import "gpfit/internal/code"

// Raise translates a value of a list to an expression in a new graph. It makes
// second derivatives possible, because Gorgonia differentiates a graph only once.
func Raise(list *code.List, root code.ID) (*Graph, *Node) {
	g := NewGraph()
	need, nodes := list.Needed(root), make([]*Node, len(list.Values))
	for id := range list.Values {
		if need[id] {
			nodes[id] = g.raise(&list.Values[id], nodes)
		}
	}
	return g, nodes[root]
}

func (g *Graph) raise(v *code.Value, nodes []*Node) *Node {
	switch v.Op {
	case code.Number:
		return g.Number(v.Number)
	case code.Parameter:
		return g.Parameter(v.Index, "θ")
	case code.Feature:
		return g.Feature(v.Index, "feature", v.Sign)
	case code.Sum:
		sum := g.Number(0)
		if v.Offset != code.None {
			sum = nodes[v.Offset]
		}
		for i, a := range v.Args {
			sum = g.Add(sum, g.Mul(nodes[v.Coef[i]], nodes[a]))
		}
		return sum
	case code.Product:
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
	case code.Exp:
		return g.Exp(a)
	case code.Log:
		return g.Log(a)
	case code.Log1p:
		return g.Log1p(a)
	case code.Tanh:
		return g.Tanh(a)
	case code.Power:
		return g.Pow(a, nodes[v.Coef[0]])
	}
	return g.apply(function{op: v.Op, poly: v.Poly}, a)
}

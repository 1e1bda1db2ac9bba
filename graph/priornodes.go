package graph

import (
	"fmt"

	"gorgonia.org/gorgonia"
)

// NegLogPrior returns a function for [Spec].Prior that builds the sum of −log p
// from built-in nodes. The keys of priors are names of elements ("lengthscale[0]").
// They must be free parameters, because a derived parameter has no separate
// density.
func NegLogPrior(priors map[string]Prior) func(Nodes) (*gorgonia.Node, error) {
	return func(nodes Nodes) (*gorgonia.Node, error) {
		sum := &priorSum{nodes: nodes}
		used := 0
		for _, v := range nodes.vars {
			forms := make([]form, len(v.elements))
			for i, element := range v.elements {
				p, ok := priors[element]
				if !ok {
					continue
				}
				if !p.Suits(v.isLog) {
					return nil, fmt.Errorf("%s is not a prior for %s", p, element)
				}
				used++
				forms[i] = p.family().form(p.Args)
				sum.constant += forms[i].constant
			}
			sum.variable(v, forms)
		}
		if used != len(priors) {
			return nil, fmt.Errorf("%d priors, but only %d are for free parameters", len(priors), used)
		}
		sum.add(nodes.input("prior constant", []float64{sum.constant}), nil)
		return sum.total, sum.err
	}
}

// priorSum builds the sum of −log p and keeps the first error.
type priorSum struct {
	nodes    Nodes
	constant float64
	total    *gorgonia.Node
	err      error
}

func (s *priorSum) add(term *gorgonia.Node, err error) {
	switch {
	case s.err != nil:
	case err != nil:
		s.err = err
	case s.total == nil:
		s.total = term
	default:
		s.total, s.err = gorgonia.Add(s.total, term)
	}
}

// variable adds the terms of one variable, without terms that no element has.
// Coefficients are inputs, because Gorgonia merges constants that print alike.
func (s *priorSum) variable(v *variable, forms []form) {
	input := func(what string, of func(form) float64) *gorgonia.Node {
		values := make([]float64, len(forms))
		for i, f := range forms {
			values[i] = of(f)
		}
		return s.nodes.input("prior "+v.name+" "+what, values)
	}
	// weighted adds Σ cᵢ f(node)ᵢ for the coefficients c, as a product of scalars
	// or an inner product of vectors.
	weighted := func(what string, of func(form) float64, f func() (*gorgonia.Node, error)) {
		any := false
		for _, g := range forms {
			any = any || of(g) != 0
		}
		if !any || s.err != nil {
			return
		}
		node, err := f()
		if err == nil {
			node, err = gorgonia.Mul(input(what, of), node)
		}
		s.add(node, err)
	}
	z, x := v.node, v.natural
	squareFrom := func(n *gorgonia.Node, what string, of func(form) float64) func() (*gorgonia.Node, error) {
		return func() (*gorgonia.Node, error) {
			d, err := gorgonia.Sub(n, input(what, of))
			if err != nil {
				return nil, err
			}
			return gorgonia.Square(d)
		}
	}
	weighted("lz", func(f form) float64 { return f.lz }, func() (*gorgonia.Node, error) { return z, nil })
	weighted("qz", func(f form) float64 { return f.qz / 2 }, squareFrom(z, "cz", func(f form) float64 { return f.cz }))
	weighted("lx", func(f form) float64 { return f.lx }, func() (*gorgonia.Node, error) { return x, nil })
	weighted("qx", func(f form) float64 { return f.qx / 2 }, squareFrom(x, "cx", func(f form) float64 { return f.cx }))
	// d = ½(u + |u|) with u = |x − centre| − radius; the node is 4d².
	weighted("qb", func(f form) float64 { return f.qb / 8 }, func() (*gorgonia.Node, error) {
		u, err := gorgonia.Sub(x, input("centre", func(f form) float64 { return f.centre }))
		if err == nil {
			u, err = gorgonia.Abs(u)
		}
		if err == nil {
			u, err = gorgonia.Sub(u, input("radius", func(f form) float64 { return f.radius }))
		}
		if err != nil {
			return nil, err
		}
		abs, err := gorgonia.Abs(u)
		if err == nil {
			u, err = gorgonia.Add(u, abs)
		}
		if err != nil {
			return nil, err
		}
		return gorgonia.Square(u)
	})
}

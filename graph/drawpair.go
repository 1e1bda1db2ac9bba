package graph

import (
	"slices"
	"strconv"

	"gpfit/internal/pair"
	"gpfit/kernel"
)

// pairPicture holds the covariance function of a pair during drawing.
type pairPicture struct {
	*pair.Expression
	prog *kernel.Program
	ids  map[*pair.Node]string
	// theta are the parameters of the last evaluation, or nil.
	theta  []float64
	names  []string
	column func(int) string
	// by maps a derivative node to the names of the variables it is the derivative
	// by.
	by map[*pair.Node][]string
}

// pair draws k(x, x′) and its derivatives.
func (d *drawing) pair(o *Objective) {
	prog := o.solver.prog
	p := &pairPicture{Expression: prog.Expression(), prog: prog, ids: map[*pair.Node]string{}, column: o.labels.column, by: map[*pair.Node][]string{}}
	for _, name := range prog.Names() {
		p.names = append(p.names, o.labels.parameter(name))
	}
	if o.last != nil {
		p.theta = o.solver.theta
	}
	for i, n := range p.ByFeature {
		p.derivative(n, prog.FeatureName(i, p.column))
	}
	for i, n := range p.ByParameter {
		p.derivative(n, p.names[i])
	}
	value, derivatives := p.Nodes()
	d.cluster("pair", "k(x, x′) of a pair: "+o.labels.kernel(prog), func() {
		for _, n := range value {
			d.pairNode(p, n, p.valueLook(n))
		}
		for _, n := range derivatives {
			d.pairNode(p, n, derivativeLook)
		}
	})
	d.pairEdges(p, value, valueLine)
	d.pairEdges(p, derivatives, derivativeLine)
	d.value = p.ids[p.Value]
	for _, n := range slices.Concat(value, derivatives) {
		if p.by[n] != nil {
			d.derivatives = append(d.derivatives, p.ids[n])
		}
	}
}

func (p *pairPicture) derivative(n *pair.Node, by string) {
	if n != nil {
		p.by[n] = append(p.by[n], by)
	}
}

func (p *pairPicture) valueLook(n *pair.Node) look {
	if _, ok := p.Feature(n); ok {
		return dataLook
	}
	if _, ok := p.Parameter(n); ok {
		return parameterLook
	}
	if n == p.Value {
		return resultLook
	}
	return opLook
}

// pairNode draws a node. It writes constants into the nodes that use them.
func (d *drawing) pairNode(p *pairPicture, n *pair.Node, l look) {
	if _, number := p.Number(n); number && p.by[n] == nil && n != p.Value {
		return
	}
	lines := []string{p.label(n)}
	if n == p.Value {
		lines = append(lines, "k(x, x′)")
	}
	if i, ok := p.Parameter(n); ok && p.theta != nil {
		lines = append(lines, shortNumber(p.theta[i]))
	}
	for _, by := range p.by[n] {
		lines = append(lines, "∂k/∂ "+by)
		if l == derivativeLook {
			l = gradientLook
		}
	}
	p.ids[n] = "p" + strconv.Itoa(len(p.ids))
	d.node(p.ids[n], l, lines...)
}

func (p *pairPicture) label(n *pair.Node) string {
	if i, ok := p.Feature(n); ok {
		return p.prog.FeatureName(i, p.column)
	}
	if i, ok := p.Parameter(n); ok {
		return p.names[i]
	}
	if x, ok := p.Number(n); ok {
		return shortNumber(x)
	}
	var operands []string
	for _, c := range p.Operands(n) {
		text := ""
		if x, ok := p.Number(c); ok && p.ids[c] == "" {
			text = shortNumber(x)
		}
		operands = append(operands, text)
	}
	return opLabel(pair.Symbol(n.Op()), operands)
}

func (d *drawing) pairEdges(p *pairPicture, nodes []*pair.Node, l line) {
	for _, n := range nodes {
		for i, c := range p.Operands(n) {
			if p.ids[c] != "" {
				d.edge(p.ids[c], p.ids[n], operandMark(pair.Symbol(n.Op()), i), l)
			}
		}
	}
}

package graph

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"gorgonia.org/gorgonia"

	"gpfit/internal/pair"
)

// WriteDOT writes a Graphviz drawing of the objective and its derivatives: the
// graph over all points and the covariance function of a pair, with the numbers of
// the last evaluation.
func (o *Objective) WriteDOT(w io.Writer) error {
	d := &drawing{}
	d.pair(o)
	d.objective(o)
	return d.writeTo(w)
}

// objective draws the graph of nodes over all points.
func (d *drawing) objective(o *Objective) {
	p := &picture{Objective: o, ids: map[*gorgonia.Node]string{}, cost: map[*gorgonia.Node]bool{}}
	for _, s := range o.value.steps {
		p.cost[s.node] = true
	}
	d.cluster("objective", "objective", func() {
		for _, s := range o.gradient.steps {
			if _, constant := pair.Constant(s.node); constant && !slices.Contains(o.grads, s.node) {
				continue
			}
			p.ids[s.node] = "o" + strconv.Itoa(len(p.ids))
			d.node(p.ids[s.node], p.look(s), p.lines(s)...)
		}
	})
	for _, s := range o.gradient.steps {
		for i, j := range s.inputs {
			from := o.gradient.steps[j].node
			if p.ids[from] == "" {
				continue
			}
			style := valueLine
			if !p.cost[s.node] {
				style = derivativeLine
			}
			d.edge(p.ids[from], p.ids[s.node], operandMark(symbol(s.op), i), style)
		}
		switch s.op.(type) {
		case *kernelOp:
			d.edge(d.value, p.ids[s.node], "", valueLink)
		case *kernelGradOp:
			for _, id := range d.derivatives {
				d.edge(id, p.ids[s.node], "", derivativeLink)
			}
		}
	}
}

// picture holds the objective during drawing.
type picture struct {
	*Objective
	ids map[*gorgonia.Node]string
	// cost is the set of nodes that the value needs.
	cost map[*gorgonia.Node]bool
}

// symbol returns the text for an op; it is empty for inputs.
func symbol(op gorgonia.Op) string {
	if op == nil {
		return ""
	}
	if own, ok := op.(interface{ base() *baseOp }); ok {
		return own.base().name
	}
	return pair.Symbol(op)
}

// isOurs reports whether op belongs to this package.
func isOurs(op gorgonia.Op) bool {
	_, ours := op.(interface{ base() *baseOp })
	return ours
}

func (p *picture) look(s step) look {
	switch {
	case slices.Contains(p.grads, s.node):
		return gradientLook
	case s.node == p.Objective.cost:
		return resultLook
	case !p.cost[s.node]:
		return derivativeLook
	case slices.ContainsFunc(p.vars, func(v *variable) bool { return v.node == s.node }):
		return parameterLook
	case s.op == nil:
		return dataLook
	case isOurs(s.op):
		return matrixLook
	}
	return opLook
}

// lines returns the lines of a node: its op, its operands and its numbers.
func (p *picture) lines(s step) []string {
	var lines []string
	if s.op == nil {
		lines = append(lines, p.inputName(s.node))
	} else {
		lines = append(lines, p.opText(s))
	}
	if pick, ok := s.op.(*pickOp); ok {
		lines[0] += " " + p.labels.parameter(pick.args)
	}
	if s.node == p.Objective.cost {
		lines = append(lines, "objective")
	}
	for i, v := range p.vars {
		if p.grads[i] == s.node {
			lines = append(lines, "∂ objective/∂ "+p.inputName(v.node))
		}
	}
	if text := p.numbers(s.node); text != "" {
		lines = append(lines, text)
	}
	return lines
}

// inputName returns a node's name without its salt.
func (p *picture) inputName(n *gorgonia.Node) string {
	name, _, _ := strings.Cut(n.Name(), " #")
	return p.labels.parameter(name)
}

// opText returns the op with its constant operands.
func (p *picture) opText(s step) string {
	if isOurs(s.op) {
		return symbol(s.op)
	}
	operands := make([]string, len(s.inputs))
	for i, j := range s.inputs {
		if x, ok := pair.Constant(p.gradient.steps[j].node); ok {
			operands[i] = shortNumber(x)
		}
	}
	return opLabel(symbol(s.op), operands)
}

// shownNumbers is the number of elements of a vector that are printed.
const shownNumbers = 4

// numbers prints a node's value at the last evaluation, or its shape if the value
// is large.
func (p *picture) numbers(n *gorgonia.Node) string {
	switch shape := n.Shape(); {
	case shape.Dims() == 2:
		return fmt.Sprintf("%d×%d", shape[0], shape[1])
	case shape.TotalSize() > shownNumbers:
		return fmt.Sprintf("%d numbers", shape.TotalSize())
	}
	if p.last == nil || p.last.value(n) == nil {
		return ""
	}
	x, err := numbers(p.last.value(n))
	if err != nil {
		return ""
	}
	return shortNumbers(x)
}

package graph

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"gorgonia.org/gorgonia"

	"gpfit/kernel"
	"gpfit/kernel/symbolic"
)

// WriteDOT writes a Graphviz drawing of the objective and its derivatives: the graph over all
// points and the covariance function of a pair, with the numbers of the last evaluation.
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
			if _, constant := symbolic.Constant(s.node); constant && !slices.Contains(o.grads, s.node) {
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
		switch symbol(s.op) {
		case kernelName:
			d.edge(d.value, p.ids[s.node], "", valueLink)
		case kernelGradName:
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
func symbol(of gorgonia.Op) string {
	if of == nil {
		return ""
	}
	if own, ok := of.(*op); ok {
		return own.name
	}
	return symbolic.Symbol(of)
}

func (p *picture) look(s step) look {
	_, ours := s.op.(*op)
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
	case ours:
		return matrixLook
	}
	return opLook
}

// lines returns the lines of a node: its op, its operands and its numbers.
func (p *picture) lines(s step) []string {
	lines := []string{p.opText(s)}
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

// opText returns the op with its constant operands, or the name of an input.
func (p *picture) opText(s step) string {
	if s.op == nil {
		return p.inputName(s.node)
	}
	if own, ok := s.op.(*op); ok {
		if own.name == pickName {
			return own.name + " " + p.labels.parameter(own.args)
		}
		return own.name
	}
	operands := make([]string, len(s.inputs))
	for i, j := range s.inputs {
		if x, ok := symbolic.Constant(p.gradient.steps[j].node); ok {
			operands[i] = shortNumber(x)
		}
	}
	return opLabel(symbol(s.op), operands)
}

// shownNumbers is the number of elements of a vector that are printed.
const shownNumbers = 4

// numbers prints a node's value at the last evaluation, or its shape if the value is large.
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

// pairPicture holds the covariance function of a pair during drawing.
type pairPicture struct {
	*symbolic.Expression
	prog *kernel.Program
	ids  map[*symbolic.Node]string
	// theta are the parameters of the last evaluation, or nil.
	theta  []float64
	names  []string
	column func(int) string
	// by maps a derivative node to the names of the variables it is the derivative by.
	by map[*symbolic.Node][]string
}

// pair draws k(x, x′) and its derivatives.
func (d *drawing) pair(o *Objective) {
	prog := o.solver.prog
	p := &pairPicture{Expression: prog.Expression(), prog: prog, ids: map[*symbolic.Node]string{}, column: o.labels.column, by: map[*symbolic.Node][]string{}}
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

func (p *pairPicture) derivative(n *symbolic.Node, by string) {
	if n != nil {
		p.by[n] = append(p.by[n], by)
	}
}

func (p *pairPicture) valueLook(n *symbolic.Node) look {
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
func (d *drawing) pairNode(p *pairPicture, n *symbolic.Node, l look) {
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

func (p *pairPicture) label(n *symbolic.Node) string {
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
	return opLabel(symbolic.Symbol(n.Op()), operands)
}

func (d *drawing) pairEdges(p *pairPicture, nodes []*symbolic.Node, l line) {
	for _, n := range nodes {
		for i, c := range p.Operands(n) {
			if p.ids[c] != "" {
				d.edge(p.ids[c], p.ids[n], operandMark(symbolic.Symbol(n.Op()), i), l)
			}
		}
	}
}

// look is the style of a node.
type look string

// The looks, as Graphviz attributes.
const (
	parameterLook  look = `shape=box, style="rounded,filled", fillcolor="#d6e8fa", color="#3b6ea5"`
	dataLook       look = `shape=box, style=filled, fillcolor="#e9e9e9", color="#777777"`
	opLook         look = `shape=box, style="rounded,filled", fillcolor=white, color="#555555"`
	matrixLook     look = `shape=box, style=filled, fillcolor="#fff0c2", color="#a67c00", penwidth=1.5`
	resultLook     look = `shape=box, style=filled, fillcolor="#cfe8cf", color="#2f7d32", penwidth=2`
	derivativeLook look = `shape=box, style="rounded,filled", fillcolor="#fde8dc", color="#c0622d"`
	gradientLook   look = `shape=box, style=filled, fillcolor="#f6b893", color="#a8430f", penwidth=2`
)

// line is the style of an edge.
type line string

// The lines.
const (
	valueLine      line = `color="#555555"`
	derivativeLine line = `color="#c0622d"`
	valueLink      line = `color="#2f7d32", penwidth=2`
	derivativeLink line = `color="#a8430f", penwidth=1.5, style=dashed`
)

// drawing is a Graphviz graph under construction.
type drawing struct {
	text, edges strings.Builder
	// value and derivatives are the nodes of the covariance function that the objective uses.
	value       string
	derivatives []string
}

// cluster draws a frame around the output of body.
func (d *drawing) cluster(id, title string, body func()) {
	fmt.Fprintf(&d.text, "\tsubgraph cluster_%s {\n\t\tlabel=%s\n", id, quoted(title))
	body()
	d.text.WriteString("\t}\n")
}

// node draws a node with one or more lines of text.
func (d *drawing) node(id string, l look, lines ...string) {
	fmt.Fprintf(&d.text, "\t\t%s [label=%s, %s]\n", id, quoted(strings.Join(lines, "\n")), l)
}

// edge draws an edge, with mark at its end if mark is not empty.
func (d *drawing) edge(from, to, mark string, l line) {
	fmt.Fprintf(&d.edges, "\t%s -> %s [%s", from, to, l)
	if mark != "" {
		fmt.Fprintf(&d.edges, ", headlabel=%s", quoted(mark))
	}
	d.edges.WriteString("]\n")
}

func (d *drawing) writeTo(w io.Writer) error {
	_, err := fmt.Fprintf(w, `digraph objective {
	graph [rankdir=TB, nodesep=0.2, ranksep=0.35, fontname="Helvetica", fontsize=16, labeljust=l, style="rounded", color="#bbbbbb"]
	node [fontname="Helvetica", fontsize=12, height=0.3, margin="0.1,0.05"]
	edge [fontname="Helvetica", fontsize=12, arrowsize=0.7, labeldistance=1.4]
%s%s}
`, d.text.String(), d.edges.String())
	return err
}

// quoted returns s as a Graphviz string.
func quoted(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s) + `"`
}

// infix lists the signs that are written between two operands.
const infix = "+ − × ÷ ^"

// opLabel prints an op with its numeric operands; the texts of the other operands are empty.
func opLabel(symbol string, operands []string) string {
	if len(operands) != 2 || !strings.Contains(infix, symbol) {
		return strings.TrimSpace(symbol + " " + strings.TrimSpace(strings.Join(operands, " ")))
	}
	a, b := operands[0], operands[1]
	if b == "" && (symbol == "+" || symbol == "×") {
		a, b = b, a
	}
	return strings.TrimSpace(a + " " + symbol + " " + b)
}

// operandMark returns a mark that distinguishes the second operand from the first
// where the order matters.
func operandMark(symbol string, operand int) string {
	if operand == 1 && (symbol == "−" || symbol == "÷" || symbol == "^") {
		return symbol
	}
	return ""
}

func shortNumbers(x []float64) string {
	words := make([]string, len(x))
	for i, v := range x {
		words[i] = shortNumber(v)
	}
	return strings.Join(words, "  ")
}

func shortNumber(x float64) string { return strconv.FormatFloat(x, 'g', 6, 64) }

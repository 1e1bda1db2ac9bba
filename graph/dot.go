package graph

import (
	"fmt"
	"io"
	"strconv"
	"strings"
)

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
	// value and derivatives are the nodes of the covariance function that the
	// objective uses.
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

// opLabel prints an op with its numeric operands; the texts of the other operands
// are empty.
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

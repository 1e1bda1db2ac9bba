package kernel

import (
	"slices"
	"strconv"
	"strings"
)

// A formula is a covariance function in the text of a kernel:
//
//	formula(exp(-r/a)*cos(2*pi*r/b), a=1, b=2)
//
// Its names are variables, which stand for features of the pair, functions, and
// parameters, each of which needs a start value. Each formula becomes a separate
// [Family]: formula.go defines and prints the tree, formulaparse.go reads it,
// formulabuild.go builds its function, and formulaunits.go finds the units of its
// parameters.
const formulaName = "formula"

// formula is a node of a formula's tree: an operation and its arguments.
type formula struct {
	op formulaOp
	// name is the name of a variable, parameter or function.
	name string
	// number is the value of an opNumber.
	number float64
	args   []*formula
	// pos is the byte offset in the text.
	pos int
}

type formulaOp byte

const (
	opNumber formulaOp = iota
	opName
	opCall
	opNegate
	opAdd
	opSubtract
	opMultiply
	opDivide
	opPower
)

// signs are the printed forms of the operations, strengths their binding strengths.
var (
	signs     = map[formulaOp]string{opAdd: " + ", opSubtract: " - ", opMultiply: "*", opDivide: "/", opPower: "^"}
	strengths = map[formulaOp]int{opAdd: 1, opSubtract: 1, opMultiply: 2, opDivide: 2, opNegate: 3, opPower: 4, opNumber: 5, opName: 5, opCall: 5}
)

// formulaVariables maps the names of variables to features, with their exponents of
// the inputs' units.
var formulaVariables = []struct {
	name string
	// input is the exponent of the inputs' units.
	input int64
	// scaled marks variables whose columns are divided by lengthscales with ard;
	// they have no units then.
	scaled bool
	node   func(p *Pair) *Node
}{
	{"r", 1, true, func(p *Pair) *Node { return p.Distance(ardScale) }},
	{"r2", 2, true, func(p *Pair) *Node { return p.SquaredDistance(ardScale) }},
	{"dot", 2, true, func(p *Pair) *Node { return p.InnerProduct(ardScale) }},
	{"xx", 2, true, func(p *Pair) *Node { first, _ := p.Norms(ardScale); return first }},
	{"yy", 2, true, func(p *Pair) *Node { _, second := p.Norms(ardScale); return second }},
	{"mismatches", 0, true, func(p *Pair) *Node { return p.Mismatches(ardScale) }},
	{"x", 1, false, func(p *Pair) *Node { first, _ := p.coordinates(); return first }},
	{"y", 1, false, func(p *Pair) *Node { _, second := p.coordinates(); return second }},
}

// formulaFunctions are the functions of a formula.
var formulaFunctions = map[string]func(p *Pair, a *Node) *Node{
	"exp": (*Pair).Exp, "log": (*Pair).Log, "log1p": (*Pair).Log1p, "sqrt": (*Pair).Sqrt, "sin": (*Pair).Sin, "cos": (*Pair).Cos,
	"tanh": (*Pair).Tanh, "asin": (*Pair).Arcsine, "abs": (*Pair).Abs, "pos": (*Pair).Positive, "sigmoid": (*Pair).Sigmoid,
}

// ardScale is the parameter that a formula has only with ard.
const ardScale = "lengthscale"

const piName = "pi"

// isVariable reports whether name is a variable.
func isVariable(name string) bool { return slices.Contains(variableNames(), name) }

func variableNames() []string {
	var names []string
	for _, v := range formulaVariables {
		names = append(names, v.name)
	}
	return names
}

// isParameter reports whether f is a parameter.
func (f *formula) isParameter() bool {
	return f.op == opName && f.name != piName && !isVariable(f.name)
}

// visit calls do for f and all its descendants, in the order of the text.
func (f *formula) visit(do func(*formula)) {
	if len(f.args) != 2 {
		do(f)
	}
	for i, a := range f.args {
		if i == 1 {
			do(f)
		}
		a.visit(do)
	}
}

// scaled reports whether a formula has variables that ard divides.
func (f *formula) scaled() bool {
	found := false
	f.visit(func(g *formula) {
		for _, v := range formulaVariables {
			found = found || g.op == opName && v.name == g.name && v.scaled
		}
	})
	return found
}

// parameterNames lists a formula's parameters in the order of the text.
func (f *formula) parameterNames() []string {
	var names []string
	f.visit(func(g *formula) {
		if g.isParameter() && !slices.Contains(names, g.name) {
			names = append(names, g.name)
		}
	})
	return names
}

// String prints a formula with the fewest parentheses that make it read back as an
// equal tree.
func (f *formula) String() string {
	var b strings.Builder
	f.print(&b)
	return b.String()
}

func (f *formula) print(b *strings.Builder) {
	own := strengths[f.op]
	switch f.op {
	case opNumber:
		b.WriteString(strconv.FormatFloat(f.number, 'g', -1, 64))
	case opName:
		b.WriteString(f.name)
	case opCall:
		b.WriteString(f.name + "(")
		f.args[0].print(b)
		b.WriteByte(')')
	case opNegate:
		b.WriteByte('-')
		f.args[0].printAs(b, own)
	case opPower:
		f.args[0].printAs(b, own+1)
		b.WriteString(signs[f.op])
		f.args[1].printAs(b, strengths[opNegate])
	default:
		f.args[0].printAs(b, own)
		b.WriteString(signs[f.op])
		f.args[1].printAs(b, own+1)
	}
}

// printAs prints a formula, in parentheses if it binds less strongly than strength.
func (f *formula) printAs(b *strings.Builder, strength int) {
	if strengths[f.op] >= strength {
		f.print(b)
		return
	}
	b.WriteByte('(')
	f.print(b)
	b.WriteByte(')')
}

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
// parameters, which need a start value each. It becomes a [Family] of its own:
// formula.go has its tree and prints it, formulaparse.go reads it, formulabuild.go
// writes it down as a function, and formulaunits.go finds its parameters' units.
const formulaName = "formula"

// formula is an operation of a formula's tree on others.
type formula struct {
	op formulaOp
	// name is that of a variable, parameter or function.
	name string
	// number is that of opNumber.
	number float64
	args   []*formula
	// pos is where it stands in the text.
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

// signs are how the operations print, strengths how strongly they bind.
var (
	signs     = map[formulaOp]string{opAdd: " + ", opSubtract: " - ", opMultiply: "*", opDivide: "/", opPower: "^"}
	strengths = map[formulaOp]int{opAdd: 1, opSubtract: 1, opMultiply: 2, opDivide: 2, opNegate: 3, opPower: 4, opNumber: 5, opName: 5, opCall: 5}
)

// formulaVariables are what the names of features mean, with the power of the
// inputs' units that they have.
var formulaVariables = []struct {
	name string
	// input is the exponent of its units.
	input int64
	// scaled tells those whose columns are divided by lengthscales with ard,
	// which leaves them without units.
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

// ardScale is the parameter that a formula has with ard alone.
const ardScale = "lengthscale"

const piName = "pi"

// isVariable tells the names of variables.
func isVariable(name string) bool { return slices.Contains(variableNames(), name) }

func variableNames() []string {
	var names []string
	for _, v := range formulaVariables {
		names = append(names, v.name)
	}
	return names
}

// isParameter tells an operation that is a parameter.
func (f *formula) isParameter() bool {
	return f.op == opName && f.name != piName && !isVariable(f.name)
}

// visit calls do for f and all that it is made of, in the order of the text.
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

// scaled says whether a formula has variables that ard divides.
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

// String prints a formula with no more brackets than it takes to read it back as
// an equal tree.
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

// printAs prints a formula where one must bind at least so strongly.
func (f *formula) printAs(b *strings.Builder, strength int) {
	if strengths[f.op] >= strength {
		f.print(b)
		return
	}
	b.WriteByte('(')
	f.print(b)
	b.WriteByte(')')
}

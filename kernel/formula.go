package kernel

import (
	"maps"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"gpfit/kernel/symbolic"
)

// A formula is a covariance function in the text of a kernel:
//
//	formula(exp(-r/a)*cos(2*pi*r/b), a=1, b=2)
//
// Its names are variables, which stand for features of the pair, functions, and parameters, each
// of which needs a start value. Each formula becomes a separate [Family]: this file prints the
// tree, builds its function and finds the units of its parameters; formulaparse.go reads it.
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

// binary describes an operation with two arguments.
type binary struct {
	// sign is its printed form.
	sign   string
	number func(a, b float64) float64
	node   func(p *Pair, a, b *Node) *Node
}

var binaries = map[formulaOp]binary{
	opAdd:      {" + ", func(a, b float64) float64 { return a + b }, func(p *Pair, a, b *Node) *Node { return p.Add(a, b) }},
	opSubtract: {" - ", func(a, b float64) float64 { return a - b }, (*Pair).Sub},
	opMultiply: {"*", func(a, b float64) float64 { return a * b }, func(p *Pair, a, b *Node) *Node { return p.Mul(a, b) }},
	opDivide:   {"/", func(a, b float64) float64 { return a / b }, (*Pair).Div},
	opPower:    {"^", math.Pow, nil},
}

// strengths are the binding strengths of the operations.
var strengths = map[formulaOp]int{opAdd: 1, opSubtract: 1, opMultiply: 2, opDivide: 2, opNegate: 3, opPower: 4, opNumber: 5, opName: 5, opCall: 5}

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
	"erf": func(p *Pair, a *Node) *Node { return symbolic.Erf(p.Graph, a) }, "sinc": func(p *Pair, a *Node) *Node { return symbolic.Sinc(p.Graph, a) },
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

// String prints a formula with the fewest parentheses that make it read back as an equal tree.
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
		b.WriteString(binaries[f.op].sign)
		f.args[1].printAs(b, strengths[opNegate])
	default:
		f.args[0].printAs(b, own)
		b.WriteString(binaries[f.op].sign)
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

// coordinates returns the coordinates of the two points on the leaf's only column.
func (p *Pair) coordinates() (first, second *Node) {
	p.oneColumn()
	return p.Coordinates()
}

func (p *Pair) oneColumn() {
	if len(p.dims) != 1 {
		p.Fail("x and y are the coordinates of two points on one column, but there are %d columns: choose one with dims=", len(p.dims))
	}
}

// build returns the node of a formula.
func (f *formula) build(p *Pair) *Node {
	if x, ok := f.constant(); ok {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			p.Fail("%s is not a finite number", f)
		}
		return p.Number(x)
	}
	switch f.op {
	case opName:
		return f.named(p)
	case opCall:
		return formulaFunctions[f.name](p, f.args[0].build(p))
	case opNegate:
		return p.Neg(f.args[0].build(p))
	case opPower:
		return f.power(p)
	case opSubtract:
		if difference := f.ofCoordinates(p); difference != nil {
			return difference
		}
	}
	return binaries[f.op].node(p, f.args[0].build(p), f.args[1].build(p))
}

// ofCoordinates returns x - y or y - x as one feature, or nil for another difference.
func (f *formula) ofCoordinates(p *Pair) *Node {
	first, second := f.args[0], f.args[1]
	if first.op != opName || second.op != opName {
		return nil
	}
	switch first.name + second.name {
	case "xy":
		p.oneColumn()
		return p.Difference("")
	case "yx":
		p.oneColumn()
		return p.Neg(p.Difference(""))
	}
	return nil
}

// named returns the node of a variable or a parameter.
func (f *formula) named(p *Pair) *Node {
	for _, v := range formulaVariables {
		if v.name == f.name {
			return v.node(p)
		}
	}
	return p.Parameter(f.name)
}

// maxFormulaPower bounds the powers that become repeated multiplications.
const maxFormulaPower = 100

func (f *formula) power(p *Pair) *Node {
	base := f.args[0].build(p)
	x, ok := f.args[1].constant()
	switch {
	case ok && x == 0.5:
		return p.Sqrt(base)
	case ok && x == math.Trunc(x) && math.Abs(x) <= maxFormulaPower:
		return p.PowInt(base, int(x))
	}
	return p.Pow(base, f.args[1].build(p))
}

// constant returns the value of a formula without variables, parameters and functions.
func (f *formula) constant() (float64, bool) {
	switch f.op {
	case opNumber:
		return f.number, true
	case opName:
		return math.Pi, f.name == piName
	case opCall:
		return 0, false
	}
	a, ok := f.args[0].constant()
	if !ok || f.op == opNegate {
		return -a, ok
	}
	b, ok := f.args[1].constant()
	return binaries[f.op].number(a, b), ok
}

// dimension is the exponent of the inputs' units of a quantity: a number, which has the
// name "", plus multiples of the unknown exponents of parameters.
type dimension map[string]*big.Rat

func fixedDimension(x int64) dimension { return dimension{"": big.NewRat(x, 1)} }

// of returns the multiple of a name.
func (d dimension) of(name string) *big.Rat {
	if x := d[name]; x != nil {
		return x
	}
	return new(big.Rat)
}

// plus returns d + factor·e.
func (d dimension) plus(e dimension, factor *big.Rat) dimension {
	out := maps.Clone(d)
	for name, x := range e {
		scaled := new(big.Rat).Mul(x, factor)
		out[name] = scaled.Add(scaled, d.of(name))
	}
	return out
}

var one, minusOne = big.NewRat(1, 1), big.NewRat(-1, 1)

// analysis finds the dimensions of a formula. Its equations are dimensions that must be 0.
type analysis struct {
	ard       bool
	equations []dimension
}

// units returns the exponents of the inputs' units of the parameters and of the
// value of a formula. They follow from two rules: both sides of a sum have the same
// units, and arguments of functions have none. An exponent that the rules leave
// open is 0. If the rules contradict each other, as for exp(-r), nothing has units.
func (f *formula) units(ard bool) (parameters map[string]float64, value float64) {
	a := analysis{ard: ard}
	whole := a.of(f)
	names := f.parameterNames()
	solution, ok := solve(a.equations, names)
	parameters = map[string]float64{}
	for _, name := range names {
		parameters[name], _ = solution.of(name).Float64()
	}
	if !ok {
		return parameters, 0
	}
	total := new(big.Rat).Set(whole.of(""))
	for _, name := range names {
		total.Add(total, new(big.Rat).Mul(whole.of(name), solution.of(name)))
	}
	value, _ = total.Float64()
	return parameters, value
}

// none adds the equation that a quantity has no units.
func (a *analysis) none(d dimension) dimension {
	a.equations = append(a.equations, d)
	return fixedDimension(0)
}

func (a *analysis) of(f *formula) dimension {
	switch f.op {
	case opNumber:
		return fixedDimension(0)
	case opName:
		return a.named(f)
	case opNegate:
		return a.of(f.args[0])
	case opCall:
		return a.call(f)
	case opPower:
		return a.power(f)
	}
	left, right := a.of(f.args[0]), a.of(f.args[1])
	switch f.op {
	case opMultiply:
		return left.plus(right, one)
	case opDivide:
		return left.plus(right, minusOne)
	}
	a.none(left.plus(right, minusOne))
	return left
}

func (a *analysis) named(f *formula) dimension {
	for _, v := range formulaVariables {
		switch {
		case v.name != f.name:
		case v.scaled && a.ard:
			return fixedDimension(0)
		default:
			return fixedDimension(v.input)
		}
	}
	if f.name == piName {
		return fixedDimension(0)
	}
	return dimension{f.name: one}
}

func (a *analysis) call(f *formula) dimension {
	arg := a.of(f.args[0])
	switch f.name {
	case "abs", "pos":
		return arg
	case "sqrt":
		return dimension{}.plus(arg, big.NewRat(1, 2))
	}
	return a.none(arg)
}

func (a *analysis) power(f *formula) dimension {
	base := a.of(f.args[0])
	if x, ok := f.args[1].constant(); ok {
		// Take the decimal number, not the nearest binary one.
		if exact, ok := new(big.Rat).SetString(strconv.FormatFloat(x, 'g', -1, 64)); ok && len(exact.String()) < 60 {
			return dimension{}.plus(base, exact)
		}
	}
	a.none(a.of(f.args[1]))
	return a.none(base)
}

// solve returns unknowns that make all equations 0, by Gauss–Jordan elimination.
// Free unknowns are 0. The result is false if no solution exists.
func solve(equations []dimension, unknowns []string) (dimension, bool) {
	pivots := map[string]dimension{}
	for _, e := range equations {
		for name, row := range pivots {
			e = e.without(name, row)
		}
		i := slices.IndexFunc(unknowns, func(name string) bool { return e.of(name).Sign() != 0 })
		switch {
		case i >= 0:
			name := unknowns[i]
			e = dimension{}.plus(e, new(big.Rat).Inv(e[name]))
			for other, row := range pivots {
				pivots[other] = row.without(name, e)
			}
			pivots[name] = e
		case e.of("").Sign() != 0:
			return nil, false
		}
	}
	out := dimension{}
	for name, row := range pivots {
		out[name] = new(big.Rat).Neg(row.of(""))
	}
	return out, true
}

// without returns d minus the multiple of row that eliminates the unknown. The
// unknown's factor in row is 1.
func (d dimension) without(name string, row dimension) dimension {
	return d.plus(row, new(big.Rat).Neg(d.of(name)))
}

// comparedWithCoordinate reports whether a parameter occurs only in differences with x or y:
// it then moves with the column if all its values are shifted.
func (f *formula) comparedWithCoordinate(name string) bool {
	all, compared := 0, 0
	f.visit(func(g *formula) {
		if g.op == opName && g.name == name {
			all++
		}
		if g.op != opSubtract {
			return
		}
		for i, a := range g.args {
			b := g.args[1-i]
			if a.op == opName && a.name == name && b.op == opName && (b.name == "x" || b.name == "y") {
				compared++
			}
		}
	})
	return all > 0 && all == compared
}

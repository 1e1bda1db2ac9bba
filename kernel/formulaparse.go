package kernel

import (
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gpfit/internal/suggest"
	"gpfit/internal/textform"
)

// maxOperations and maxFormulaParameters bound the size of a formula.
const maxOperations, maxFormulaParameters = 500, 50

// formulaParser reads a formula from the parser's text:
//
//	sum     = product { ("+" | "-") product }
//	product = unary { ("*" | "/") unary }
//	unary   = "-" unary | power
//	power   = atom [ ("^" | "**") unary ]
//	atom    = number | name | name "(" sum ")" | "(" sum ")"
type formulaParser struct {
	*textform.Scanner
	operations int
}

// make returns an operation. It fails if the formula has too many.
func (p *formulaParser) make(op formulaOp, pos int, args ...*formula) (*formula, error) {
	if p.operations++; p.operations > maxOperations {
		return nil, p.Fail(pos, "a formula has at most %d operations", maxOperations)
	}
	return &formula{op: op, args: args, pos: pos}, nil
}

// operator is a sign and its operation. In a list, a sign precedes its own prefixes.
type operator struct {
	sign string
	op   formulaOp
}

var (
	sumOperators     = []operator{{"+", opAdd}, {"-", opSubtract}}
	productOperators = []operator{{"*", opMultiply}, {"/", opDivide}}
	powerOperators   = []operator{{"**", opPower}, {"^", opPower}}
)

// accept reads one of the operators if it is next.
func (p *formulaParser) accept(operators []operator) (op formulaOp, pos int, ok bool) {
	if p.AtEnd() {
		return 0, p.Pos, false
	}
	for _, o := range operators {
		if strings.HasPrefix(p.Text[p.Pos:], o.sign) {
			pos = p.Pos
			p.Pos += len(o.sign)
			return o.op, pos, true
		}
	}
	return 0, p.Pos, false
}

// chain reads operands with operators between them, from the left.
func (p *formulaParser) chain(operators []operator, operand func() (*formula, error)) (*formula, error) {
	left, err := operand()
	for err == nil {
		op, pos, ok := p.accept(operators)
		if !ok {
			break
		}
		var right *formula
		if right, err = operand(); err == nil {
			left, err = p.make(op, pos, left, right)
		}
	}
	return left, err
}

func (p *formulaParser) sum(depth int) (*formula, error) {
	return p.chain(sumOperators, func() (*formula, error) {
		return p.chain(productOperators, func() (*formula, error) { return p.unary(depth) })
	})
}

func (p *formulaParser) unary(depth int) (*formula, error) {
	if depth > maxDepth {
		return nil, p.Fail(p.Pos, "more than %d nested parentheses, signs and powers", maxDepth)
	}
	pos := p.Pos
	if p.Accept('-') {
		arg, err := p.unary(depth + 1)
		if err != nil {
			return nil, err
		}
		return p.make(opNegate, pos, arg)
	}
	base, err := p.atom(depth)
	if err != nil {
		return nil, err
	}
	op, pos, ok := p.accept(powerOperators)
	if !ok {
		return base, nil
	}
	exponent, err := p.unary(depth + 1)
	if err != nil {
		return nil, err
	}
	if variable := variableIn(exponent); variable != nil {
		return nil, p.Fail(variable.pos, "an exponent must be the same for all points, so it cannot contain %q; write exp(…*log(…))", variable.name)
	}
	return p.make(op, pos, base, exponent)
}

// variableIn returns a variable of a formula, or nil.
func variableIn(f *formula) (found *formula) {
	f.visit(func(g *formula) {
		if found == nil && g.op == opName && isVariable(g.name) {
			found = g
		}
	})
	return found
}

// atom reads a number, a name, a call or a sum in parentheses.
func (p *formulaParser) atom(depth int) (*formula, error) {
	if p.Accept('(') {
		f, err := p.sum(depth + 1)
		if err == nil {
			err = p.Expect(')')
		}
		return f, err
	}
	if p.AtEnd() {
		return nil, p.Expected("a number, a variable, a function or '('")
	}
	if text := formulaNumber.FindString(p.Text[p.Pos:]); text != "" {
		return p.number(text)
	}
	name, pos := p.Word()
	if !textform.IsName(name) {
		p.Pos = pos
		return nil, p.Expected("a number, a variable, a function or '('")
	}
	if p.Accept('(') {
		return p.call(name, pos, depth)
	}
	if formulaFunctions[name] != nil {
		return nil, p.Fail(pos, "%s is a function: its argument needs parentheses", name)
	}
	if isReserved(name) {
		return nil, p.Fail(pos, "a parameter of a formula cannot be named %s: choose another name", name)
	}
	f, err := p.make(opName, pos)
	if err == nil {
		f.name = name
	}
	return f, err
}

var formulaNumber = regexp.MustCompile(`^([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?`)

func (p *formulaParser) number(text string) (*formula, error) {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(v, 0) {
		return nil, p.Fail(p.Pos, "%s is not a finite number", text)
	}
	f, err := p.make(opNumber, p.Pos)
	if err == nil {
		f.number = v
	}
	p.Pos += len(text)
	return f, err
}

func (p *formulaParser) call(name string, pos, depth int) (*formula, error) {
	if formulaFunctions[name] == nil {
		known := slices.Sorted(maps.Keys(formulaFunctions))
		return nil, p.Fail(pos, "unknown function %q%s: the functions are %s", name, otherFunctions.Hint(name, known), strings.Join(known, ", "))
	}
	arg, err := p.sum(depth + 1)
	if err == nil {
		err = p.Expect(')')
	}
	if err != nil {
		return nil, err
	}
	f, err := p.make(opCall, pos, arg)
	if err == nil {
		f.name = name
	}
	return f, err
}

// otherFunctions are names of functions elsewhere, with the names that formulas have for them.
var otherFunctions = suggest.Others{
	"-did you mean pos? pos(a) is max(a, 0)": "max relu maximum fmax", "log": "ln", "asin": "arcsin", "abs": "fabs", "sigmoid": "logistic expit",
	"-did you mean the operator ^?": "pow power sqr square",
}

// maxDepth bounds the nesting of parentheses so that no text can exhaust the stack.
const maxDepth = 100

// isReserved reports whether a word already has another meaning where a parameter's
// name can appear: arguments of leaves, what ard divides formulas by, and
// parameters of the model around a kernel.
func isReserved(name string) bool {
	return slices.Contains([]string{signalVariance, "ard", "dims", "degree", ardScale, "noise_variance"}, name) || strings.HasPrefix(name, "mean_")
}

const signalVariance = "signal_variance"

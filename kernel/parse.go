package kernel

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"gpfit/internal/suggest"
	"gpfit/internal/textform"
)

// MaxLeaves is the largest number of leaves of a kernel.
const MaxLeaves = 1000

// ParseError reports a kernel expression that cannot be read. All text forms,
// including means and priors, use this type; its field What names the form.
type ParseError = textform.Error

// Parser reads the text form of kernels. The zero value knows the built-in families.
type Parser struct {
	// Families are custom kernels that the text may name.
	Families []*Family
	// Columns are the names of the table's columns, which dims= may give in place of
	// indices; nil if the table is not known.
	Columns []string
}

// Parse reads text with the built-in families; see [Parser.Parse].
func Parse(text string) (Expr, error) { return Parser{}.Parse(text) }

// Parse reads the text form of a kernel:
//
//	sum     = product { "+" product }
//	product = factor { "*" factor }
//	factor  = name [ "(" argument { "," argument } ")" ] | "(" sum ")"
//	        | "formula" "(" formula { "," argument } ")"
//	        | "additive" "(" name { "," argument } ")"
//
// An argument is `ard`, for a family of distances on two columns `rotated` or `sphere`, `dims=LIST`, a start value such as `lengthscale=2`, or the number of a
// family that has one, `poly(3)` or `poly(degree=3)`. `offset=0` makes an offset the constant 0,
// which is no parameter. A list is a number or `[n, n, …]`; dims takes indices of columns or
// their names, in double quotes if they have blanks, brackets, commas, quotes or equals signs, or
// look like numbers. A formula is arithmetic on features of a pair of points; see the package
// comment. Errors are [*ParseError], or describe an invalid family in p.Families.
func (p Parser) Parse(text string) (Expr, error) {
	return p.parse(textform.Scanner{What: "kernel", Text: text, Columns: p.Columns})
}

// CheckText finds mistakes in the text of a kernel with built-in families before its
// table is read: dims= may give any name. Errors are [*ParseError].
func CheckText(text string) error {
	_, err := Parser{}.parse(textform.Scanner{What: "kernel", Text: text, AnyColumn: true})
	return err
}

func (p Parser) parse(text textform.Scanner) (Expr, error) {
	text.Others = others
	q := &textParser{Scanner: text, families: families}
	for _, f := range p.Families {
		if err := f.check(q.family); err != nil {
			return nil, err
		}
		q.families = append(q.families[:len(q.families):len(q.families)], f)
	}
	e, err := q.sum(0)
	if err == nil && !q.AtEnd() {
		err = q.Expected("'+', '*' or the end of this kernel")
	}
	if err != nil {
		return nil, err
	}
	return e, nil
}

type textParser struct {
	textform.Scanner
	families []*Family
	leaves   int
}

func (p *textParser) family(name string) *Family {
	if i := slices.Index(familyNames(p.families), name); i >= 0 {
		return p.families[i]
	}
	return nil
}

func (p *textParser) sum(depth int) (Expr, error) {
	terms, err := p.parts('+', func() (Expr, error) { return p.product(depth) })
	if len(terms) == 1 {
		return terms[0], err
	}
	return Sum(terms), err
}

func (p *textParser) product(depth int) (Expr, error) {
	factors, err := p.parts('*', func() (Expr, error) { return p.factor(depth) })
	if len(factors) == 1 {
		return factors[0], err
	}
	return Product(factors), err
}

// parts reads expressions with a sign between them.
func (p *textParser) parts(sign byte, read func() (Expr, error)) (parts []Expr, err error) {
	err = p.Each(sign, func() error {
		e, err := read()
		parts = append(parts, e)
		return err
	})
	return parts, err
}

func (p *textParser) factor(depth int) (Expr, error) {
	if depth > maxDepth {
		return nil, p.Fail(p.Pos, "more than %d nested parentheses", maxDepth)
	}
	if p.Accept('(') {
		e, err := p.sum(depth + 1)
		if err != nil {
			return nil, err
		}
		return e, p.Expect(')')
	}
	name, start, err := p.OneOf("kernel", append(familyNames(p.families), formulaName, additiveName))
	if err != nil {
		return nil, err
	}
	if p.leaves++; p.leaves > MaxLeaves {
		return nil, p.Fail(start, "more than %d terms and factors", MaxLeaves)
	}
	if name == formulaName {
		return p.formula(start)
	}
	if name == additiveName {
		return p.additive(start)
	}
	leaf := &Leaf{Family: p.family(name)}
	if p.Accept('(') && !p.Accept(')') {
		err = p.List(')', func() error { return p.argument(leaf) })
	}
	leaf.Degree = leaf.degree()
	return leaf, err
}

func (p *textParser) argument(leaf *Leaf) (err error) {
	name, start := p.Word()
	number := leaf.Family.number()
	switch {
	case number != nil && (name == number.name || name != "" && !textform.IsName(name)):
		return p.number(leaf, number, start, name)
	case (name == "ard" || name == rotatedName || name == sphereName) && (leaf.Family.otherDistance() != "" || name != "ard" && leaf.Family.takesDistances()):
		return leaf.distance(name, func() error { return p.Fail(start, "distances are of one kind: take one of ard, rotated and sphere") })
	case name == "ard" && leaf.ARD, name == "dims" && leaf.Dims != nil, leaf.Start[name] != nil:
		return p.Fail(start, "argument %q is given twice", name)
	case name == "ard":
		if leaf.ARD = true; p.Accept('=') {
			return p.Fail(start, "ard has no value: its name alone gives each column a lengthscale")
		}
		return nil
	case name == "dims":
		leaf.Dims, err = p.Dims()
		return err
	case slices.Contains(leaf.Family.parameterNames(), name):
		if leaf.Start == nil {
			leaf.Start = map[string][]float64{}
		}
		if leaf.Family.formula != nil || name == tilt.Name {
			leaf.Start[name], err = p.formulaStart(leaf.Family, name)
		} else {
			leaf.Start[name], err = p.startValues(leaf.Family.takesZero(name))
		}
		return err
	}
	known := append([]string{"ard", "dims"}, leaf.Family.parameterNames()...)
	if number != nil {
		known = append([]string{number.name}, known...)
	}
	if leaf.Family.takesDistances() {
		known = append(known, rotatedName, sphereName)
	}
	if name == "" {
		return p.Fail(start, "expected an argument of %s: one of %s", leaf.Family.Name, strings.Join(known, ", "))
	}
	return p.Fail(start, "%s has no argument %q%s; its arguments are %s", leaf.Family.Name, name, suggest.Others{"dims": "activedims columns cols axis", "ard": "ardnumdims"}.Hint(name, known), strings.Join(known, ", "))
}

// number reads the number of a leaf, with or without its name.
func (p *textParser) number(leaf *Leaf, n *number, start int, name string) error {
	if leaf.Degree != 0 {
		return p.Fail(start, "the %s is given twice", n.name)
	}
	if name != n.name {
		p.Pos = start
	} else if err := p.Expect('='); err != nil {
		return err
	}
	text, start := p.Value()
	v, err := strconv.ParseFloat(text, 64)
	place := v - n.first + 1
	if err != nil || place != math.Trunc(place) || place < 1 || place > float64(n.count) {
		return p.Fail(start, "the %s is %s from %v to %v, not %q", n.name, n.what, n.first, n.of(n.count), text)
	}
	leaf.Degree = int(place)
	return nil
}

// startValues reads the start values of a parameter, positive numbers. zero allows 0, too.
func (p *textParser) startValues(zero bool) ([]float64, error) {
	if err := p.Expect('='); err != nil {
		return nil, err
	}
	var out []float64
	err := p.Numbers(func(text string, start int) error {
		v, err := strconv.ParseFloat(text, 64)
		switch {
		case err == nil && v == 0 && zero:
		case err == nil && v > 0 && !math.IsInf(v, 0):
		case zero:
			return p.Fail(start, "an offset starts at a positive number or is the constant 0, not %q", text)
		default:
			return p.Fail(start, "a start value is a positive number, not %q", text)
		}
		out = append(out, math.Abs(v))
		return nil
	})
	return out, err
}

// formulaStart reads the start value of a parameter of a formula: a positive number, or a number of
// either sign with ~real.
func (p *textParser) formulaStart(f *Family, name string) ([]float64, error) {
	before := p.Pos
	if err := p.Expect('='); err != nil {
		return nil, err
	}
	text, start := p.Value()
	number, real := strings.CutSuffix(text, realMark)
	if !real && (f.formula != nil || name != tilt.Name) {
		p.Pos = before
		return p.startValues(false)
	}
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil || math.IsInf(v, 0) || math.IsNaN(v) {
		return nil, p.Fail(start, "a start value with %s is a number, not %q", realMark, number)
	}
	i := slices.IndexFunc(f.Parameters, func(q Parameter) bool { return q.Name == name && q.Count == One })
	if i < 0 {
		return nil, p.Fail(start, "%s is positive: leave out %s", name, realMark)
	}
	f.Parameters[i].Kind = Location
	return []float64{v + 0}, nil
}

// formula reads the arguments of formula(…) and returns a leaf.
func (p *textParser) formula(start int) (Expr, error) {
	if !p.Accept('(') {
		return nil, p.Fail(start, "a formula needs parentheses: formula(exp(-r/a), a=1)")
	}
	q := &formulaParser{Scanner: &p.Scanner}
	f, err := q.sum(0)
	if err != nil {
		return nil, err
	}
	if n := len(f.parameterNames()); n > maxFormulaParameters {
		return nil, p.Fail(start, "a formula has at most %d parameters, not %d", maxFormulaParameters, n)
	}
	leaf := &Leaf{Family: newFormula(f)}
	if p.Accept(',') {
		err = p.List(')', func() error { return p.argument(leaf) })
	} else if !p.Accept(')') {
		err = p.Expected("an operator, ',' or ')'")
	}
	if err != nil {
		return nil, err
	}
	return leaf, p.checkStarts(f, leaf)
}

// checkStarts returns an error about the first name of a formula that is neither
// known nor given a start value.
func (p *textParser) checkStarts(f *formula, leaf *Leaf) (err error) {
	known := append(variableNames(), piName)
	f.visit(func(g *formula) {
		if err == nil && g.isParameter() && leaf.Start[g.name] == nil {
			hint := suggest.DidYouMean(g.name, append(known, slices.Sorted(maps.Keys(leaf.Start))...))
			err = p.Fail(g.pos, "%q is not a variable%s: the variables are %s; a parameter needs a start value, %s=1", g.name, hint, strings.Join(known, ", "), g.name)
		}
	})
	return err
}

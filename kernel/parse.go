package kernel

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gpfit/internal/suggest"
)

// maxDepth bounds the nesting of parentheses, so that no text can exhaust the
// stack.
const maxDepth = 100

// MaxDegree is the largest degree of poly.
const MaxDegree = 100

// ParseError reports a kernel expression that cannot be read.
type ParseError struct {
	// Text is the whole expression.
	Text string
	// Pos is the byte offset of the fault in Text.
	Pos int
	// Msg says what is wrong and what was expected.
	Msg string
}

// Error prints the message, the text and a mark below the faulty character.
func (e *ParseError) Error() string {
	return marked(e.Msg, e.Text, e.Pos)
}

// Parser reads the text form of kernels. The zero value knows the built-in
// families.
type Parser struct {
	// Custom are kernels of the user's own that the text may name.
	Custom []Custom
}

// Parse reads text with the built-in families; see [Parser.Parse].
func Parse(text string) (Expr, error) { return Parser{}.Parse(text) }

// Parse reads the text form of a kernel:
//
//	sum     = product { "+" product }
//	product = factor { "*" factor }
//	factor  = name [ "(" argument { "," argument } ")" ] | "(" sum ")"
//
// An argument is `ard`, `dims=LIST`, a start value such as `lengthscale=2`, or
// for poly its degree, `poly(3)` or `poly(degree=3)`; a list is a number or
// `[n, n, …]`. Errors are [*ParseError], or say what is wrong with the name of
// a kernel in p.Custom.
func (p Parser) Parse(text string) (Expr, error) {
	q := &parser{text: text, families: families}
	for _, c := range p.Custom {
		if !isName(c.Name()) || q.family(c.Name()) != nil {
			return nil, fmt.Errorf("kernel: a kernel of one's own cannot be called %q: it must be a word that is not in use", c.Name())
		}
		q.families = append(q.families[:len(q.families):len(q.families)], &Family{Name: c.Name(), Op: OpCustom, custom: c})
	}
	return q.parse()
}

func (p *parser) parse() (Expr, error) {
	e, err := p.sum(0)
	if err != nil {
		return nil, err
	}
	if p.skipBlanks(); p.pos < len(p.text) {
		return nil, p.fail(p.pos, "expected '+', '*' or the end, found %q", p.text[p.pos:p.pos+1])
	}
	return e, nil
}

type parser struct {
	text     string
	pos      int
	families []*Family
}

func (p *parser) family(name string) *Family {
	for _, f := range p.families {
		if f.Name == name {
			return f
		}
	}
	return nil
}

func (p *parser) familyNames() []string {
	names := make([]string, len(p.families))
	for i, f := range p.families {
		names[i] = f.Name
	}
	return names
}

func (p *parser) fail(pos int, format string, args ...any) error {
	return &ParseError{Text: p.text, Pos: pos, Msg: fmt.Sprintf(format, args...)}
}

func (p *parser) skipBlanks() {
	for p.pos < len(p.text) && strings.IndexByte(" \t\n\r", p.text[p.pos]) >= 0 {
		p.pos++
	}
}

// accept consumes c, after blanks, if it is next.
func (p *parser) accept(c byte) bool {
	p.skipBlanks()
	if p.pos < len(p.text) && p.text[p.pos] == c {
		p.pos++
		return true
	}
	return false
}

func (p *parser) expect(c byte) error {
	if p.accept(c) {
		return nil
	}
	if p.pos == len(p.text) {
		return p.fail(p.pos, "expected %q, found the end", c)
	}
	return p.fail(p.pos, "expected %q", c)
}

// word reads the longest run of characters in the class that ok describes.
func (p *parser) word(ok func(c byte) bool) string {
	p.skipBlanks()
	start := p.pos
	for p.pos < len(p.text) && ok(p.text[p.pos]) {
		p.pos++
	}
	return p.text[start:p.pos]
}

func isNameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_'
}

// isName tells a word that does not begin with a digit.
func isName(s string) bool {
	for i := range len(s) {
		if !isNameByte(s[i]) {
			return false
		}
	}
	return s != "" && (s[0] < '0' || s[0] > '9')
}

func isNumberByte(c byte) bool {
	return c >= '0' && c <= '9' || strings.IndexByte(".+-eE", c) >= 0
}

func (p *parser) sum(depth int) (Expr, error) {
	terms, err := p.list('+', func() (Expr, error) { return p.product(depth) })
	if err != nil || len(terms) == 1 {
		return first(terms), err
	}
	return Sum(terms), nil
}

func (p *parser) product(depth int) (Expr, error) {
	factors, err := p.list('*', func() (Expr, error) { return p.factor(depth) })
	if err != nil || len(factors) == 1 {
		return first(factors), err
	}
	return Product(factors), nil
}

func (p *parser) list(sep byte, item func() (Expr, error)) ([]Expr, error) {
	var out []Expr
	for {
		e, err := item()
		if err != nil {
			return nil, err
		}
		out = append(out, e)
		if !p.accept(sep) {
			return out, nil
		}
	}
}

func first(es []Expr) Expr {
	if len(es) == 0 {
		return nil
	}
	return es[0]
}

func (p *parser) factor(depth int) (Expr, error) {
	if depth > maxDepth {
		return nil, p.fail(p.pos, "more than %d nested parentheses", maxDepth)
	}
	if p.accept('(') {
		e, err := p.sum(depth + 1)
		if err != nil {
			return nil, err
		}
		return e, p.expect(')')
	}
	p.skipBlanks()
	start := p.pos
	name := p.word(isNameByte)
	if name == "" {
		return nil, p.fail(start, "expected a kernel: one of %s", strings.Join(p.familyNames(), ", "))
	}
	family := p.family(name)
	if family == nil {
		return nil, p.fail(start, "unknown kernel %q%s: known are %s", name, suggest.DidYouMean(name, p.familyNames()), strings.Join(p.familyNames(), ", "))
	}
	leaf := &Leaf{Family: family}
	if err := p.arguments(leaf); err != nil {
		return nil, err
	}
	leaf.Degree = leaf.degree()
	return leaf, nil
}

func (p *parser) arguments(leaf *Leaf) error {
	if !p.accept('(') || p.accept(')') {
		return nil
	}
	for {
		if err := p.argument(leaf); err != nil {
			return err
		}
		if !p.accept(',') {
			return p.expect(')')
		}
	}
}

func (p *parser) argument(leaf *Leaf) error {
	p.skipBlanks()
	start := p.pos
	name := p.word(isNameByte)
	custom := leaf.Family.custom != nil && isName(name) // knows its parameters when compiled
	switch {
	case leaf.Family.hasDegree() && (name == "degree" || name != "" && name[0] >= '0' && name[0] <= '9'):
		return p.degree(leaf, start, name)
	case name == "ard":
		if leaf.ARD {
			return p.fail(start, "argument \"ard\" is given twice")
		}
		leaf.ARD = true
		return nil
	case name == "dims":
		if leaf.Dims != nil {
			return p.fail(start, "argument \"dims\" is given twice")
		}
		return p.dims(leaf)
	case slices.Contains(leaf.Family.parameterNames(), name) || custom:
		if leaf.Start[name] != nil {
			return p.fail(start, "argument %q is given twice", name)
		}
		values, err := p.startValues()
		if err != nil {
			return err
		}
		if leaf.Start == nil {
			leaf.Start = map[string][]float64{}
		}
		leaf.Start[name] = values
		return nil
	}
	known := append([]string{"ard", "dims"}, leaf.Family.parameterNames()...)
	if leaf.Family.hasDegree() {
		known = append([]string{"degree"}, known...)
	}
	if name == "" {
		return p.fail(start, "expected an argument of %s: one of %s", leaf.Family.Name, strings.Join(known, ", "))
	}
	return p.fail(start, "%s has no argument %q%s: known are %s", leaf.Family.Name, name, suggest.DidYouMean(name, known), strings.Join(known, ", "))
}

// degree reads the degree of poly, alone or as degree=.
func (p *parser) degree(leaf *Leaf, start int, name string) error {
	if leaf.Degree != 0 {
		return p.fail(start, "the degree is given twice")
	}
	if name == "degree" {
		if err := p.expect('='); err != nil {
			return err
		}
		p.skipBlanks()
		start = p.pos
	} else {
		p.pos = start
	}
	text := p.word(isNumberByte)
	v, err := strconv.Atoi(text)
	if err != nil || v < 1 || v > MaxDegree {
		return p.fail(start, "the degree is a whole number from 1 to %d, not %q", MaxDegree, text)
	}
	leaf.Degree = v
	return nil
}

func (p *parser) dims(leaf *Leaf) error {
	if err := p.expect('='); err != nil {
		return err
	}
	return p.numbers(func(pos int, text string) error {
		c, err := strconv.Atoi(text)
		if err != nil || c < 0 {
			return p.fail(pos, "dims needs column numbers from 0, not %q", text)
		}
		if slices.Contains(leaf.Dims, c) {
			return p.fail(pos, "column %d is given twice", c)
		}
		leaf.Dims = append(leaf.Dims, c)
		return nil
	})
}

func (p *parser) startValues() ([]float64, error) {
	if err := p.expect('='); err != nil {
		return nil, err
	}
	var out []float64
	err := p.numbers(func(pos int, text string) error {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil || !(v > 0) || math.IsInf(v, 0) {
			return p.fail(pos, "a start value is a positive number, not %q", text)
		}
		out = append(out, v)
		return nil
	})
	return out, err
}

// numbers reads a number or a bracketed list and hands each to item.
func (p *parser) numbers(item func(pos int, text string) error) error {
	bracket := p.accept('[')
	for {
		p.skipBlanks()
		start := p.pos
		text := p.word(isNumberByte)
		if text == "" {
			return p.fail(start, "expected a number")
		}
		if err := item(start, text); err != nil {
			return err
		}
		if !bracket {
			return nil
		}
		if !p.accept(',') {
			return p.expect(']')
		}
	}
}

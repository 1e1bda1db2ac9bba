package kernel

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// startNames are the parameters that may be given as arguments of a leaf, in
// the order in which they are printed.
var startNames = []string{"lengthscale", "signal_variance"}

// maxDepth bounds the nesting of parentheses, so that no text can exhaust the
// stack.
const maxDepth = 100

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
	return fmt.Sprintf("kernel: %s\n  %s\n  %s^", e.Msg, e.Text, strings.Repeat(" ", len([]rune(e.Text[:e.Pos]))))
}

// Parse reads the text form of a kernel:
//
//	sum     = product { "+" product }
//	product = factor { "*" factor }
//	factor  = name [ "(" argument { "," argument } ")" ] | "(" sum ")"
//
// An argument is `ard`, `dims=LIST`, or a start value such as `lengthscale=2`;
// a list is a number or `[n, n, …]`. Errors are [*ParseError].
func Parse(text string) (Expr, error) {
	p := &parser{text: text}
	e, err := p.sum(0)
	if err != nil {
		return nil, err
	}
	if p.skipBlanks(); p.pos < len(text) {
		return nil, p.fail(p.pos, "expected '+', '*' or the end, found %q", p.text[p.pos:p.pos+1])
	}
	return e, nil
}

type parser struct {
	text string
	pos  int
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
		return nil, p.fail(start, "expected a kernel: one of %s", strings.Join(Families(), ", "))
	}
	family := familyByName(name)
	if family == nil {
		return nil, p.fail(start, "unknown kernel %q: known are %s", name, strings.Join(Families(), ", "))
	}
	leaf := &Leaf{Family: family}
	if !p.accept('(') || p.accept(')') {
		return leaf, nil
	}
	for {
		if err := p.argument(leaf); err != nil {
			return nil, err
		}
		if !p.accept(',') {
			return leaf, p.expect(')')
		}
	}
}

func (p *parser) argument(leaf *Leaf) error {
	p.skipBlanks()
	start := p.pos
	name := p.word(isNameByte)
	switch {
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
	case slices.Contains(startNames, name):
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
	return p.fail(start, "%s has no argument %q: known are ard, dims, %s", leaf.Family.Name, name, strings.Join(startNames, ", "))
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

package mean

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/scanner"

	"gpfit/internal/suggest"
)

// Limits of the text form. Powers beyond the tenth and thousands of bumps are
// slips: they would be collinear in floating-point numbers.
const (
	maxDegree = 10
	maxBumps  = 1000
)

// The kinds of terms.
const (
	constantTerm = "constant"
	linearTerm   = "linear"
	polyTerm     = "poly"
	bumpsTerm    = "bumps"
	zeroTerm     = "zero"
)

// Kinds are the words that the text form knows.
func Kinds() []string { return []string{zeroTerm, constantTerm, linearTerm, polyTerm, bumpsTerm} }

// Term is one term of a mean function.
type Term struct {
	// Kind is a word of [Kinds] but zero.
	Kind string
	// Count is the degree of a poly, the number of bumps per column, or 0.
	Count int
	// Dims are the labels of the columns it acts on; nil means all.
	Dims []int
}

// Expr is a mean function as it is written; empty means zero. Every other one
// has the constant, written or not. String prints the text form that [Parse]
// reads back to an equal expression.
type Expr []Term

func (t Term) String() string {
	var args []string
	if t.Count > 0 {
		args = append(args, strconv.Itoa(t.Count))
	}
	if t.Dims != nil {
		words := make([]string, len(t.Dims))
		for i, c := range t.Dims {
			words[i] = strconv.Itoa(c)
		}
		list := strings.Join(words, ", ")
		if len(words) > 1 {
			list = "[" + list + "]"
		}
		args = append(args, "dims="+list)
	}
	if args == nil {
		return t.Kind
	}
	return t.Kind + "(" + strings.Join(args, ", ") + ")"
}

func (e Expr) String() string {
	if len(e) == 0 {
		return zeroTerm
	}
	words := make([]string, len(e))
	for i, t := range e {
		words[i] = t.String()
	}
	return strings.Join(words, " + ")
}

// ParseError reports a mean function that cannot be read.
type ParseError struct {
	// Text is the whole text.
	Text string
	// Pos is the byte offset of the fault in Text.
	Pos int
	// Msg says what is wrong and what was expected.
	Msg string
}

// Error prints the message, the text and a mark below the faulty character.
func (e *ParseError) Error() string {
	return fmt.Sprintf("mean: %s\n  %s\n  %s^", e.Msg, e.Text, strings.Repeat(" ", len([]rune(e.Text[:e.Pos]))))
}

// Parse reads the text form of a mean function:
//
//	mean = "zero" | term { "+" term }
//	term = "constant" | "linear" [ "(" dims ")" ]
//	     | "poly" "(" degree [ "," dims ] ")" | "bumps" "(" count [ "," dims ] ")"
//	dims = "dims" "=" ( number | "[" number { "," number } "]" )
//
// linear has every column, poly(k) the powers 1 … k of every column without
// products of different columns, bumps(m) m Gaussian bumps on every column
// ([Expr.Basis] says where). All of them have the constant too, once; powers
// that several terms have count once. Empty text is zero. Errors are
// [*ParseError].
func Parse(text string) (Expr, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	p := &parser{text: text}
	p.Init(strings.NewReader(text))
	p.Mode = scanner.ScanIdents | scanner.ScanInts | scanner.ScanFloats
	p.Error = func(*scanner.Scanner, string) {} // bad tokens are found below
	p.next()
	var e Expr
	for {
		start := p.pos()
		t, err := p.term()
		if err != nil {
			return nil, err
		}
		if t.Kind == zeroTerm && (e != nil || p.token != scanner.EOF) {
			return nil, p.fail(start, "zero stands alone")
		}
		if t.Kind == zeroTerm {
			return nil, nil
		}
		e = append(e, t)
		if p.token == scanner.EOF {
			return e, nil
		}
		if err := p.expect('+'); err != nil {
			return nil, err
		}
	}
}

type parser struct {
	scanner.Scanner
	text  string
	token rune
}

func (p *parser) next() { p.token = p.Scan() }

// pos is the offset of the current token.
func (p *parser) pos() int {
	if p.token == scanner.EOF {
		return len(p.text)
	}
	return min(p.Position.Offset, len(p.text))
}

func (p *parser) fail(pos int, format string, args ...any) error {
	return &ParseError{Text: p.text, Pos: pos, Msg: fmt.Sprintf(format, args...)}
}

func (p *parser) expect(c rune) error {
	if p.token != c {
		if p.token == scanner.EOF {
			return p.fail(p.pos(), "expected %q, found the end", c)
		}
		return p.fail(p.pos(), "expected %q, found %q", c, p.TokenText())
	}
	p.next()
	return nil
}

func (p *parser) term() (Term, error) {
	start, word := p.pos(), p.TokenText()
	if p.token != scanner.Ident {
		return Term{}, p.fail(start, "expected a mean function: one of %s", strings.Join(Kinds(), ", "))
	}
	if !slices.Contains(Kinds(), word) {
		return Term{}, p.fail(start, "unknown mean function %q%s: known are %s", word, suggest.DidYouMean(word, Kinds()), strings.Join(Kinds(), ", "))
	}
	t := Term{Kind: word}
	p.next()
	counted := word == polyTerm || word == bumpsTerm
	if p.token != '(' {
		if counted {
			return t, p.fail(p.pos(), "%s needs %s, as in %s(3)", word, countName(word), word)
		}
		return t, nil
	}
	if word == constantTerm || word == zeroTerm {
		return t, p.fail(p.pos(), "%s has no arguments", word)
	}
	p.next()
	return t, p.arguments(&t, counted)
}

func countName(kind string) string {
	if kind == polyTerm {
		return "a degree"
	}
	return "the number of bumps per column"
}

func (p *parser) arguments(t *Term, counted bool) error {
	if counted {
		limit := maxBumps
		if t.Kind == polyTerm {
			limit = maxDegree
		}
		v, err := strconv.Atoi(p.TokenText())
		if p.token != scanner.Int || err != nil || v < 1 || v > limit {
			return p.fail(p.pos(), "%s needs %s from 1 to %d", t.Kind, countName(t.Kind), limit)
		}
		t.Count = v
		p.next()
		if p.token == ')' {
			p.next()
			return nil
		}
		if err := p.expect(','); err != nil {
			return err
		}
	}
	if p.token != scanner.Ident || p.TokenText() != "dims" {
		return p.fail(p.pos(), "expected dims=COLUMN or dims=[COLUMN, …]")
	}
	p.next()
	if err := p.expect('='); err != nil {
		return err
	}
	if err := p.dims(t); err != nil {
		return err
	}
	return p.expect(')')
}

// dims reads a column number or a bracketed list.
func (p *parser) dims(t *Term) error {
	bracket := p.token == '['
	if bracket {
		p.next()
	}
	for {
		c, err := strconv.Atoi(p.TokenText())
		if p.token != scanner.Int || err != nil {
			return p.fail(p.pos(), "dims needs column numbers from 0")
		}
		if slices.Contains(t.Dims, c) {
			return p.fail(p.pos(), "column %d is given twice", c)
		}
		t.Dims = append(t.Dims, c)
		p.next()
		if !bracket {
			return nil
		}
		if p.token != ',' {
			return p.expect(']')
		}
		p.next()
	}
}

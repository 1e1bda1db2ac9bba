package mean

import (
	"strconv"
	"strings"

	"gpfit/internal/textform"
)

// Limits of the text form. Higher powers than the tenth and thousands of bumps are
// probably typing errors: they would be collinear in floating-point arithmetic.
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

// Kinds returns the words that the text form accepts.
func Kinds() []string { return []string{zeroTerm, constantTerm, linearTerm, polyTerm, bumpsTerm} }

// Summand is one term of a mean function.
type Summand struct {
	// Kind is a word of [Kinds] other than zero.
	Kind string
	// Count is the degree of a poly, the number of bumps per column, or 0.
	Count int
	// Dims are the labels of the columns that the term acts on; nil means all.
	Dims []int
}

// Expr is the expression of a mean function; empty means zero. Every other
// expression includes the constant, even if it is not written. String returns the
// text form, which [Parse] reads back to an equal expression.
type Expr []Summand

func (t Summand) String() string { return t.text(nil) }

func (t Summand) text(columns textform.Columns) string {
	var args []string
	if t.Count > 0 {
		args = append(args, strconv.Itoa(t.Count))
	}
	if t.Dims != nil {
		args = append(args, "dims="+columns.ColumnList(t.Dims))
	}
	return textform.Call(t.Kind, args)
}

func (e Expr) String() string { return e.Text(nil) }

// Text returns the text form with the names of columns in place of indices, as
// [Parse] with these columns reads it.
func (e Expr) Text(columns []string) string {
	if len(e) == 0 {
		return zeroTerm
	}
	words := make([]string, len(e))
	for i, t := range e {
		words[i] = t.text(columns)
	}
	return strings.Join(words, " + ")
}

// ParseError reports a mean function that cannot be read.
type ParseError = textform.Error

// CheckText finds mistakes in the text of a mean function before its table is read: dims
// may give any name. Errors are [*ParseError].
func CheckText(text string) error {
	_, err := parse(textform.Scanner{What: "mean", Text: text, AnyColumn: true})
	return err
}

// Parse reads the text form of a mean function of the named columns:
//
//	mean = "zero" | term { "+" term }
//	term = "constant" | "linear" [ "(" dims ")" ]
//	     | "poly" "(" degree [ "," dims ] ")" | "bumps" "(" count [ "," dims ] ")"
//	dims = "dims" "=" ( column | "[" column { "," column } "]" )
//
// A column is an index or, unless columns is nil, a name, in double quotes if it has blanks,
// brackets, commas, quotes or equals signs, or looks like a number. linear contains every column,
// poly(k) the powers 1 … k of every column without products of different columns, and bumps(m) m
// Gaussian bumps on every column (see [Expr.Basis] for their positions). All of them include the
// constant. The constant, and powers that several terms contain, count once. Empty text means zero.
// Errors are [*ParseError].
func Parse(text string, columns []string) (Expr, error) {
	return parse(textform.Scanner{What: "mean", Text: text, Columns: columns})
}

func parse(text textform.Scanner) (Expr, error) {
	if strings.TrimSpace(text.Text) == "" {
		return nil, nil
	}
	p := &parser{text}
	var e Expr
	err := p.Each('+', func() error {
		kind, start, err := p.OneOf("mean function", Kinds())
		switch {
		case err != nil:
			return err
		case kind == zeroTerm && (e != nil || !p.AtEnd()):
			return p.Fail(start, "zero cannot be combined with other terms")
		case kind == zeroTerm:
			return nil
		}
		t, err := p.term(kind)
		e = append(e, t)
		return err
	})
	if err == nil && !p.AtEnd() {
		err = p.Expected("'+'")
	}
	if err != nil {
		return nil, err
	}
	return e, nil
}

type parser struct{ textform.Scanner }

// term reads the arguments of a term of the given kind.
func (p *parser) term(kind string) (t Summand, err error) {
	t.Kind = kind
	counted := kind == polyTerm || kind == bumpsTerm
	switch opened := p.Accept('('); {
	case !opened && counted:
		return t, p.Fail(p.Pos, "%s needs %s, as in %s(3)", kind, countName(kind), kind)
	case !opened:
		return t, nil
	case kind == constantTerm:
		return t, p.Fail(p.Pos-1, "%s has no arguments", kind)
	}
	if counted {
		if err := p.count(&t); err != nil || p.Accept(')') {
			return t, err
		}
		if err := p.Expect(','); err != nil {
			return t, err
		}
	}
	if word, start := p.Word(); word != "dims" {
		return t, p.Fail(start, "expected dims=COLUMN or dims=[COLUMN, …]")
	}
	if t.Dims, err = p.Dims(); err != nil {
		return t, err
	}
	return t, p.Expect(')')
}

func countName(kind string) string {
	if kind == polyTerm {
		return "a degree"
	}
	return "the number of bumps per column"
}

func (p *parser) count(t *Summand) (err error) {
	limit := maxBumps
	if t.Kind == polyTerm {
		limit = maxDegree
	}
	text, start := p.Value()
	if t.Count, err = strconv.Atoi(text); err != nil || t.Count < 1 || t.Count > limit {
		return p.Fail(start, "%s needs %s from 1 to %d", t.Kind, countName(t.Kind), limit)
	}
	return nil
}

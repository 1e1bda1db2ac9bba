package mean

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"gpfit/internal/each"
	"gpfit/internal/suggest"
	"gpfit/internal/textform"
)

// Limits of the text form. Higher powers than the tenth and thousands of bumps are
// probably typing errors: they would be collinear in floating-point arithmetic.
const (
	maxDegree    = 10
	maxBumps     = 1000
	maxHarmonics = 500
)

// The kinds of terms.
const (
	constantTerm = "constant"
	linearTerm   = "linear"
	polyTerm     = "poly"
	bumpsTerm    = "bumps"
	seasonalTerm = "seasonal"
	zeroTerm     = "zero"
)

// Kinds returns the words that the text form accepts.
func Kinds() []string {
	return []string{zeroTerm, constantTerm, linearTerm, polyTerm, bumpsTerm, seasonalTerm}
}

// Summand is one term of a mean function.
type Summand struct {
	// Kind is a word of [Kinds] other than zero.
	Kind string
	// Count is the degree of a poly, the number of bumps per column or of harmonics of a season, or 0.
	Count int
	// From is the least power of a poly; 0 is 1.
	From int
	// Period is a season's, in units of the column; By, unless it is 0, is the period of the longer one with which it changes.
	Period, By float64
	// Dims are the labels of the columns that the term acts on; nil means all.
	Dims []int
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// Expr is the expression of a mean function; empty means zero. Every other
// expression includes the constant, even if it is not written. String returns the
// text form, which [Parse] reads back to an equal expression.
type Expr []Summand

func (t Summand) String() string { return t.text(nil) }

func (t Summand) text(columns textform.Columns) string {
	var args []string
	if t.Period > 0 {
		args = append(args, number(t.Period))
	}
	if t.Count > 0 {
		args = append(args, strconv.Itoa(t.Count))
	}
	if t.From > 1 {
		args = append(args, "from="+strconv.Itoa(t.From))
	}
	if t.By > 0 {
		args = append(args, "by="+number(t.By))
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
	words := each.Of(e, func(t Summand) string { return t.text(columns) })
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
//	     | "poly" "(" degree [ "," "from" "=" power ] [ "," dims ] ")" | "bumps" "(" count [ "," dims ] ")"
//	     | "seasonal" "(" period "," harmonics [ "," "by" "=" period ] [ "," dims ] ")"
//	dims = "dims" "=" ( column | "[" column { "," column } "]" )
//
// A column is an index or, unless columns is nil, a name, in double quotes if it has blanks,
// brackets, commas, quotes or equals signs, or looks like a number. linear contains every column,
// poly(k) the powers 1 … k of every column without products of different columns, with from=j only the powers j … k,
// and bumps(m) m Gaussian bumps on every column (see [Expr.Basis] for their positions). seasonal(p, k) contains the
// waves of the periods p, p/2 … p/k, in units of the column, each as a cosine and a sine; with by=q
// also the frequencies j/p ± 1/q, so that the season changes with a longer one. All of them
// include the constant. The constant, and powers that several terms contain, count once. Empty text means zero.
// Errors are [*ParseError].
func Parse(text string, columns []string) (Expr, error) {
	return parse(textform.Scanner{What: "mean", Text: text, Columns: columns})
}

func parse(text textform.Scanner) (Expr, error) {
	if strings.TrimSpace(text.Text) == "" {
		return nil, nil
	}
	text.Others = suggest.Others{"poly(2)": "quadratic", "poly(3)": "cubic", "constant": "const ordinary", "linear": "universal trend"}
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

// counted says what a term counts, how many it may have, and its argument besides dims.
var counted = map[string]struct {
	what, example, other string
	most                 int
}{
	polyTerm:     {"a degree", "3", "from", maxDegree},
	bumpsTerm:    {"the number of bumps per column", "3", "", maxBumps},
	seasonalTerm: {"a period and the number of harmonics", "24, 3", "by", maxHarmonics},
}

// term reads the arguments of a term of the given kind.
func (p *parser) term(kind string) (t Summand, err error) {
	t.Kind = kind
	of, counts := counted[kind]
	switch opened := p.Accept('('); {
	case !opened && counts:
		return t, p.Fail(p.Pos, "%s needs %s, as in %s(%s)", kind, of.what, kind, of.example)
	case !opened:
		return t, nil
	case kind == constantTerm:
		return t, p.Fail(p.Pos-1, "%s has no arguments", kind)
	}
	more := func() bool { // whether another argument follows
		if err == nil && !p.Accept(')') {
			err = p.Expect(',')
			return err == nil
		}
		return false
	}
	if kind == seasonalTerm {
		if t.Period, err = p.period(); err != nil {
			return t, err
		}
		if !p.Accept(',') {
			return t, p.Fail(p.Pos, "seasonal needs %s, as in seasonal(%s)", of.what, of.example)
		}
	}
	if counts {
		if t.Count, err = p.count(kind, of.what, of.most); !more() {
			return t, err
		}
	}
	word, start := p.Word()
	if word != "" && word == of.other {
		if err = p.Expect('='); err == nil && kind == polyTerm {
			t.From, err = p.count(kind, "a least power", t.Count)
		} else if err == nil {
			t.By, err = p.period()
		}
		if !more() {
			return t, err
		}
		word, start = p.Word()
	}
	if word != "dims" {
		also := map[string]string{seasonalTerm: "by=PERIOD or ", polyTerm: "from=POWER or "}[kind]
		return t, p.Fail(start, "expected %sdims=COLUMN or dims=[COLUMN, …]", also)
	}
	if t.Dims, err = p.Dims(); err != nil {
		return t, err
	}
	return t, p.Expect(')')
}

// count reads a number from 1 to most.
func (p *parser) count(kind, what string, most int) (n int, err error) {
	text, start := p.Value()
	if n, err = strconv.Atoi(text); err != nil || n < 1 || n > most {
		return 0, p.Fail(start, "%s needs %s from 1 to %d", kind, strings.TrimPrefix(what, "a period and "), most)
	}
	return n, nil
}

// period reads a period.
func (p *parser) period() (v float64, err error) {
	text, start := p.Value()
	if v, err = strconv.ParseFloat(text, 64); err != nil || !(v > 0) || math.IsInf(v, 0) {
		return 0, p.Fail(start, "a season needs a period, a positive number in units of its column")
	}
	return v, nil
}

// powers returns the least and the highest power of a column in a term, 1 and 0 if it has none.
func (t Summand) powers() (least, highest int) {
	switch t.Kind {
	case linearTerm:
		return 1, 1
	case polyTerm:
		return max(1, t.From), t.Count
	}
	return 1, 0
}

// Without returns the expression without a line or power of a column. labels name all columns.
func (e Expr) Without(f Function, labels []int) Expr {
	var out Expr
	add := func(least, highest int, dims ...int) {
		same := func(o Summand) bool {
			from, to := o.powers()
			return o.Dims != nil && from == least && to == highest
		}
		switch k := slices.IndexFunc(out, same); {
		case least > highest || len(dims) == 0:
		case k >= 0:
			out[k].Dims = slices.Sorted(slices.Values(slices.Concat(dims, out[k].Dims)))
		case highest == 1:
			out = append(out, Summand{Kind: linearTerm, Dims: dims})
		default:
			out = append(out, Summand{Kind: polyTerm, Count: highest, From: least, Dims: dims})
		}
	}
	for _, t := range e {
		dims := t.Dims
		if dims == nil {
			dims = labels
		}
		least, highest := t.powers()
		if f.Index < least || f.Index > highest || !slices.Contains(dims, f.Label) {
			out = append(out, t)
			continue
		}
		add(least, f.Index-1, f.Label)
		add(f.Index+1, highest, f.Label)
		add(least, highest, slices.DeleteFunc(slices.Clone(dims), func(c int) bool { return c == f.Label })...)
	}
	if len(out) == 0 {
		out = Expr{{Kind: constantTerm}} // which every term includes
	}
	return out
}

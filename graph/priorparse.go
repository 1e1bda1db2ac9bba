package graph

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gpfit/internal/suggest"
)

// PriorError reports the text of a prior that cannot be read.
type PriorError struct {
	// Text is the whole text and Pos the byte offset of the fault in it.
	Text string
	Pos  int
	// Msg says what is wrong and what was expected.
	Msg string
}

// Error prints the message, the text and a mark below the faulty character.
func (e *PriorError) Error() string {
	return fmt.Sprintf("prior: %s\n  %s\n  %s^", e.Msg, e.Text, strings.Repeat(" ", len([]rune(e.Text[:e.Pos]))))
}

// String prints the text form that [ParsePrior] reads back.
func (p Prior) String() string {
	words := make([]string, len(p.Args))
	for i, v := range p.Args {
		words[i] = strconv.FormatFloat(v, 'g', -1, 64)
	}
	return p.Family + "(" + strings.Join(words, ", ") + ")"
}

// usage is the family with the names of its arguments.
func (f *priorFamily) usage() string {
	words := make([]string, len(f.args))
	for i, a := range f.args {
		words[i] = a.name
		if !math.IsNaN(a.fallback) {
			words[i] += "=" + strconv.FormatFloat(a.fallback, 'g', -1, 64)
		}
	}
	return f.name + "(" + strings.Join(words, ", ") + ")"
}

// ParsePrior reads a prior, FAMILY(NUMBER, …) or FAMILY(NAME=NUMBER, …), for
// example "gamma(2, 0.5)" or "gamma(shape=2, rate=0.5)". Errors are
// [*PriorError].
func ParsePrior(text string) (Prior, error) {
	p := &priorParser{text: text}
	return p.prior()
}

type priorParser struct {
	text string
	pos  int
}

func (p *priorParser) fail(pos int, format string, args ...any) error {
	return &PriorError{Text: p.text, Pos: pos, Msg: fmt.Sprintf(format, args...)}
}

func (p *priorParser) skipBlanks() {
	for p.pos < len(p.text) && strings.IndexByte(" \t\n\r", p.text[p.pos]) >= 0 {
		p.pos++
	}
}

// word reads up to the next blank or mark, and says where it began.
func (p *priorParser) word() (string, int) {
	p.skipBlanks()
	start := p.pos
	for p.pos < len(p.text) && strings.IndexByte(" \t\n\r(),=", p.text[p.pos]) < 0 {
		p.pos++
	}
	return p.text[start:p.pos], start
}

func (p *priorParser) accept(c byte) bool {
	p.skipBlanks()
	if p.pos < len(p.text) && p.text[p.pos] == c {
		p.pos++
		return true
	}
	return false
}

func (p *priorParser) prior() (Prior, error) {
	name, start := p.word()
	f := Prior{Family: name}.family()
	switch {
	case name == "":
		return Prior{}, p.fail(start, "expected one of %s", strings.Join(PriorFamilies(), ", "))
	case f == nil:
		return Prior{}, p.fail(start, "unknown density %q%s: known are %s", name, suggest.DidYouMean(name, PriorFamilies()), strings.Join(PriorFamilies(), ", "))
	case !p.accept('('):
		return Prior{}, p.fail(p.pos, "expected '(': %s", f.usage())
	}
	out := Prior{Family: name, Args: make([]float64, len(f.args))}
	starts := make([]int, len(f.args))
	for i, a := range f.args {
		out.Args[i], starts[i] = a.fallback, -1
	}
	named := false
	for i := 0; !p.accept(')'); i++ {
		if i > 0 && !p.accept(',') {
			return Prior{}, p.fail(p.pos, "expected ',' or ')': %s", f.usage())
		}
		if err := p.argument(f, i, &named, out.Args, starts); err != nil {
			return Prior{}, err
		}
	}
	closing := p.pos - 1
	if p.skipBlanks(); p.pos < len(p.text) {
		return Prior{}, p.fail(p.pos, "expected the end, found %q", p.text[p.pos:])
	}
	for i, a := range f.args {
		if math.IsNaN(out.Args[i]) {
			return Prior{}, p.fail(closing, "%s is missing: %s", a.name, f.usage())
		}
	}
	if err := p.check(f, out.Args, starts); err != nil {
		return Prior{}, err
	}
	return out, nil
}

// argument reads the i-th NUMBER or NAME=NUMBER.
func (p *priorParser) argument(f *priorFamily, i int, named *bool, args []float64, starts []int) error {
	text, start := p.word()
	switch {
	case p.accept('='):
		*named = true
		names := make([]string, len(f.args))
		for k, a := range f.args {
			names[k] = a.name
		}
		if i = slices.Index(names, text); i < 0 {
			return p.fail(start, "%s has no argument %q%s: %s", f.name, text, suggest.DidYouMean(text, names), f.usage())
		}
		text, start = p.word()
	case *named:
		return p.fail(start, "a number without a name after one with: %s", f.usage())
	case i >= len(f.args):
		return p.fail(start, "too many arguments: %s", f.usage())
	}
	a := f.args[i]
	if starts[i] >= 0 {
		return p.fail(start, "%s is given twice", a.name)
	}
	v, err := strconv.ParseFloat(text, 64)
	switch {
	case text == "":
		return p.fail(start, "expected a number for %s: %s", a.name, f.usage())
	case err != nil || v-v != 0:
		return p.fail(start, "%s needs a finite number, not %q", a.name, text)
	case a.positive && !(v > 0):
		return p.fail(start, "%s must be positive", a.name)
	}
	args[i], starts[i] = v, start
	return nil
}

// check compares arguments with one another and refuses those whose density is
// beyond floating point.
func (p *priorParser) check(f *priorFamily, args []float64, starts []int) error {
	if f.args[0].name == "lo" && !(args[0] < args[1]) {
		return p.fail(starts[1], "hi must be above lo")
	}
	g := f.form(args)
	for _, v := range []float64{g.constant, g.lz, g.qz, g.cz, g.lx, g.qx, g.cx, g.qb, g.centre, g.radius} {
		if v-v != 0 {
			return p.fail(0, "these numbers are too large or too small to compute with")
		}
	}
	return nil
}

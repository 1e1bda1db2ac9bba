package graph

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"gpfit/internal/suggest"
	"gpfit/internal/textform"
)

// PriorError reports the text of a prior that cannot be read.
type PriorError = textform.Error

// String returns the text form, which [ParsePrior] reads back.
func (p Prior) String() string { return textform.Call(p.Family, textform.Words(p.Args)) }

// usage returns the family with the names of its arguments.
func (f *priorFamily) usage() string {
	words := make([]string, len(f.args))
	for i, a := range f.args {
		words[i] = a.name
		if !math.IsNaN(a.fallback) {
			words[i] += fmt.Sprint("=", a.fallback)
		}
	}
	return textform.Call(f.name, words)
}

// ParsePrior reads a prior, FAMILY(NUMBER, …) or FAMILY(NAME=NUMBER, …), for
// example "gamma(2, 0.5)" or "gamma(shape=2, rate=0.5)". Errors are
// [*PriorError].
func ParsePrior(text string) (Prior, error) {
	p := &priorParser{textform.Scanner{What: "prior", Text: text}}
	name, _, err := p.OneOf("density", PriorFamilies())
	if err != nil {
		return Prior{}, err
	}
	f := Prior{Family: name}.family()
	if !p.Accept('(') {
		return Prior{}, p.Fail(p.Pos, "expected '(': %s", f.usage())
	}
	out := Prior{Family: name, Args: make([]float64, len(f.args))}
	starts := make([]int, len(f.args))
	for i, a := range f.args {
		out.Args[i], starts[i] = a.fallback, -1
	}
	if !p.Accept(')') {
		given, named := 0, false
		err := p.List(')', func() error {
			given++
			return p.argument(f, given-1, &named, out.Args, starts)
		})
		if err != nil {
			return Prior{}, err
		}
	}
	closing := p.Pos - 1
	if !p.AtEnd() {
		return Prior{}, p.Expected("the end")
	}
	for i, a := range f.args {
		if math.IsNaN(out.Args[i]) {
			return Prior{}, p.Fail(closing, "%s is missing: %s", a.name, f.usage())
		}
	}
	if err := p.check(f, out.Args, starts); err != nil {
		return Prior{}, err
	}
	return out, nil
}

type priorParser struct{ textform.Scanner }

// argument reads the i-th NUMBER or NAME=NUMBER.
func (p *priorParser) argument(f *priorFamily, i int, named *bool, args []float64, starts []int) error {
	text, start := p.Value()
	switch {
	case p.Accept('='):
		*named = true
		names := make([]string, len(f.args))
		for k, a := range f.args {
			names[k] = a.name
		}
		if i = slices.Index(names, text); i < 0 {
			return p.Fail(start, "%s has no argument %q%s: %s", f.name, text, suggest.DidYouMean(text, names), f.usage())
		}
		text, start = p.Value()
	case *named:
		return p.Fail(start, "a number without a name follows one with a name: %s", f.usage())
	case i >= len(f.args):
		return p.Fail(start, "too many arguments: %s", f.usage())
	}
	a := f.args[i]
	if starts[i] >= 0 {
		return p.Fail(start, "%s is given twice", a.name)
	}
	v, err := strconv.ParseFloat(text, 64)
	switch {
	case text == "":
		return p.Fail(start, "expected a number for %s: %s", a.name, f.usage())
	case err != nil || v-v != 0:
		return p.Fail(start, "%s needs a finite number, not %q", a.name, text)
	case a.positive && !(v > 0):
		return p.Fail(start, "%s must be positive", a.name)
	}
	args[i], starts[i] = v, start
	return nil
}

// check compares the arguments and rejects those whose density overflows or
// underflows.
func (p *priorParser) check(f *priorFamily, args []float64, starts []int) error {
	if f.args[0].name == "lo" && !(args[0] < args[1]) {
		return p.Fail(starts[1], "hi must be above lo")
	}
	g := f.form(args)
	for _, v := range []float64{g.constant, g.lz, g.qz, g.cz, g.lx, g.qx, g.cx, g.qb, g.centre, g.radius} {
		if v-v != 0 {
			return p.Fail(0, "these numbers are too large or too small to compute with")
		}
	}
	return nil
}

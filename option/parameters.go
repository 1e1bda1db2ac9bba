package option

import (
	"errors"
	"math"
	"strconv"
	"strings"

	"gpfit/fit/problem"
	"gpfit/graph"
	"gpfit/internal/textform"
)

// The kinds of options that name parameters.
var (
	Starts    = named("NAME=VALUE", "map[string]float64", readStart)                          // []problem.Assignment
	Fixed     = named("NAME or NAME=VALUE", "map[string]*float64", readFixed)                 // []problem.Assignment
	Intervals = named("NAME=LO:HI", "map[string][]float64", readInterval)                     // []problem.Interval
	Densities = named("NAME=DENSITY", "map[string]string", readDensity)                       // []problem.ParameterPrior
	Names     = ValueKind{Name: "NAME", Repeats: true, split: whole, read: readParameterName} // []string
	Ties      = named("NAME=OTHER", "map[string]string", readTie)                             // []problem.Tie
)

func named(name, goType string, read func(o *Option, e Item) (any, error)) ValueKind {
	return ValueKind{Name: name, Go: goType, Repeats: true, Named: true, split: nameAndValue, read: read}
}

// nameAndValue splits NAME=VALUE.
func nameAndValue(text string) ([]Item, error) {
	name, value, given := textform.CutName(text)
	return []Item{{Name: strings.TrimSpace(name), Value: value, Given: given}}, nil
}

// number reads the value of an item, which may be missing.
func (o *Option) number(e Item) (float64, error) {
	if e.Name == "" {
		return 0, o.wrong(strconv.Quote(e.text()), "needs a parameter's name")
	}
	if !e.Given {
		return 0, nil
	}
	v, err := parseNumber(e.Value)
	switch {
	case err != nil:
		return 0, o.wrong(e.text(), "%s is not a number", textform.Quote(e.Value))
	case math.IsNaN(v) || math.IsInf(v, 0):
		return 0, o.wrong(e.text(), "must be a finite number")
	}
	return v, nil
}

func parseNumber(text string) (float64, error) {
	return strconv.ParseFloat(strings.TrimSpace(text), 64)
}

func readStart(o *Option, e Item) (any, error) {
	v, err := o.number(e)
	if err == nil && !e.Given {
		err = o.wrong(e.text(), "needs NAME=VALUE")
	}
	return []problem.Assignment{{Name: e.Name, Value: v, Given: true}}, err
}

func readFixed(o *Option, e Item) (any, error) {
	v, err := o.number(e)
	return []problem.Assignment{{Name: e.Name, Value: v, Given: e.Given}}, err
}

func readParameterName(o *Option, e Item) (any, error) {
	name := strings.TrimSpace(e.Value)
	if name == "" {
		return nil, o.wrong(strconv.Quote(e.Value), "needs a parameter's name")
	}
	return []string{name}, nil
}

// readInterval reads LO:HI, or LO..HI.
func readInterval(o *Option, e Item) (any, error) {
	lo, hi, ok := strings.Cut(e.Value, ":")
	if !ok {
		lo, hi, ok = strings.Cut(e.Value, "..")
	}
	b := problem.Interval{Name: e.Name}
	var err1, err2 error
	b.Lo, err1 = parseNumber(lo)
	b.Hi, err2 = parseNumber(hi)
	switch {
	case !ok || e.Name == "" || errors.Join(err1, err2) != nil:
		return nil, o.wrong(e.text(), "needs NAME=LO:HI with two numbers")
	case b.Lo-b.Lo != 0 || b.Hi-b.Hi != 0:
		return nil, o.wrong(e.text(), "must be finite numbers")
	case !(b.Lo < b.Hi):
		return nil, o.wrong(e.text(), "needs lower < upper")
	}
	return []problem.Interval{b}, nil
}

func readDensity(o *Option, e Item) (any, error) {
	if !e.Given || e.Name == "" {
		return nil, o.wrong(e.text(), "needs NAME=DENSITY, such as lengthscale=lognormal(0, 1)")
	}
	density, err := graph.ParsePrior(e.Value)
	if wrong, ok := errors.AsType[*graph.PriorError](err); ok {
		// The mark belongs below the whole text.
		wrong.Text, wrong.Pos = e.text(), wrong.Pos+len(e.text())-len(e.Value)
	}
	return []problem.ParameterPrior{{Name: e.Name, Density: density}}, err
}

func readTie(o *Option, e Item) (any, error) {
	t := problem.Tie{Name: e.Name, Source: strings.TrimSpace(e.Value)}
	if t.Name == "" || t.Source == "" {
		return nil, o.wrong(e.text(), "needs NAME=OTHER, two parameters")
	}
	return []problem.Tie{t}, nil
}

package flags

import (
	"errors"
	"strconv"
	"strings"

	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/fit"
	"gpfit/graph"
)

// NamedValue is the text NAME=VALUE of a flag, or NAME alone.
type NamedValue struct {
	flag, text  string
	Name, Value string
	// Given says that there is a value.
	Given bool
}

// NamedValues reads the texts of a flag and hands them on, up to the first error.
func NamedValues(flag string, texts []string, take func(NamedValue) error) error {
	for _, text := range texts {
		name, value, given := strings.Cut(text, "=")
		if err := take(NamedValue{flag, text, strings.TrimSpace(name), value, given}); err != nil {
			return err
		}
	}
	return nil
}

// needs is the usage error for a text that is not what the flag needs.
func (a NamedValue) needs(what string) error {
	return exit.Usagef("--%s %s: needs %s", a.flag, a.text, what)
}

// Number is the value, which may be missing.
func (a NamedValue) Number() (float64, error) {
	if a.Name == "" {
		return 0, exit.Usagef("--%s %q: needs a parameter's name", a.flag, a.text)
	}
	if !a.Given {
		return 0, nil
	}
	v, err := number(a.Value)
	if err != nil {
		return 0, exit.Usagef("--%s %s: %q is not a number", a.flag, a.text, a.Value)
	}
	return v, nil
}

// PositiveNumber is the value, which must be there.
func (a NamedValue) PositiveNumber() (float64, error) {
	v, err := a.Number()
	if err == nil && (!a.Given || !(v >= 0)) {
		err = a.needs("NAME=VALUE with a positive number")
	}
	return v, err
}

func number(text string) (float64, error) { return strconv.ParseFloat(strings.TrimSpace(text), 64) }

// parameterFlags say what is known of parameters beforehand.
type parameterFlags struct{ set, fix, bounds, priors, ties []string }

// apply turns the flags into fit's options.
func (f *parameterFlags) apply(o *fit.Options) error {
	for _, list := range []struct {
		flag  string
		texts []string
		take  func(NamedValue) error
	}{
		{"set", f.set, func(a NamedValue) error {
			v, err := a.Number()
			if err == nil && !a.Given {
				err = a.needs("NAME=VALUE")
			}
			o.Set = append(o.Set, fit.Assignment{Name: a.Name, Value: v, Given: true})
			return err
		}},
		{"fix", f.fix, func(a NamedValue) error {
			v, err := a.Number()
			o.Fix = append(o.Fix, fit.Assignment{Name: a.Name, Value: v, Given: a.Given})
			return err
		}},
		{"bounds", f.bounds, func(a NamedValue) error {
			lo, hi, ok := strings.Cut(a.Value, ":")
			l, err1 := number(lo)
			h, err2 := number(hi)
			if !ok || a.Name == "" || errors.Join(err1, err2) != nil {
				return a.needs("NAME=LO:HI with two numbers")
			}
			o.Bounds = append(o.Bounds, fit.Interval{Name: a.Name, Lo: l, Hi: h})
			return nil
		}},
		{"prior", f.priors, func(a NamedValue) error {
			density, err := a.prior()
			o.Priors = append(o.Priors, fit.Prior{Name: a.Name, Density: density})
			return err
		}},
		{"tie", f.ties, func(a NamedValue) error {
			source := strings.TrimSpace(a.Value)
			if a.Name == "" || source == "" {
				return a.needs("NAME=OTHER, two parameters")
			}
			o.Ties = append(o.Ties, fit.Tie{Name: a.Name, Source: source})
			return nil
		}},
	} {
		if err := NamedValues(list.flag, list.texts, list.take); err != nil {
			return err
		}
	}
	return nil
}

// prior is the value as a density.
func (a NamedValue) prior() (graph.Prior, error) {
	if !a.Given || a.Name == "" {
		return graph.Prior{}, a.needs("NAME=DENSITY, such as lengthscale=lognormal(0, 1)")
	}
	density, err := graph.ParsePrior(a.Value)
	var wrong *graph.PriorError
	if errors.As(err, &wrong) {
		// The mark goes below the flag's whole text.
		wrong.Text, wrong.Pos = a.text, wrong.Pos+len(a.text)-len(a.Value)
	}
	return density, err
}

// ParseGrid reads LO:HI:COUNT, the value of --grid: COUNT equally spaced numbers
// from LO to HI.
func ParseGrid(text string) ([]float64, error) {
	parts := strings.Split(text, ":")
	if len(parts) != 3 {
		return nil, exit.Usagef("--grid %s: needs LO:HI:COUNT", text)
	}
	lo, err1 := strconv.ParseFloat(parts[0], 64)
	hi, err2 := strconv.ParseFloat(parts[1], 64)
	count, err3 := strconv.Atoi(parts[2])
	if err1 != nil || err2 != nil || err3 != nil || !(lo < hi) || hi-lo-(hi-lo) != 0 || count < 2 || count > 1<<24 {
		return nil, exit.Usagef("--grid %s: needs LO:HI:COUNT with LO < HI and a COUNT from 2", text)
	}
	out := make([]float64, count)
	for i := range out {
		t := float64(i) / float64(count-1)
		out[i] = lo*(1-t) + hi*t
	}
	return out, nil
}

package flags

import (
	"cmp"
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
func (v NamedValue) needs(what string) error {
	return exit.Usagef("--%s %s: needs %s", v.flag, v.text, what)
}

// Number is the value, which may be missing.
func (v NamedValue) Number() (float64, error) {
	if v.Name == "" {
		return 0, exit.Usagef("--%s %q: needs a parameter's name", v.flag, v.text)
	}
	if !v.Given {
		return 0, nil
	}
	n, err := number(v.Value)
	if err != nil {
		return 0, exit.Usagef("--%s %s: %q is not a number", v.flag, v.text, v.Value)
	}
	return n, nil
}

// PositiveNumber is the value, which must be there.
func (v NamedValue) PositiveNumber() (float64, error) {
	n, err := v.Number()
	if err == nil && (!v.Given || !(n >= 0)) {
		err = v.needs("NAME=VALUE with a positive number")
	}
	return n, err
}

func number(text string) (float64, error) { return strconv.ParseFloat(strings.TrimSpace(text), 64) }

// parameterFlags say what is known of parameters beforehand.
type parameterFlags struct{ set, fix, bounds, priors, ties []string }

// apply turns the flags into fit's options.
func (f *parameterFlags) apply(o *fit.Options) error {
	return cmp.Or(
		NamedValues("set", f.set, func(v NamedValue) error {
			value, err := v.Number()
			if err == nil && !v.Given {
				err = v.needs("NAME=VALUE")
			}
			o.Set = append(o.Set, fit.Assignment{Name: v.Name, Value: value, Given: true})
			return err
		}),
		NamedValues("fix", f.fix, func(v NamedValue) error {
			value, err := v.Number()
			o.Fix = append(o.Fix, fit.Assignment{Name: v.Name, Value: value, Given: v.Given})
			return err
		}),
		NamedValues("bounds", f.bounds, func(v NamedValue) error {
			lo, hi, ok := strings.Cut(v.Value, ":")
			b := fit.Interval{Name: v.Name}
			var err1, err2 error
			b.Lo, err1 = number(lo)
			b.Hi, err2 = number(hi)
			if !ok || v.Name == "" || errors.Join(err1, err2) != nil {
				return v.needs("NAME=LO:HI with two numbers")
			}
			o.Bounds = append(o.Bounds, b)
			return nil
		}),
		NamedValues("prior", f.priors, func(v NamedValue) error {
			density, err := v.density()
			o.Priors = append(o.Priors, fit.ParameterPrior{Name: v.Name, Density: density})
			return err
		}),
		NamedValues("tie", f.ties, func(v NamedValue) error {
			t := fit.Tie{Name: v.Name, Source: strings.TrimSpace(v.Value)}
			if t.Name == "" || t.Source == "" {
				return v.needs("NAME=OTHER, two parameters")
			}
			o.Ties = append(o.Ties, t)
			return nil
		}),
	)
}

// density is the value as a prior.
func (v NamedValue) density() (graph.Prior, error) {
	if !v.Given || v.Name == "" {
		return graph.Prior{}, v.needs("NAME=DENSITY, such as lengthscale=lognormal(0, 1)")
	}
	density, err := graph.ParsePrior(v.Value)
	var wrong *graph.PriorError
	if errors.As(err, &wrong) {
		// The mark goes below the flag's whole text.
		wrong.Text, wrong.Pos = v.text, wrong.Pos+len(v.text)-len(v.Value)
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

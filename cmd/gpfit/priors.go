package main

import (
	"errors"
	"strings"

	"github.com/spf13/pflag"

	"gpfit/fit"
	"gpfit/graph"
)

// priorFlags say what is known of parameters beforehand.
type priorFlags struct {
	priors, ties []string
}

func (f *priorFlags) add(s *pflag.FlagSet) {
	s.StringArrayVar(&f.priors, "prior", nil, "prior density of a parameter, `NAME=DENSITY` such as 'noise_variance=lognormal(-4, 1)': "+
		strings.Join(graph.PriorFamilies(), ", ")+" (scaled units; may be repeated)")
	s.StringArrayVar(&f.ties, "tie", nil, "let a parameter take the value of another, `NAME=OTHER` (may be repeated)")
}

func (f *priorFlags) apply(o *fit.Options) error {
	for _, text := range f.priors {
		p, err := parsePrior(text)
		if err != nil {
			return err
		}
		o.Priors = append(o.Priors, p)
	}
	for _, text := range f.ties {
		name, source, ok := strings.Cut(text, "=")
		t := fit.Tie{Name: strings.TrimSpace(name), Source: strings.TrimSpace(source)}
		if !ok || t.Name == "" || t.Source == "" {
			return usagef("--tie %s: needs NAME=OTHER, two parameters", text)
		}
		o.Ties = append(o.Ties, t)
	}
	return nil
}

// parsePrior reads NAME=DENSITY.
func parsePrior(text string) (fit.Prior, error) {
	name, density, ok := strings.Cut(text, "=")
	p := fit.Prior{Name: strings.TrimSpace(name)}
	if !ok || p.Name == "" {
		return p, usagef("--prior %s: needs NAME=DENSITY, such as lengthscale=lognormal(0, 1)", text)
	}
	var err error
	p.Density, err = graph.ParsePrior(density)
	var wrong *graph.PriorError
	if errors.As(err, &wrong) {
		// The mark goes below the flag's whole text.
		wrong.Text, wrong.Pos = text, wrong.Pos+len(text)-len(density)
	}
	return p, err
}

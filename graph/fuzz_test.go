package graph_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"gpfit/graph"
	"gpfit/internal/fuzzguard"
)

// FuzzParsePrior checks that no text costs much, that errors are
// [*graph.PriorError] and point into the text, and that a density prints as text
// that reads back to the same numbers, is never NaN, and is −∞ outside its support.
func FuzzParsePrior(f *testing.F) {
	for _, text := range []string{"lognormal(0,1)", "gamma(shape=2, rate=.5)", "smoothedbox(-1,1)", "uniform(1, 2)x", "normal(", "halfnormal(1e308)", "smoothedbox(0, 1, sigma=1e-3)"} {
		f.Add(text, 1.0)
	}
	f.Add("lognormal(700, 1e-3)", 0.0)
	f.Add("gamma(0.5, 1)", 0.0)
	f.Fuzz(func(t *testing.T, text string, x float64) {
		fuzzguard.Run(t, func() { checkPrior(t, text, x) })
	})
}

func checkPrior(t *testing.T, text string, x float64) {
	p, err := graph.ParsePrior(text)
	if err != nil {
		var pe *graph.PriorError
		if !errors.As(err, &pe) || pe.Pos < 0 || pe.Pos > len(text) || err.Error() == "" {
			t.Fatalf("error %#v", err)
		}
		return
	}
	q, err := graph.ParsePrior(p.String())
	if err != nil || q.Family != p.Family || !slices.Equal(q.Args, p.Args) {
		t.Fatalf("%q read back as %+v, %v", p, q, err)
	}
	if !p.Suits(true) && !p.Suits(false) {
		t.Fatalf("%s suits no parameter", p)
	}
	for _, at := range []float64{1, x} {
		v, inside := p.LogDensity(at), true
		if lo, hi := p.Support(); at < lo || at > hi {
			inside = false
		}
		if math.Abs(at) < 1e9 && (math.IsNaN(v) || !inside && !math.IsInf(v, -1)) {
			t.Fatalf("log density of %s at %v is %v", p, at, v)
		}
	}
}

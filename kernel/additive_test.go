package kernel

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gpfit/internal/testcheck"
)

// additives are the sums over columns of every family that has them.
func additives() (out []*Family) {
	for _, f := range families {
		if f.inColumns() {
			out = append(out, newAdditive(f))
		}
	}
	return out
}

// TestAdditive compares sums over columns with the sums of the textbook formulas of one column, and their derivatives
// with central differences.
func TestAdditive(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 1))
	for _, f := range additives() {
		for args, columns := range map[string][]int{"": {0, 1, 2}, ", ard": {0, 1, 2}, ", dims=1": {1}, ", ard, dims=[2, 0]": {2, 0}} {
			p := mustCompile(t, "additive("+f.of.Name+args+")", 3)
			checkGradient(t, p, 7)
			checkInputGradient(t, p, 7)
			for range 20 {
				theta, x, y := randomTheta(rng, p), randomPoints(rng, 1, 3).X, randomPoints(rng, 1, 3).X
				at := func(name string, column int) float64 {
					for i, n := range p.Names() {
						if n == name || n == name+"["+string(rune('0'+column))+"]" {
							return theta[i]
						}
					}
					return 1
				}
				want, size := 0.0, 0.0
				for _, c := range columns {
					v, s := definitions[f.of.Name](x[c:c+1], y[c:c+1], 0, func(name string, _ int) float64 { return at(name, c) })
					variance := at("variance", c) * at(signalVariance, c)
					want, size = want+variance*v, size+variance*s
				}
				if got := eval(p, theta, x, y); !(math.Abs(got-want) <= 2*relTol*size) {
					t.Errorf("%s at %v: %v, want %v", p.Text, theta, got, want)
				}
			}
		}
	}
}

// TestAdditiveText checks names and texts.
func TestAdditiveText(t *testing.T) {
	for text, want := range map[string]string{
		"additive(rbf)":                               "lengthscale signal_variance",
		"additive(rq, ard, dims=[2, 0])":              "lengthscale[2] lengthscale[0] alpha variance[2] variance[0]",
		"additive(rbf, ard) + rbf":                    "k1.lengthscale[0] k1.lengthscale[1] k1.lengthscale[2] k1.variance[0] k1.variance[1] k1.variance[2] k2.lengthscale k2.signal_variance",
		"additive(matern12, ard, dims=1)*linear(ard)": "k1.lengthscale[1] k1.variance[1] k2.lengthscale[0] k2.lengthscale[1] k2.lengthscale[2]",
	} {
		p := mustCompile(t, text, 3)
		if got := strings.Join(p.Names(), " "); got != want {
			t.Errorf("%s: parameters %s, want %s", text, got, want)
		}
		if p.Text != text || Unproved(testcheck.Get(Parse(text))(t)) {
			t.Errorf("%s: text %s", text, p.Text)
		}
	}
	for text, want := range map[string]string{
		"additive":                                   "additive needs the family of its terms",
		"additive()":                                 "term of additive",
		"additive(gibbs)":                            "unknown term of additive",
		"additive(additive)":                         "unknown term of additive",
		"additive(matern52, crd)":                    "additive has no argument \"crd\"",
		"additive(matern52, variance=1)":             "variance only with ard",
		"additive(rbf, ard, signal_variance=[1, 2])": "signal_variance is one number",
		"additive(rbf, ard, signal_variance=2)":      "does not have one",
	} {
		e, err := Parse(text)
		if err == nil {
			_, err = Compile(e, Columns(2))
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

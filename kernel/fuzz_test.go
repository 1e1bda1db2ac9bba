package kernel

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gpfit/internal/fuzzguard"
)

// FuzzParse checks that no text costs much, that errors are [*ParseError] and point
// into the text, and that an expression prints as text that reads back to it, with
// the same compiled function.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"rbf", "rbf(ard)*matern12 + (rbf(lengthscale=[1, 2e3], dims=[0, 1]))", "((rbf))", "rbf(", "rbf(dims=", "é",
		"periodic(dims=0, period=1)*rbf + linear", "rq(alpha=0.8, ard)", "poly(2, offset=0.25)", "poly(2, offset=0)", "poly(degree=3, ard)*cosine(period=[1, 2, 3], ard)",
		"constant(signal_variance=2) + constant", "poly(", "poly(2,", "linear(ard)*(rbf+poly)", "rbf(lengthscale=1e-320)", "matern52(dims=[2,0])",
		"formula(exp(-r/a)*cos(2*pi*r/b), a=1, b=2)", "formula((1+a*r2)^-b**2,ard,a=1,b=.5e1)*matern(3.5)", "formula(pos(1-r)^4*(dot-xx)/-yy)",
		"formula(tanh(x)*sigmoid(--y), dims=0)", "wendland(0)+formula(mismatches", "formula(log1p(abs(asin(1))))", "formula(2^3^c, c=1)",
		`rbf(dims=temp)`, `rbf(dims=["wind \"x\"", temp], ard) + linear(dims="1")`, `rbf(dims="`, `rbf(dims="\u12")`, "rbf(dims=[temp, 0])", "rbf(dims=tmp)"} {
		f.Add(text)
	}
	x := randomPoints(rand.New(rand.NewPCG(1, 2)), 3, 3)
	f.Fuzz(func(t *testing.T, text string) {
		fuzzguard.Run(t, func() { checkParse(t, text, x) })
	})
}

func checkParse(t *testing.T, text string, x *Points) {
	named := Parser{Columns: []string{"temp", `wind "x"`, "1"}}
	e, err := named.Parse(text)
	if errCheck := CheckText(text); err == nil && errCheck != nil {
		t.Fatalf("%q: %v before the table is read", text, errCheck)
	}
	if err != nil {
		var pe *ParseError
		if !errors.As(err, &pe) || pe.Pos < 0 || pe.Pos > len(text) || pe.Msg == "" || err.Error() == "" {
			t.Fatalf("%q: error %#v", text, err)
		}
		return
	}
	again, err := Parse(e.String())
	if err != nil || again.String() != e.String() {
		t.Fatalf("%q prints as %q, which reads back as %v, %v", text, e, again, err)
	}
	withNames := Text(e, named.Columns)
	if again, err := named.Parse(withNames); err != nil || again.String() != e.String() {
		t.Fatalf("%q prints as %q with names, which reads back as %v, %v", text, withNames, again, err)
	}
	p, err := Compile(e, Columns(3))
	q, errAgain := Compile(again, Columns(3))
	if err != nil || errAgain != nil {
		var ce *CompileError
		if err == nil || errAgain == nil || err.Error() != errAgain.Error() || !errors.As(err, &ce) {
			t.Fatalf("%q: %v, and read back %v", text, err, errAgain)
		}
		return
	}
	if len(p.Names()) != p.NumParams || !slices.Equal(p.Names(), q.Names()) {
		t.Fatalf("%q: names %v for %d parameters, read back %v", text, p.Names(), p.NumParams, q.Names())
	}
	if a, b := firstRow(p, x), firstRow(q, x); !slices.EqualFunc(a, b, sameBits) {
		t.Fatalf("%q: %v, read back %v", text, a, b)
	}
}

// firstRow returns k(x₀, xⱼ) for all j, at the start values of the text.
func firstRow(p *Program, x *Points) []float64 {
	theta := make([]float64, p.NumParams)
	for i := range theta {
		theta[i] = 1 + float64(i%7)/8
	}
	for _, q := range p.Params {
		copy(theta[q.Offset:], q.Start)
	}
	e := NewEvaluator(p)
	e.Bind(theta)
	out := make([]float64, x.N)
	e.Row(out, x, 0, x, 0, x.N)
	return out
}

func sameBits(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }

package kernel_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gpfit/internal/kerneltest"
	"gpfit/internal/must"
	"gpfit/kernel"
)

// TestZeroOffset compares kernels whose offset is the constant 0 with the same functions as
// formulas, and tests their derivatives.
func TestZeroOffset(t *testing.T) {
	const n, d = 8, 3
	rng := rand.New(rand.NewPCG(5, 1))
	rows := make([]float64, n*d)
	for i := range rows {
		rows[i] = rng.NormFloat64()
	}
	x := kernel.NewPoints(rows, n, d)
	for text, formula := range map[string]string{
		"poly(2, offset=0)":              "formula(dot^2)",
		"poly(5, dims=[2, 0], offset=0)": "formula(dot^5, dims=[2, 0])",
		"poly(3, ard, offset=0)":         "formula(dot^3, ard)",
		"poly(1, offset=0)":              "formula(dot)",
		"arcsine(offset=0)":              "formula(2/pi*asin(2*dot/a^2/sqrt((1 + 2*xx/a^2)*(1 + 2*yy/a^2))), a=1)",
		"rbf + poly(2, offset=0)*linear": "rbf + formula(dot^2)*linear",
	} {
		p, q := kerneltest.Program(t, text, d), kerneltest.Program(t, formula, d)
		if strings.Contains(strings.Join(p.Names(), " "), "offset") || len(p.Zeros) != 1 || !strings.HasSuffix(p.Zeros[0], "offset") {
			t.Errorf("%s: parameters %v, zeros %v", text, p.Names(), p.Zeros)
		}
		theta := make([]float64, p.NumParams)
		for i := range theta {
			theta[i] = 0.8 + 0.1*float64(i)
		}
		other := theta
		if q.NumParams > p.NumParams { // a formula with ard has a signal variance besides
			other = append(slices.Clone(theta), 1)
		}
		a, b := kernel.NewEvaluator(p), kernel.NewEvaluator(q)
		a.Bind(theta)
		b.Bind(other)
		got, want, top := make([]float64, n), make([]float64, n), make([]float64, n)
		b.Diagonal(top, x, 0, n)
		for i := range n {
			a.Row(got, x, i, x, 0, n)
			b.Row(want, x, i, x, 0, n)
			for j := range got {
				// √(k(x, x)k(x', x')) is the size of the terms of k.
				if !(math.Abs(got[j]-want[j]) <= 1e-14*math.Sqrt(top[i]*top[j])) {
					t.Errorf("%s: k(x%d, x%d) = %v, the formula %v", text, i, j, got[j], want[j])
				}
			}
		}
		kerneltest.Expression(t, text, nil, kerneltest.Options{Columns: []int{d}})
	}
}

// TestWithZero makes offsets of a text constants, by the names of the parameters.
func TestWithZero(t *testing.T) {
	for _, c := range []struct{ text, name, want string }{
		{"poly(2)", "offset", "poly(2, offset=0)"},
		{"poly(2, offset=3, signal_variance=2)", "offset", "poly(2, offset=0, signal_variance=2)"},
		{"poly + rbf*(linear + arcsine)", "k2.k2.k2.offset", "poly(2) + rbf*(linear + arcsine(offset=0))"},
		{"poly + poly", "k2.offset", "poly(2) + poly(2, offset=0)"},
		{"poly + poly", "offset", ""}, {"rbf", "lengthscale", ""}, {"poly", "signal_variance", ""}, {"poly", "k1.offset", ""},
	} {
		e := must.Get(kernel.Parse(c.text))(t)
		before := e.String()
		got, ok := kernel.WithZero(e, c.name)
		if e.String() != before {
			t.Errorf("%s changed to %s", before, e)
		}
		want := c.want
		if want == "" {
			want = before
		}
		if ok != (c.want != "") || got.String() != want {
			t.Errorf("%s, %s: %s, %v; want %s", c.text, c.name, got, ok, want)
		}
		again, err := kernel.Parse(got.String())
		if err != nil || again.String() != got.String() {
			t.Errorf("%s reads back as %v, %v", got, again, err)
		}
		prog, err := kernel.Compile(got, kernel.Columns(2))
		if err != nil || ok != (len(prog.Zeros) == 1 && prog.Zeros[0] == c.name) {
			t.Errorf("%s: zeros %v, %v", got, prog.Zeros, err)
		}
	}
}

// TestZeroErrors checks what is said where a 0 is wrong.
func TestZeroErrors(t *testing.T) {
	for text, want := range map[string]string{
		"poly(2, offset=-1)":          "a positive number or is the constant 0",
		"poly(2, signal_variance=0)":  "a start value is a positive number",
		"rbf(lengthscale=0)":          "a start value is a positive number",
		"formula(dot + a, a=0)":       "a start value is a positive number",
		"poly(2, offset=0, offset=1)": "given twice",
	} {
		if _, err := kernel.Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	prog := kerneltest.Program(t, "poly(2)", 1)
	if err := prog.CheckTheta([]float64{0, 1}); err == nil || !strings.Contains(err.Error(), "offset=0 in the kernel") {
		t.Errorf("a parameter 0: %v", err)
	}
}

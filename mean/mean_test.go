package mean

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gpfit/internal/fuzzguard"
	"gpfit/internal/testcheck"
	"gpfit/kernel"
)

func mustParse(t testing.TB, text string) Expr {
	t.Helper()
	return testcheck.Get(Parse(text, nil))(t)
}

func TestParse(t *testing.T) {
	for text, want := range map[string]Expr{
		"": nil, " zero ": nil,
		"constant":                        {{Kind: "constant"}},
		"linear":                          {{Kind: "linear"}},
		"linear(dims=2)":                  {{Kind: "linear", Dims: []int{2}}},
		"poly(3,dims=[0,4]) ":             {{Kind: "poly", Count: 3, Dims: []int{0, 4}}},
		"linear + bumps( 5 , dims = 0 )":  {{Kind: "linear"}, {Kind: "bumps", Count: 5, Dims: []int{0}}},
		"poly(3, from=2, dims=1)":         {{Kind: "poly", Count: 3, From: 2, Dims: []int{1}}},
		"poly(2)+bumps(1000)+constant":    {{Kind: "poly", Count: 2}, {Kind: "bumps", Count: 1000}, {Kind: "constant"}},
		"\tlinear\n+\nconstant + linear ": {{Kind: "linear"}, {Kind: "constant"}, {Kind: "linear"}},
	} {
		got := mustParse(t, text)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q:\n%s", text, diff)
		}
		if diff := cmp.Diff(got, mustParse(t, got.String())); diff != "" {
			t.Errorf("%q printed as %q:\n%s", text, got.String(), diff)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for _, c := range []struct {
		text, word string
		pos        int
	}{
		{"cubic", "unknown mean function", 0},
		{"lineer", `did you mean "linear"`, 0},
		{"linear + ", "expected a mean function", 9},
		{"linear linear", "expected '+'", 7},
		{"zero + linear", "zero cannot be combined", 0},
		{"linear + zero", "zero cannot be combined", 9},
		{"constant(1)", "no arguments", 8},
		{"poly", "needs a degree", 4},
		{"poly()", "a degree from 1 to 10", 5},
		{"poly(0)", "a degree from 1 to 10", 5},
		{"poly(11)", "a degree from 1 to 10", 5},
		{"poly(-1)", "a degree from 1 to 10", 5},
		{"poly(2, from=3)", "a least power from 1 to 2", 13},
		{"poly(2, by=3)", "expected from=POWER or dims=COLUMN", 8},
		{"bumps(2.5)", "number of bumps", 6},
		{"bumps(99999999999999999999)", "number of bumps", 6},
		{"bumps(5, width=2)", "expected dims=", 9},
		{"linear()", "expected dims=", 7},
		{"linear(dims)", "expected '='", 11},
		{"linear(dims=x)", "no names here", 12},
		{"linear(dims=[0,0])", "twice", 15},
		{"linear(dims=[0 1])", "expected ',' or ']'", 15},
		{"linear(dims=0", "found the end", 13},
		{"é", "unknown mean function", 0},
		{"2*linear", "expected a mean function", 0},
		{"linear + \x00", "expected a mean function", 9},
	} {
		_, err := Parse(c.text, nil)
		if pe := testcheck.Fail[*ParseError](t, err, c.word); pe != nil && pe.Pos != c.pos {
			t.Errorf("%q: %q at %d, want %d", c.text, pe.Msg, pe.Pos, c.pos)
		}
	}
}

// FuzzParse checks that no text costs much, that errors are [*ParseError] and point
// into the text, that an expression prints as text that reads back to an equal one,
// and that its functions are finite and as many as stated.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"linear + bumps(5, dims=0)", "poly(2, dims=[1,3])", "poly(4, from=2)", "zero", "constant + ", "\"a\" /* */ 'b'", "poly(0x2)", "bumps(1000)+bumps(999)", "poly(10)+linear", "seasonal(24, 3, by=1e3, dims=1)", "seasonal(7,500)+seasonal(3.5,2)", `linear(dims=temp) + poly(2, dims=["1", 1])`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) { fuzzguard.Run(t, func() { checkParse(t, text) }) })
}

func checkParse(t *testing.T, text string) {
	columns := []string{"temp", `wind "x"`, "1"}
	e, err := Parse(text, columns)
	if errCheck := CheckText(text); err == nil && errCheck != nil {
		t.Fatalf("%q: %v before the table is read", text, errCheck)
	}
	if err != nil {
		if pe := testcheck.Fail[*ParseError](t, err); pe == nil || pe.Pos < 0 || pe.Pos > len(text) || pe.Error() == "" {
			t.Fatalf("%q: %v", text, err)
		}
		return
	}
	plain, err := Parse(e.String(), nil)
	named, errNamed := Parse(e.Text(columns), columns)
	if err != nil || errNamed != nil || !cmp.Equal(e, plain) || !cmp.Equal(e, named) {
		t.Fatalf("%q → %q → %v, %v; %q → %v, %v", text, e.String(), plain, err, e.Text(columns), named, errNamed)
	}
	x, _ := points(5, 3)
	b, err := e.Basis(x, []int{0, 1, 2})
	if err != nil {
		return
	}
	h := b.Evaluate(x)
	if b.Validate(3) != nil || len(h) != len(b)*x.N || slices.ContainsFunc(h, func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) }) {
		t.Fatalf("%q: %d functions, %d values: %v", text, len(b), len(h), b.Validate(3))
	}
}

func points(n, d int) (*kernel.Points, []float64) {
	rng := rand.New(rand.NewPCG(5, uint64(n)))
	rows := testcheck.Slice(n*d, func(int) float64 { return rng.NormFloat64() })
	return kernel.NewPoints(rows, n, d), rows
}

func TestBasis(t *testing.T) {
	x, _ := points(40, 2)
	b := testcheck.Get(mustParse(t, "bumps(3, dims=7) + poly(3, dims=4) + linear + constant").Basis(x, []int{4, 7}))(t)
	want := "mean_linear[4] mean_linear[7] mean_power[4,2] mean_power[4,3] mean_bump[7,0] mean_bump[7,1] mean_bump[7,2] mean_constant"
	if got := strings.Join(b.Names(), " "); got != want {
		t.Fatalf("basis %s, want %s", got, want)
	}
	sorted := slices.Sorted(slices.Values(x.Column(1)))
	// The quantiles 1/6, 1/2, 5/6 of 40 values, interpolated over p·n.
	for i, p := range []float64{1. / 6, 0.5, 5. / 6} {
		k := int(p * 40)
		if c := b[4+i].Centre; !(c >= sorted[k-1] && c <= sorted[k]) {
			t.Errorf("centre %d is %v, want it in [%v, %v]", i, c, sorted[k-1], sorted[k])
		}
		if w := (b[6].Centre - b[4].Centre) / 2; b[4+i].Width != w {
			t.Errorf("width %v, want %v", b[4+i].Width, w)
		}
	}
	h := b.Evaluate(x)
	for i := range 40 {
		u, v := x.Column(0)[i], x.Column(1)[i]
		bump := func(k int) float64 { f := b[4+k]; return math.Exp(-math.Pow((v-f.Centre)/f.Width, 2) / 2) }
		for j, want := range []float64{u, v, u * u, u * u * u, bump(0), bump(1), bump(2), 1} {
			testcheck.Within(t, h[j*40+i], want, 1e-14*(1+math.Abs(want)), "h_%d(x_%d)", j, i)
		}
	}
	for _, f := range b {
		const x, step = 0.7, 1e-5
		// Truncation is h²f‴/6, f‴ up to about 20 for a narrow bump.
		want := (f.At(x+step) - f.At(x-step)) / (2 * step)
		testcheck.Within(t, f.Slope(x), want, 1e-8*(1+math.Abs(want)), "slope of %s", f.Name())
	}
	testcheck.Do(t, b.CheckRank(h))
	if none := testcheck.Get(mustParse(t, "zero").Basis(x, nil))(t); none != nil {
		t.Errorf("zero has the basis %v", none)
	}
	one := testcheck.Get(mustParse(t, "bumps(1, dims=0)").Basis(x, nil))(t)
	if len(one) != 2 || !(one[0].Width > 0.5 && one[0].Width < 2) {
		t.Errorf("one bump: %+v", one)
	}
}

func TestBasisErrors(t *testing.T) {
	x, _ := points(40, 2)
	for i := range 40 {
		x.Column(1)[i] = float64(max(0, i-34))
	}
	for text, word := range map[string]string{
		"linear(dims=3)":                           "column 3 does not exist or is constant; columns in use are 0, 5",
		"bumps(4, dims=5)":                         "column 5 repeats its values so often",
		"bumps(7, dims=5)":                         "column 5 has only 6 different values: use fewer bumps",
		"bumps(100, dims=0)":                       "column 0 has only 40 different values: use fewer bumps",
		"bumps(2, dims=0) + bumps(3, dims=[0, 5])": "bumps from two terms",
	} {
		_, err := mustParse(t, text).Basis(x, []int{0, 5})
		testcheck.Fail[error](t, err, word)
	}
}

// TestOriginal checks that the converted coefficients describe the same function. Powers of a column without its line keep theirs.
func TestOriginal(t *testing.T) {
	_, rows := points(50, 2)
	xMean, xScale := []float64{3, -200}, []float64{0.1, 40}
	original := make([]float64, len(rows))
	for i, v := range rows {
		original[i] = v*xScale[i%2] + xMean[i%2]
	}
	scaled, raw := kernel.NewPoints(rows, 50, 2), kernel.NewPoints(original, 50, 2)
	b := testcheck.Get(mustParse(t, "poly(4, dims=1) + linear + poly(3, from=2, dims=0)").Without(Function{Index: 1}, []int{0, 1}).Basis(scaled, nil))(t)
	q := len(b)
	hs, hr, T := b.Evaluate(scaled), b.Evaluate(raw), b.Original(xMean, xScale)
	for j := range q { // each function in turn, against its expansion
		if b[j].Group == Power && b[j].Column == 0 {
			copy(hr[j*50:], hs[j*50:(j+1)*50])
		}
		for i := range 50 {
			sum, size := 0.0, 0.0
			for k := range q {
				part := T[k*q+j] * hr[k*50+i]
				sum += part
				size += math.Abs(part)
			}
			// The expansion cancels: the bound is relative to its terms.
			testcheck.Within(t, sum, hs[j*50+i], 1e-13*size, "function %s at row %d", b[j].Name(), i)
		}
	}
}

func TestRank(t *testing.T) {
	x, _ := points(30, 3)
	for i := range 30 {
		x.Column(1)[i] = 2*x.Column(0)[i] - 3 // a shifted multiple of column 0
		x.Column(2)[i] = float64(i % 2)       // equals its square
	}
	for text, want := range map[string]string{
		"linear":            "mean_linear[0] is a linear combination of mean_linear[1], mean_constant,",
		"poly(2, dims=2)":   "mean_linear[2] is a linear combination of mean_power[2,2],",
		"bumps(40, dims=0)": "41 coefficients cannot be determined from 30 rows",
	} {
		b := testcheck.Get(mustParse(t, text).Basis(x, nil))(t)
		testcheck.Fail[*RankError](t, b.CheckRank(b.Evaluate(x)), want)
	}
	// CheckRank distinguishes two functions that differ by only 1e-6.
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 30 {
		x.Column(1)[i] = x.Column(0)[i] + 1e-6*rng.NormFloat64()
	}
	b, _ := mustParse(t, "linear(dims=[0,1])").Basis(x, nil)
	testcheck.Do(t, b.CheckRank(b.Evaluate(x)))
}

func TestValidate(t *testing.T) {
	x, _ := points(20, 2)
	b, _ := mustParse(t, "poly(2) + bumps(2)").Basis(x, nil)
	testcheck.Do(t, b.Validate(2))
	for what, f := range map[string]Function{
		"group": {Group: "mean_sine"}, "column": {Group: Linear, Column: 2}, "negative column": {Group: Linear, Column: -1},
		"width": {Group: Bump}, "power": {Group: Power, Index: 400000000},
	} {
		if err := (Basis{f}).Validate(2); err == nil {
			t.Errorf("an invalid %s is accepted", what)
		}
	}
}

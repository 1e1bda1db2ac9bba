package mean

import (
	"math"
	"slices"
	"strings"
	"testing"

	"gpfit/internal/testcheck"
	"gpfit/kernel"
)

// TestSeasonal compares the waves of seasons with their formula in original units, from scaled ones, far from the origin;
// and counts once what two seasons share.
func TestSeasonal(t *testing.T) {
	const n, mean, scale = 60, 1e6, 37.5
	original := testcheck.Slice(n, func(i int) float64 { return mean + 5*float64(i) + float64(i%7)/3 })
	scaled := testcheck.Slice(n, func(i int) float64 { return (original[i] - mean) / scale })
	b := testcheck.Get(mustParse(t, "seasonal(24, 2, by=600) + seasonal(48, 3)").Basis(kernel.NewPoints(scaled, n, 1), []int{4}))(t)
	b = b.Standardized([]float64{mean}, []float64{scale})
	periods := []float64{24, 1 / (1./24 + 1./600), 1 / (1./24 - 1./600), 12, 1 / (1./12 + 1./600), 1 / (1./12 - 1./600), 48, 16}
	if len(b) != 2*len(periods)+1 {
		t.Fatalf("%v, want %d functions", b.Names(), 2*len(periods)+1)
	}
	h := b.Evaluate(kernel.NewPoints(scaled, n, 1))
	for j, p := range periods {
		for i, x := range original {
			angle := 2 * math.Pi * math.Mod(x, p) / p
			testcheck.Within(t, h[j*n+i], math.Cos(angle), 1e-9, "cosine of period %v at %v", p, x)
			testcheck.Within(t, h[(len(periods)+j)*n+i], math.Sin(angle), 1e-9, "sine of period %v at %v", p, x)
			testcheck.Within(t, b[j].At(scaled[i]), h[j*n+i], 1e-12, "%s", b[j].Name())
		}
	}
	for _, f := range b {
		const x, step = 0.7, 1e-5
		size := 2 * math.Pi / f.Width
		want := (f.At(x+step) - f.At(x-step)) / (2 * step)
		if f.Group != Constant {
			testcheck.Within(t, f.Slope(x), want, step*step*size*size*size+1e-9*size, "slope of %s", f.Name())
		}
	}
	if name := b[0].Name(); name != "mean_cos[4,24]" {
		t.Errorf("a name is %s", name)
	}
	testcheck.Do(t, b.Validate(1))
	testcheck.Do(t, b.Determined(kernel.NewPoints(scaled, n, 1)))
	for what, f := range map[string]Function{"period": {Group: Sine, Width: 1}, "width": {Group: Cosine, Period: 2}} {
		if (Basis{f}).Validate(1) == nil {
			t.Errorf("a wave without a %s is accepted", what)
		}
	}
}

func TestParseSeasonal(t *testing.T) {
	for _, text := range []string{"seasonal(24, 3)", "constant + seasonal(365.25, 2, dims=0) + seasonal(7, 3, by=365.25, dims=[0, 1])", "linear + seasonal(1e-3, 1)"} {
		if e := mustParse(t, text); !slices.EqualFunc(e, mustParse(t, e.String()), func(a, b Summand) bool { return a.String() == b.String() }) || strings.ReplaceAll(e.String(), " ", "") != strings.ReplaceAll(strings.Replace(text, "1e-3", "0.001", 1), " ", "") {
			t.Errorf("%q printed as %q", text, e)
		}
	}
	for text, word := range map[string]string{
		"seasonal": "needs a period and the number of harmonics, as in seasonal(24, 3)", "seasonal(24)": "needs a period and the number of harmonics, as in seasonal(24, 3)",
		"seasonal(-1, 2)": "needs a period, a positive number in units of its column", "seasonal(0, 2)": "needs a period", "seasonal(inf, 2)": "needs a period", "seasonal(NaN, 2)": "needs a period",
		"seasonal(24, 0)": "the number of harmonics from 1 to 500", "seasonal(24, 501)": "the number of harmonics", "seasonal(24, 2, by=0)": "needs a period", "seasonal(24, 2, every=3)": "expected by=PERIOD or dims=",
	} {
		_, err := Parse(text, nil)
		testcheck.Fail[*ParseError](t, err, word)
	}
}

// TestDetermined checks that functions that only few of many points tell apart are independent, and that others are not.
func TestDetermined(t *testing.T) {
	const n = 4000
	x := kernel.NewPoints(testcheck.Slice(2*n, func(i int) float64 { return float64(i/2) * float64(1-i%2) }), n, 2)
	x.Column(1)[n/2+1] = 1 // one row
	for text, dependent := range map[string]bool{"linear": false, "seasonal(10, 5, dims=0)": true, "seasonal(10, 4, dims=0)": false, "seasonal(10, 4, by=1e14, dims=0)": false} {
		b := testcheck.Get(mustParse(t, text).Basis(x, nil))(t)
		if err := b.Determined(x); err != nil != dependent {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestShortestWave checks that a wave of two rows is named as zero, also where the rounding of days hides that.
func TestShortestWave(t *testing.T) {
	days := testcheck.Slice(500, func(i int) float64 { return 19358 + float64(i)/24 })
	x := kernel.NewPoints(days, 500, 1)
	b := testcheck.Get(mustParse(t, "seasonal(1, 12)").Basis(x, nil))(t)
	testcheck.Fail[*RankError](t, b.Determined(x), "mean_sin[0,0.083333333] is zero in every row")
	b = testcheck.Get(mustParse(t, "seasonal(1, 11)").Basis(x, nil))(t)
	testcheck.Do(t, b.Determined(x))
}

// TestManyFunctions compares the products of many functions on many points with sums over the points.
func TestManyFunctions(t *testing.T) {
	const n, q = 2500, 9
	h, solved := make([]float64, n*q), make([]float64, n*q)
	for i := range h {
		h[i], solved[i] = math.Sin(float64(i*i%977)), math.Cos(float64(i*3%1013))
	}
	for j := range q { // a positive definite product
		for i := range n {
			solved[j*n+i] = h[j*n+i] + 1e-3*solved[j*n+i]
		}
	}
	g := testcheck.Get(NewGLS(h, solved, n))(t)
	products := testcheck.Get(g.products())(t)
	for j := range q {
		for k := range q {
			want := 0.0
			for i := range n {
				want += h[j*n+i] * solved[k*n+i]
			}
			testcheck.Within(t, products(j, k), want, 1e-11*float64(n), "product %d, %d", j, k)
		}
	}
}

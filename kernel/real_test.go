package kernel

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gpfit/internal/testcheck"
)

const changePoint = "formula(sigmoid(5*(x-c))*sigmoid(5*(y-c)), c=-0.3~real, dims=0)*matern32 + formula(sigmoid(a*(c-x))*sigmoid(a*(c-y)), c=0~real, a=5, dims=0)*rbf"

// TestRealText checks the text form of real parameters and its errors.
func TestRealText(t *testing.T) {
	e := testcheck.Get(Parse(changePoint))(t)
	again := testcheck.Get(Parse(e.String()))(t)
	if e.String() != again.String() || !strings.Contains(e.String(), "c=-0.3~real") || !strings.Contains(e.String(), "c=0~real") {
		t.Errorf("%s reads back as %s", e, again)
	}
	for text, want := range map[string]string{
		"formula(exp(-r2*a), a=-1)":                  "a start value is a positive number",
		"formula(exp(-r2*a), a=x~real)":              "a start value with ~real is a number",
		"formula(exp(-r2*a), a=Inf~real)":            "a start value with ~real is a number",
		"rbf(lengthscale=1~real)":                    "a start value is a positive number",
		"formula(exp(-r2), ard, lengthscale=1~real)": "lengthscale is positive: leave out ~real",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	for text, want := range map[string]bool{
		"formula(sigmoid(x-c)*sigmoid(y-c), c=0~real)": true, "formula(sigmoid(c-x)*sigmoid(c-y), c=0~real)": true,
		"formula(sigmoid(x-c)*sigmoid(y-c)*exp(-c^2), c=0~real)": false, "formula(exp(-(x-y-c)^2)+exp(-(x-y+c)^2), c=0~real)": false,
	} {
		if got := mustCompile(t, text, 1).Params[0].Moves; got != want {
			t.Errorf("%s moves with its column: %v", text, got)
		}
	}
}

// TestRealDerivatives compares derivatives by real parameters with central differences, on both sides of 0.
func TestRealDerivatives(t *testing.T) {
	for _, text := range []string{changePoint, "formula(exp(-r2) + b*x*y + b^2, b=-1~real)", "formula((1 + b^2*r2)^c, b=1~real, c=-2~real)"} {
		d := 1
		prog := mustCompile(t, text, d)
		rng := rand.New(rand.NewPCG(83, 1))
		x := randomPoints(rng, 6, d)
		for _, sign := range []float64{-1, 1} {
			theta := make([]float64, prog.NumParams)
			for i := range theta {
				if theta[i] = 0.4 + 0.2*float64(i); prog.IsReal(i) {
					theta[i] *= sign
				}
			}
			testcheck.Do(t, prog.CheckTheta(theta))
			adj := testcheck.Slice(6, func(int) float64 { return rng.NormFloat64() })
			value := func(theta []float64) (sum float64) {
				row := make([]float64, 6)
				bound(prog, theta).Row(row, x, 0, x, 0, 6)
				for j, k := range row {
					sum += adj[j] * k
				}
				return sum
			}
			grad := make([]float64, len(theta))
			bound(prog, theta).RowGradient(grad, adj, x, 0, x, 0, 6)
			for i := range theta {
				const h = 1e-5
				shifted := func(by float64) float64 {
					at := append([]float64(nil), theta...)
					if at[i] += by; !prog.IsReal(i) {
						at[i] = theta[i] * math.Exp(by)
					}
					return value(at)
				}
				if want := (shifted(h) - shifted(-h)) / (2 * h); math.Abs(grad[i]-want) > 1e-8*(1+math.Abs(want)) {
					t.Errorf("%s: derivative %d is %v, central differences %v", text, i, grad[i], want)
				}
			}
		}
	}
	prog := mustCompile(t, changePoint, 1)
	theta := make([]float64, prog.NumParams)
	if err := prog.CheckTheta(theta); err == nil {
		t.Error("no error for a positive parameter of 0")
	}
}

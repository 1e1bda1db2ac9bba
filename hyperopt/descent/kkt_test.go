package descent

import (
	"context"
	"math"
	"testing"

	"pgregory.net/rapid"
)

// TestKKT minimises random convex quadratics and random Rosenbrock functions in
// boxes that cut off the free minimum on some sides, and checks the first-order
// conditions: a zero gradient inside, and no gradient pointing inwards at a bound.
func TestKKT(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 8).Draw(t, "n")
		draw := func(name string, lo, hi float64) []float64 {
			z := make([]float64, n)
			for i := range z {
				z[i] = rapid.Float64Range(lo, hi).Draw(t, name)
			}
			return z
		}
		f := rosenbrock
		if rapid.Bool().Draw(t, "quadratic") {
			f = quadratic(draw("centre", -4, 4), math.Exp(rapid.Float64Range(0, 9).Draw(t, "log condition")))
		}
		lower, upper := draw("lower", -4, 1), draw("upper", -1, 4)
		for i := range lower {
			if lower[i] > upper[i] {
				lower[i], upper[i] = upper[i], lower[i]
			}
		}
		r, err := minimizeArrays(context.Background(), arrays{Objective: total(f), Start: draw("start", -4, 4), Lower: lower, Upper: upper},
			how{RelativeTolerance: -1})
		if err != nil {
			t.Fatal(err)
		}
		if r.Status != StatusGradientConverged && r.Status != StatusAllFixed {
			t.Fatalf("%v: gradient norm %g at %v, %+v", r.Status, r.GradientNorm, r.X, r.Evaluations)
		}
		g := make([]float64, n)
		f(r.X, g)
		for i, z := range r.X {
			if upper[i]-lower[i] < 1e-9 || z == lower[i] && g[i] >= 0 || z == upper[i] && g[i] <= 0 {
				continue
			}
			if math.Abs(g[i]) > DefaultGradientTolerance {
				t.Fatalf("gradient %g at parameter %d = %.17g in [%g, %g]", g[i], i, z, lower[i], upper[i])
			}
		}
	})
}

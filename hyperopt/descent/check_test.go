package descent

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// checkGradient compares obj's gradient at z with central differences
//
//	(f(z + h·eᵢ) − f(z − h·eᵢ)) / 2h
//
// and returns the largest error, relative to the larger of the two numbers. The
// error of a component that is small against the others (below 1e-3 of the
// largest), against the rounding of the differences (1e3·ε·|f|/h), or against its
// change over h is measured relative to those. h is in log units; 0 means 1e-5,
// near the ε^⅓ that balances truncation and rounding (N&W 8.6). It costs 2p+1
// values and one gradient.
func checkGradient(ctx context.Context, obj Func, z []float64, h float64) (maxRelErr float64, err error) {
	if h == 0 {
		h = 1e-5
	}
	if !(h > 0) {
		return 0, fmt.Errorf("hyperopt: the difference step is not positive: %g", h)
	}
	f, err := obj.Value(ctx, z)
	if err != nil {
		return 0, err
	}
	g := make([]float64, len(z))
	fg, err := obj.ValueGradient(ctx, z, g)
	if err != nil {
		return 0, err
	}
	if math.Abs(f-fg) > DefaultPrecision*math.Max(1, math.Abs(f)) {
		return 0, fmt.Errorf("hyperopt: Value and ValueGradient disagree at the same point: %.17g and %.17g", f, fg)
	}
	norm := 0.0
	for _, v := range g {
		norm = math.Max(norm, math.Abs(v))
	}
	const eps = 0x1p-52
	floor := math.Max(1e-3*norm, 1e3*eps*math.Max(math.Abs(f), 1e-8)/h)
	x := slices.Clone(z)
	for i := range z {
		x[i] = z[i] + h
		up, err := obj.Value(ctx, x)
		if err != nil {
			return 0, err
		}
		a := x[i]
		x[i] = z[i] - h
		down, err := obj.Value(ctx, x)
		if err != nil {
			return 0, err
		}
		d := (up - down) / (a - x[i]) // the actual step
		x[i] = z[i]
		scale := math.Max(floor, math.Abs(up-2*f+down)/h)
		rel := math.Abs(d-g[i]) / math.Max(scale, math.Max(math.Abs(d), math.Abs(g[i])))
		if math.IsNaN(rel) {
			return 0, fmt.Errorf("hyperopt: the gradient or a difference is not a number at component %d: %g and %g", i, g[i], d)
		}
		maxRelErr = math.Max(maxRelErr, rel)
	}
	return maxRelErr, nil
}

func TestCheckGradient(t *testing.T) {
	ctx := context.Background()
	for _, z := range [][]float64{{-1.2, 1}, {1, 1}, {5, -3}} {
		if rel, err := checkGradient(ctx, total(rosenbrock), z, 0); err != nil || rel > 1e-5 {
			t.Errorf("at %v: %g, %v", z, rel, err)
		}
	}
	wrong := total(func(z, g []float64) float64 {
		f := rosenbrock(z, g)
		if g != nil {
			g[1] *= 1.01
		}
		return f
	})
	if rel, err := checkGradient(ctx, wrong, []float64{-1.2, 1}, 0); err != nil || math.Abs(rel-0.01) > 1e-3 {
		t.Errorf("wrong by 1 %%: %g, %v", rel, err)
	}
	broken := errors.New("broken")
	if _, err := checkGradient(ctx, &smooth{f: func(_, _ []float64) (float64, error) { return 0, broken }}, []float64{1}, 0); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	if _, err := checkGradient(ctx, total(rosenbrock), []float64{1, 1}, -1); err == nil {
		t.Error("a negative step passes")
	}
}

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

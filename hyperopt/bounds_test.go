package hyperopt

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// drawClamp draws bounds of every kind, narrow and wide ones too.
func drawClamp(t *rapid.T) clamp {
	lo := rapid.Float64Range(-20, 20).Draw(t, "lo")
	w := math.Exp(rapid.Float64Range(-9, 4).Draw(t, "log width"))
	switch rapid.IntRange(0, 3).Draw(t, "kind") {
	case 0:
		return newClamp(math.Inf(-1), math.Inf(1))
	case 1:
		return newClamp(lo, math.Inf(1))
	case 2:
		return newClamp(math.Inf(-1), lo)
	}
	return newClamp(lo, lo+w)
}

// drawU draws an unconstrained value in, around or far from the interval.
func drawU(t *rapid.T, c clamp) float64 {
	x := rapid.Float64Range(-60, 60).Draw(t, "x")
	switch kind := rapid.IntRange(0, 2).Draw(t, "around"); {
	case kind == 0 && !math.IsInf(c.lo, -1):
		return c.lo + x*c.s
	case kind == 1 && !math.IsInf(c.hi, 1):
		return c.hi + x*c.s
	}
	return x
}

func TestClampRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawClamp(t)
		z := c.inside(drawU(t, c))
		u := c.invert(z)
		if back := c.apply(u); math.Abs(back-z) > 1e-13*math.Max(1, math.Abs(z)) {
			t.Fatalf("%+v: apply(invert(%g)) = %g", c, z, back)
		}
		// Away from its tails the inverse is accurate the other way as well.
		if back := c.invert(c.apply(u)); math.Abs(back-u) > 1e-11*math.Max(1, math.Abs(u)) {
			t.Fatalf("%+v: invert(apply(%g)) = %g", c, u, back)
		}
	})
}

func TestClampMonotoneAndBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawClamp(t)
		a, b := drawU(t, c), drawU(t, c)
		if a > b {
			a, b = b, a
		}
		za, zb := c.apply(a), c.apply(b)
		if za < c.lo || zb > c.hi {
			t.Fatalf("%+v: out of bounds: %g, %g", c, za, zb)
		}
		// Up to rounding: the branches meet at the bounds.
		if za > zb+1e-15*math.Max(1, math.Abs(za)) {
			t.Fatalf("%+v: not monotone: %g ↦ %.17g, %g ↦ %.17g", c, a, za, b, zb)
		}
		if s := c.slope(a); !(s >= 0 && s <= 1) {
			t.Fatalf("%+v: slope %g at %g", c, s, a)
		}
	})
}

func TestClampSlope(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawClamp(t)
		u := drawU(t, c)
		h := 1e-3
		if c.bounded() {
			h = 1e-3 * c.s
		}
		// Fourth-order central differences.
		d := (8*(c.apply(u+h)-c.apply(u-h)) - (c.apply(u+2*h) - c.apply(u-2*h))) / (12 * h)
		tol := 1e-9 + 4e-16*math.Max(math.Abs(u), math.Abs(c.apply(u)))/h
		if s := c.slope(u); math.Abs(s-d) > tol {
			t.Fatalf("%+v at %g: slope %g, difference quotient %g, tolerance %g", c, u, s, d, tol)
		}
	})
}

func TestClampExtremes(t *testing.T) {
	inf := math.Inf(1)
	both, lower, upper := newClamp(-2, 3), newClamp(-2, inf), newClamp(-inf, 3)
	for _, c := range []struct {
		c    clamp
		u, z float64
		tol  float64
	}{
		{both, -inf, -2, 0}, {both, inf, 3, 0}, {both, -1e308, -2, 0}, {both, 1e308, 3, 0},
		{lower, -1e308, -2, 0}, {lower, 1e308, 1e308, 0}, {upper, 1e308, 3, 0}, {upper, -1e308, -1e308, 0},
		{lower, 100, 100, 0}, {both, 0.5, 0.5, 1e-11}, {newClamp(-inf, inf), 0.1, 0.1, 0},
		{lower, -2, -2 + 0.1*math.Ln2, 1e-15}, {upper, 3, 3 - 0.1*math.Ln2, 1e-15},
		// Identity to 5e-6 one log unit inside.
		{lower, -1, -1, 5e-6},
	} {
		z := c.c.apply(c.u)
		if !(math.Abs(z-c.z) <= c.tol) {
			t.Errorf("%+v: apply(%g) = %.17g, want %g", c.c, c.u, z, c.z)
		}
		if s := c.c.slope(c.u); math.IsNaN(s) || s < 0 || s > 1 {
			t.Errorf("%+v: slope(%g) = %g", c.c, c.u, s)
		}
	}
	// The tail keeps its relative accuracy.
	if got, want := both.slope(-2-50*0.1), math.Exp(-50); math.Abs(got-want) > 1e-12*want {
		t.Errorf("slope in the tail %g, want %g", got, want)
	}
	if u := both.invert(-2); !math.IsInf(u, -1) {
		t.Errorf("invert(lower bound) = %g", u)
	}
	if u := both.invert(3); !math.IsInf(u, 1) {
		t.Errorf("invert(upper bound) = %g", u)
	}
	for _, z := range []float64{-inf, -3, -2, -1.99, 0, 2.99, 3, 4, inf} {
		in := both.inside(z)
		if u := both.invert(in); math.IsInf(u, 0) || math.IsNaN(u) || both.slope(u) < 0.25 {
			t.Errorf("inside(%g) = %g, u = %g, slope %g", z, in, u, both.slope(u))
		}
	}
}

package hyperopt

import "math"

const (
	// clampScale is the width s of the zone, in log units, over which the
	// clamp bends from the identity to the bound. At distance x inside a bound
	// the clamp differs from the identity by s·exp(−x/s): with s = 0.1 that is
	// 5e-6 one log unit (a factor e) inside the bound and below rounding four
	// units inside, so that the curvature L-BFGS learns there is that of f
	// itself. A smaller s would put a sharper kink (curvature |∂f/∂z|/s) in the
	// way of the line search.
	clampScale = 0.1
	// clampNarrow bounds s to a fraction of the interval's width, so that a
	// narrow interval keeps an interior: the slope at its centre is then
	// 2·sigmoid(5) − 1 = 0.987.
	clampNarrow = 0.1
	// nearBound, in units of s, is the distance from a bound within which a
	// parameter that f pushes outwards counts as being at the bound: 0.01 log
	// units, 1 %, usually.
	nearBound = 0.1
	// insideBound, in units of s, is the distance from a bound to which a
	// start is moved. The clamp's slope there is 1 − exp(−0.3) = 0.26: it can
	// move well.
	insideBound = 0.3
	// narrowWidth is the width of an interval, in log units, below which a clamp
	// would bend so sharply that the parameter moves without one from the start.
	narrowWidth = 0.05
	// stuckSlope is the slope of the clamp below which a parameter hardly moves.
	stuckSlope = 0.05
	// tailDepth, in units of s, is how far outside its bound the unconstrained
	// variable may aim: the clamp's slope there is exp(−8) = 3e-4. Without this
	// a single long step could leave a parameter where its gradient underflows.
	tailDepth = 8
)

// clamp maps an unconstrained u to z within [lo, hi], smoothly and strictly
// increasing, and as the identity away from the bounds:
//
//	z = lo + s·softplus((u−lo)/s) − s·softplus((u−hi)/s),  softplus(x) = log(1+eˣ)
//
// that is, the integral of a slope sigmoid((u−lo)/s) − sigmoid((u−hi)/s), so
// that both limits are exact however narrow the interval (nesting one clamp in
// the other is not). An infinite bound drops its term. The inverse is
//
//	u = z + s·log(1−exp(−(z−lo)/s)) − s·log(1−exp(−(hi−z)/s)).
type clamp struct {
	lo, hi, s float64
}

func newClamp(lo, hi float64) clamp {
	return clamp{lo: lo, hi: hi, s: math.Min(clampScale, clampNarrow*(hi-lo))}
}

func (c clamp) bounded() bool { return !math.IsInf(c.lo, -1) || !math.IsInf(c.hi, 1) }

// apply returns z(u).
func (c clamp) apply(u float64) float64 {
	if !c.bounded() {
		return u
	}
	var z float64
	switch {
	case u < c.lo:
		// Both terms are small: no cancellation.
		z = c.lo + c.s*(log1pExp((u-c.lo)/c.s)-log1pExp((u-c.hi)/c.s))
	case u > c.hi:
		z = c.hi - c.s*(log1pExp((c.hi-u)/c.s)-log1pExp((c.lo-u)/c.s))
	default:
		// softplus(x) = x + log(1+e⁻ˣ): the identity plus what the bounds add.
		z = u + c.s*(log1pExp((c.lo-u)/c.s)-log1pExp((u-c.hi)/c.s))
	}
	return math.Min(math.Max(z, c.lo), c.hi)
}

// slope returns dz/du, in [0, 1].
func (c clamp) slope(u float64) float64 {
	if !c.bounded() {
		return 1
	}
	// 1 − sigmoid(a) − sigmoid(b), a = (lo−u)/s, b = (u−hi)/s, is accurate in
	// the interior; in a tail the difference of two small numbers is.
	switch {
	case u < c.lo:
		return sigmoid((u-c.lo)/c.s) - sigmoid((u-c.hi)/c.s)
	case u > c.hi:
		return sigmoid((c.hi-u)/c.s) - sigmoid((c.lo-u)/c.s)
	}
	return 1 - sigmoid((c.lo-u)/c.s) - sigmoid((u-c.hi)/c.s)
}

// invert returns u with apply(u) = z, for z strictly inside the bounds; at a
// bound it is infinite.
func (c clamp) invert(z float64) float64 {
	u := z
	if !math.IsInf(c.lo, -1) {
		u += c.s * math.Log(-math.Expm1((c.lo-z)/c.s))
	}
	if !math.IsInf(c.hi, 1) {
		u -= c.s * math.Log(-math.Expm1((z-c.hi)/c.s))
	}
	return u
}

// inside returns z, moved to a distance of insideBound·s from the bounds if it
// is nearer or outside.
func (c clamp) inside(z float64) float64 {
	d := insideBound * c.s
	if z < c.lo+d {
		return c.lo + d
	}
	if z > c.hi-d {
		return c.hi - d
	}
	return z
}

// begin is inside, but leaves a z on its bound where a descent goes on from
// another.
func (c clamp) begin(z float64, goesOn bool) float64 {
	if goesOn && c.bounded() && (z == c.lo || z == c.hi) {
		return z
	}
	return c.inside(z)
}

// snap returns z, put on a bound that it differs from by no more than the
// rounding of a step towards it.
func (c clamp) snap(z float64) float64 {
	const tol = 0x1p-50
	switch {
	case z <= c.lo+tol*math.Max(1, math.Abs(c.lo)):
		return c.lo
	case z >= c.hi-tol*math.Max(1, math.Abs(c.hi)):
		return c.hi
	}
	return z
}

// limits returns the range that the unconstrained variable may aim at.
func (c clamp) limits() (lo, hi float64) {
	return c.lo - tailDepth*c.s, c.hi + tailDepth*c.s
}

// near returns the side of the bound near which z is, and that bound.
func (c clamp) near(z float64) (Side, float64) {
	switch {
	case z-c.lo <= nearBound*c.s:
		return Lower, c.lo
	case c.hi-z <= nearBound*c.s:
		return Upper, c.hi
	}
	return NoSide, 0
}

// outward reports whether descending along derivative g leads across side.
func outward(side Side, g float64) bool {
	return side == Lower && g > 0 || side == Upper && g < 0
}

// log1pExp returns log(1+eˣ) for x ≤ 0, where it is log1p(eˣ) without overflow.
func log1pExp(x float64) float64 { return math.Log1p(math.Exp(x)) }

// sigmoid returns 1/(1+e⁻ˣ) for x ≤ 0, without overflow.
func sigmoid(x float64) float64 {
	e := math.Exp(x)
	return e / (1 + e)
}

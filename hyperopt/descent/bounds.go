package descent

import "math"

// Bounds are kept by an active set: every point that is evaluated lies within
// them, and a parameter that f pushes across its bound is put exactly on it and
// held there until f pushes it back (N&W 12.3 has the conditions of first order).

// Side names a bound.
type Side int

// The sides of an interval.
const (
	NoSide Side = iota
	Lower
	Upper
)

// String returns "lower" or "upper".
func (s Side) String() string {
	switch s {
	case Lower:
		return "lower"
	case Upper:
		return "upper"
	}
	return "none"
}

// side returns the bound of parameter i on which z is.
func (s *space) side(i int, z float64) Side {
	switch z {
	case s.lo[i]:
		return Lower
	case s.hi[i]:
		return Upper
	}
	return NoSide
}

// clip returns z, moved to the nearest point within the bounds of parameter i.
func (s *space) clip(i int, z float64) float64 {
	return math.Min(math.Max(z, s.lo[i]), s.hi[i])
}

// snap is clip that also puts z on a bound from which it differs by no more than
// the rounding of a step towards it.
func (s *space) snap(i int, z float64) float64 {
	const tol = 0x1p-50
	switch lo, hi := s.lo[i], s.hi[i]; {
	case z <= lo+tol*math.Max(1, math.Abs(lo)):
		return lo
	case z >= hi-tol*math.Max(1, math.Abs(hi)):
		return hi
	}
	return z
}

// outward reports whether descending along derivative g leads across side.
func outward(side Side, g float64) bool {
	return side == Lower && g > 0 || side == Upper && g < 0
}

// held reports whether parameter i is at a bound that f pushes outwards.
func (s *space) held(i int, z, g []float64) bool { return outward(s.side(i, z[i]), g[i]) }

// norm returns the largest gradient component over the parameters that can
// move: those that are free and not at a bound that f pushes outwards. It is NaN
// if g is nil.
func (s *space) norm(z, g []float64) float64 {
	if g == nil {
		return math.NaN()
	}
	norm := 0.0
	for i := range z {
		if !s.fixed[i] && !s.held(i, z, g) {
			norm = math.Max(norm, math.Abs(g[i]))
		}
	}
	return norm
}

package descent

import (
	"fmt"
	"math"
	"slices"
)

// space is a list of valid parameters with their bounds as elements of the vector.
type space struct {
	params   []Parameter
	lo, hi   []float64
	fixed    []bool
	warnings []string
	limits   func(z []float64) []float64 // see Search; may be nil
}

// newSpace checks the parameters.
func newSpace(params []Parameter) (*space, error) {
	if len(params) == 0 {
		return nil, fmt.Errorf("hyperopt: no parameters are given")
	}
	s := &space{params: slices.Clone(params)}
	for i := range s.params {
		p := &s.params[i]
		if p.Name == "" {
			p.Name = fmt.Sprintf("parameter %d", i)
		}
		z, lo, hi := p.Z(p.Start), p.Z(p.Lower), p.Z(p.Upper)
		switch {
		case math.IsNaN(z) || math.IsInf(z, 0):
			return nil, fmt.Errorf("hyperopt: the start of %s is not a finite number: %g", p.Name, p.Start)
		case math.IsNaN(lo) || math.IsInf(lo, 1):
			return nil, fmt.Errorf("hyperopt: the lower bound of %s is %g", p.Name, p.Lower)
		case math.IsNaN(hi) || math.IsInf(hi, -1):
			return nil, fmt.Errorf("hyperopt: the upper bound of %s is %g", p.Name, p.Upper)
		case lo > hi:
			return nil, fmt.Errorf("hyperopt: the lower bound of %s is above its upper bound: %g > %g", p.Name, p.Lower, p.Upper)
		}
		if p.Fixed && (z < lo || z > hi) {
			s.warnings = append(s.warnings, fmt.Sprintf("%s is fixed at %.6g, outside its bounds [%.6g, %.6g]", p.Name, p.Start, p.Lower, p.Upper))
		}
		// A parameter with an empty interval counts as fixed.
		width := hi - lo
		fixed := p.Fixed || !math.IsInf(width, 0) && width <= 1e-10*max(1, math.Abs(lo), math.Abs(hi))
		s.lo, s.hi, s.fixed = append(s.lo, lo), append(s.hi, hi), append(s.fixed, fixed)
	}
	return s, nil
}

// begin returns the starts with free parameters moved within their bounds and the
// others at their fixed values.
func (s *space) begin(starts []Start) ([]Start, error) {
	p := len(s.params)
	own := make([]float64, p)
	for i, q := range s.params {
		own[i] = q.Z(q.Start)
	}
	if starts == nil {
		starts = []Start{{Z: own}}
	}
	out := make([]Start, len(starts))
	for k, start := range starts {
		if len(start.Z) != p || start.Metric != nil && len(start.Metric) != p*p {
			return nil, fmt.Errorf("start %d has %d elements and a metric of %d, expected %d and %d", k, len(start.Z), len(start.Metric), p, p*p)
		}
		z := slices.Clone(start.Z)
		for i, q := range s.params {
			if q.Fixed {
				z[i] = own[i]
				continue
			}
			if z[i] = s.clip(i, z[i]); z[i] != start.Z[i] && k == 0 {
				s.warnings = append(s.warnings, fmt.Sprintf("the start of %s, %.6g, is outside its bounds [%.6g, %.6g]: moved to %.6g",
					q.Name, q.Natural(start.Z[i]), q.Lower, q.Upper, q.Natural(z[i])))
			}
		}
		out[k] = Start{Z: z, Metric: start.Metric}
	}
	return out, nil
}

// free returns the indices of the parameters that are not fixed.
func (s *space) free() []int {
	var index []int
	for i, fixed := range s.fixed {
		if !fixed {
			index = append(index, i)
		}
	}
	return index
}

// An active set enforces the bounds. Every evaluated point lies within them, and a
// parameter that f pushes across its bound is set exactly to the bound and held
// there until f pushes it back (N&W 12.3 has the first-order conditions).

// side returns the bound of parameter i that z equals.
func (s *space) side(i int, z float64) BoundSide {
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

// snap is like clip, but also moves z to a bound from which it differs by no more
// than the rounding of a step towards it.
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

// outward reports whether descent with the derivative g leads across side.
func outward(side BoundSide, g float64) bool {
	return side == Lower && g > 0 || side == Upper && g < 0
}

// held reports whether parameter i is at a bound that f pushes outwards.
func (s *space) held(i int, z, g []float64) bool { return outward(s.side(i, z[i]), g[i]) }

// moving returns the parameters that can move at p: neither fixed nor held.
func (s *space) moving(p Point) []int {
	var index []int
	for i := range p.Z {
		if !s.fixed[i] && !s.held(i, p.Z, p.G) {
			index = append(index, i)
		}
	}
	return index
}

// norm returns the largest gradient component over the parameters that can move: the free
// parameters, except parameters at a bound that f pushes outwards. It is NaN if g is nil.
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

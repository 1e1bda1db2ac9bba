package descent

import (
	"math"
	"slices"
)

// A long lengthscale ℓ of a column acts through u = ℓ⁻², and f is nearly quadratic in u: it may
// fall all the way to u = 0, where each Newton step in log ℓ is only half a unit long. So the trust
// region sees such elements as y = ½(1 − e⁻²ˢ), where s is the change of log ℓ. To first order y
// agrees with s, and at ℓ = ∞ it is ½.

// reciprocals say which elements of the vector the trust region sees in this way.
type reciprocals []bool

// reciprocal returns the y of a change s of log ℓ.
func reciprocal(s float64) float64 { return -math.Expm1(-2*s) / 2 }

// longFrom is the distance below the limit of a lengthscale from which it can be long.
const longFrom = 2.5

// reciprocals returns the elements that are long at p, and the matrix b seen so: the second derivative
// by y is that by s and twice the gradient. An approximation of the Hessian does not tell how far f
// falls, and keeps log ℓ.
func (s *space) reciprocals(p Point, b Metric, exact bool) (reciprocals, Metric) {
	c := make(reciprocals, len(p.Z))
	if s.limits == nil || !exact {
		return c, b
	}
	b = slices.Clone(b)
	limits := s.limits(p.Z)
	for i, z := range p.Z {
		if c[i] = z > limits[i]-longFrom; c[i] {
			b[i*len(c)+i] += 2 * p.G[i]
		}
	}
	return c, b
}

// end returns element i of the vector after a step of length y from z. A step as long as the room ends
// at the bound: the reciprocals of a far bound leave few digits of it.
func (c reciprocals) end(i int, z, y float64, s *space) float64 {
	switch least, most := c.room(i, z, s); {
	case y <= least:
		return s.lo[i]
	case y >= most:
		return s.hi[i]
	case c[i]:
		return z - math.Log(max(0, 1-2*y))/2
	}
	return z + y
}

// room returns the least and the greatest step of element i from z within its bounds.
func (c reciprocals) room(i int, z float64, s *space) (least, most float64) {
	least, most = s.lo[i]-z, s.hi[i]-z
	if c[i] {
		least, most = reciprocal(least), reciprocal(most)
	}
	return least, most
}

// leave returns the matrix b, in these reciprocals, as one of the vector's at p, after a step s.
func (c reciprocals) leave(b Metric, p Point, s []float64) Metric {
	n := len(c)
	b = slices.Clone(b)
	for i, far := range c {
		if !far {
			continue
		}
		slope := math.Exp(-2 * s[i]) // of y at p
		for j := range c {
			b[i*n+j] *= slope
			b[j*n+i] *= slope
		}
		b[i*n+i] -= 2 * p.G[i]
	}
	return b
}

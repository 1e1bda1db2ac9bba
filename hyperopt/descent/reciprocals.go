package descent

import (
	"math"
	"slices"
)

// A long lengthscale ℓ of a column acts through u = ℓ⁻², and f may fall all the way to u = 0, where each
// Newton step in log ℓ is only half a unit long. So the trust region sees a lengthscale of which there is
// little information as y = −½ log(u + v). That is log ℓ where u is far above v, and linear in u far
// below; ℓ = ∞ is the point y = −½ log v. With the v for which the information on y is longInformation, a
// step of a given length is as many standard errors everywhere.

// reciprocals has the v of each element of the vector, 0 if the trust region sees the element itself.
type reciprocals []float64

const (
	// longInformation is the information on log ℓ below which a lengthscale counts as long: ℓ = ∞ is then
	// about a standard error away. With more of it, the column matters, and f depends on products of
	// powers of its lengthscale and the signal variance, which are linear in the logarithms.
	longInformation = 4
	// longStep is the greatest step of a long lengthscale towards short ones.
	longStep = 0.5
	// faint is the slope ∂y/∂log ℓ below which the second derivative by log ℓ does not tell that by y.
	faint = 1e-4
)

// reciprocals returns how the trust region sees the elements at p with this information.
func (s *space) reciprocals(p Point, information Metric) reciprocals {
	c := make(reciprocals, len(p.Z))
	if s.limits == nil {
		return c
	}
	for i, limit := range s.limits(p.Z) {
		if j := information[i*len(c)+i]; !math.IsInf(limit, 1) && j < longInformation {
			c[i] = math.Exp(-2*p.Z[i]) * (math.Sqrt(longInformation/j) - 1)
		}
	}
	return c
}

// at returns y at z, or z itself.
func (c reciprocals) at(i int, z float64) float64 {
	if c[i] == 0 {
		return z
	}
	return -math.Log(math.Exp(-2*z)+c[i]) / 2
}

// slope returns the derivative of at.
func (c reciprocals) slope(i int, z float64) float64 { return 1 / (1 + c[i]*math.Exp(2*z)) }

// end returns element i of the vector after a step from z. A step as long as the room ends at the
// bound: a far bound differs from ∞ in the last digits of y.
func (c reciprocals) end(i int, z, step float64, s *space) float64 {
	least, most := c.room(i, z, s)
	switch y := c.at(i, z) + step; {
	case step <= least && c[i] == 0:
		return s.lo[i]
	case step >= most:
		return s.hi[i]
	case c[i] == 0:
		return y
	default:
		return -math.Log(math.Exp(-2*y)-c[i]) / 2
	}
}

// room returns the least and the greatest step of element i from z within its bounds. A long lengthscale
// shortens by about a standard error at most.
func (c reciprocals) room(i int, z float64, s *space) (least, most float64) {
	y := c.at(i, z)
	least, most = c.at(i, s.lo[i])-y, c.at(i, s.hi[i])-y
	if c[i] > 0 {
		least = max(least, -longStep)
	}
	return least, most
}

// gradient returns the gradient at p, seen so.
func (c reciprocals) gradient(p Point) []float64 {
	g := slices.Clone(p.G)
	for i := range g {
		g[i] /= c.slope(i, p.Z[i])
	}
	return g
}

// see returns b, the Hessian by the vector at p, seen so.
func (c reciprocals) see(b Metric, p Point) Metric {
	b = slices.Clone(b)
	for i, z := range p.Z {
		slope := c.slope(i, z)
		b[i*len(c)+i] += 2 * (1 - slope) * p.G[i]
		for j := range c {
			b[i*len(c)+j] /= slope
			b[j*len(c)+i] /= slope
		}
	}
	return b
}

// leave returns the Hessian by the vector at p of b, which is seen so.
func (c reciprocals) leave(b Metric, p Point) Metric {
	b = slices.Clone(b)
	for i, z := range p.Z {
		slope := c.slope(i, z)
		for j := range c {
			b[i*len(c)+j] *= slope
			b[j*len(c)+i] *= slope
		}
		b[i*len(c)+i] -= 2 * (1 - slope) * p.G[i]
	}
	return b
}

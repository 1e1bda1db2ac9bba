package kernel

import (
	"slices"

	"gpfit/internal/vec"
	"gpfit/kernel/code"
)

// Bilinear reports whether k(x, x′) = b + Σ_c a_c x_c x′_c, with b and a_c that depend
// on θ alone, as for sums of linear and constant.
func (p *Program) Bilinear() bool {
	if slices.ContainsFunc(p.Features, func(f Feature) bool { return f.Kind != InnerProduct }) {
		return false
	}
	g := p.Gradient()
	return !slices.ContainsFunc(g.ByFeature, func(slope code.ID) bool { return slope != code.None && !g.List.At(slope).Uniform })
}

// QuadraticGradient adds factor·vᵀ(∂K/∂log θ_p)v to grad[p] for every p, where K is
// the covariance matrix of the points x under a program that is [Program.Bilinear].
// It takes
//
//	vᵀKv = b(Σ_i v_i)² + Σ_c a_c(Σ_i v_i x_ic)²
//
// with derivatives of b = k(0, 0) and a_c = k(e_c, e_c) − b for the c-th unit vector
// e_c. The sums may be much smaller than their terms. Σ_ij v_i v_j k(x_i, x_j) would
// lose twice as many digits then, and those in which k is rounded.
func (e *Evaluator) QuadraticGradient(grad []float64, factor float64, v []float64, x *Points) {
	units := &Points{N: x.D + 1, D: x.D, X: make([]float64, (x.D+1)*x.D)} // the origin is the last
	sum := vec.Sum(v)
	origin := sum * sum
	for c := range x.D {
		units.X[c*units.N+c] = 1
		sum := vec.Dot(x.Column(c), v)
		e.RowGradient(grad, []float64{factor * sum * sum}, units, c, units, c, c+1)
		origin -= sum * sum
	}
	e.RowGradient(grad, []float64{factor * origin}, units, x.D, units, x.D, x.D+1)
}

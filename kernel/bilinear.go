package kernel

import (
	"slices"

	"gpfit/internal/code"
	"gpfit/internal/vec"
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
// with derivatives of b = k(0, 0) and 2a_c = k(e_c, e_c) − k(e_c, −e_c) for the c-th
// unit vector e_c. The sums may be much smaller than their terms. Then the sum over all
// pairs, Σ_ij v_i v_j k(x_i, x_j), would cancel, too, and rounding k would change it
// more than rounding v and x changes these sums.
func (e *Evaluator) QuadraticGradient(grad []float64, factor float64, v []float64, x *Points) {
	ends := &Points{N: 2, D: x.D, X: make([]float64, 2*x.D)} // e_c and −e_c
	for c := range x.D {
		sum := vec.Dot(x.Column(c), v)
		half := factor * sum * sum / 2
		end := ends.Column(c)
		end[0], end[1] = 1, -1
		e.RowGradient(grad, []float64{half, -half}, ends, 0, ends, 0, 2)
		end[0], end[1] = 0, 0
	}
	sum := vec.Sum(v)
	e.RowGradient(grad, []float64{factor * sum * sum}, ends, 0, ends, 0, 1) // at the origin
}

package graph

import "math"

// roundingFactor times the unit roundoff times the sums that [Objective.GradientRounding]
// describes is its estimate. In comparisons with arithmetic of 200 bits the errors are
// up to 16 such units, and the median is 1; see Test200Bits in benchmarks/reliability.
const roundingFactor = 8

// GradientRounding estimates the rounding error of every element of the gradient of the
// negative log marginal likelihood at the parameters of the last evaluation, in nats.
// It estimates 0 for coefficients of the mean.
//
// A derivative contains ½ αᵀ∂Kα, a sum of products that may cancel: α is large where
// K's rank is low, and nearly orthogonal to K's range. Rounding the elements of K
// alone changes the sum by about ε·½(Σ_ij α_i²K_ij²α_j²)^½ ≤ ε·½ Σ_i α_i²K_ii, because
// K_ij² ≤ K_ii K_jj, and the backward error of the factorisation has a similar effect.
// So no formula that starts from rounded elements of K does better. For a kernel
// that is bilinear, the solver does not start from them, and ε·αᵀr remains. The other
// part of a derivative, ½ tr(Σ⁻¹∂K), has an error of ε times the condition number of
// Σ, which the estimate leaves out.
func (o *Objective) GradientRounding() []float64 {
	s := o.solver
	noise := roundingFactor * unitRoundoff / 2 * s.quadraticSize()
	kernel := noise
	if s.prog.Bilinear() && !o.hasDerived() {
		kernel = roundingFactor * unitRoundoff * math.Abs(s.terms.DataFit)
	}
	var rounding []float64
	for _, v := range o.vars {
		for range v.elements {
			switch {
			case !v.isLog:
				rounding = append(rounding, 0)
			case v.name == NoiseVariance:
				rounding = append(rounding, noise)
			default:
				rounding = append(rounding, kernel)
			}
		}
	}
	return rounding
}

// hasDerived reports whether parameters are functions of others.
func (o *Objective) hasDerived() bool {
	free := 0
	for _, v := range o.vars {
		if v.isLog {
			free += len(v.elements)
		}
	}
	return free < len(o.solver.theta)+len(o.solver.estimated)
}

// quadraticSize returns Σ_t Σ_i α_ti² K_ii.
func (s *solver) quadraticSize() float64 {
	n := s.ws.N()
	sum := 0.0
	for i, v := range s.variances() {
		for t := range s.targets {
			a := s.alpha[t*n+i]
			sum += a * a * v
		}
	}
	return sum
}

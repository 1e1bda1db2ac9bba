package graph

// roundingFactor times the unit roundoff times ½ Σ_t Σ_i α_ti² K_ii is the estimate of
// [Objective.GradientRounding]. In comparisons with arithmetic of 200 bits the errors
// are up to 9 such units, and the median is 1; see Test200Bits in
// benchmarks/reliability.
const roundingFactor = 8

// GradientRounding estimates the rounding error of the derivatives of the negative log
// marginal likelihood by the logarithms of variances and lengthscales, in nats, at the
// parameters of the last evaluation.
//
// A derivative contains ½ αᵀ∂Kα, a sum of products that may cancel: α is large where
// K's rank is low, and nearly orthogonal to K's range. Rounding the elements of K
// alone changes the sum by about ε·½(Σ_ij α_i²K_ij²α_j²)^½ ≤ ε·½ Σ_i α_i²K_ii, because
// K_ij² ≤ K_ii K_jj, and the backward error of the factorisation has a similar effect.
// So no formula that starts from rounded elements of K does better. The other part of
// a derivative, ½ tr(Σ⁻¹∂K), has an error of ε times the condition number of Σ, which
// the estimate leaves out.
func (o *Objective) GradientRounding() float64 {
	s := o.solver
	n := s.ws.N()
	sum := 0.0
	for i, v := range s.variances() {
		for t := range s.targets {
			a := s.alpha[t*n+i]
			sum += a * a * v
		}
	}
	return roundingFactor * unitRoundoff * sum / 2
}

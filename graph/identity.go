package graph

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"

	"gpfit/device"
	"gpfit/kernel"
)

// identityFactor times the unit roundoff times |a|·tr(Σ⁻¹)·tr(Σ) + |b|·tr(Σ)·spread
// is the largest difference that counts as rounding. The first term bounds Σ_ij
// |Σ⁻¹_ij Σ_ij|, which is at most n times the condition number; the second bounds
// Σ_t Σ_ij |α_i α_j Σ_ij|. The largest difference observed is a thirtieth of this
// limit; see TestIdentityOfHardProblems.
const identityFactor = 16

// checkIdentity returns a [*device.WrongError] if the contraction with a violates
// the identity.
func (s *solver) checkIdentity(a *adjointHandle) error {
	if s.identity.weights == nil || a.loo != 0 || s.logDetStdErr != 0 {
		return nil
	}
	n := float64(s.ws.N())
	left, size := 0.0, 0.0
	for p, w := range s.identity.weights {
		left += w * s.grad[p]
		size += math.Abs(w * s.grad[p])
	}
	fit := 2 * s.terms.DataFit
	right := a.inv*n - a.outer*fit
	for i, v := range s.diag {
		right -= v * s.noiseOf(i)
	}
	trace := s.trace()
	bound := unitRoundoff * (math.Abs(a.inv)*s.inverseTrace(a)*trace + math.Abs(a.outer)*trace*s.identity.spread + size)
	s.identity.slack = math.Abs(left-right) / (identityFactor * bound)
	if !(s.identity.slack > 1) { // the optimiser handles values that are not finite
		return nil
	}
	return &device.WrongError{
		Device: s.device,
		What:   fmt.Sprintf("gradient: the trace of Σ⁻¹Σ differs from n by %.3g, but rounding explains only %.3g", left-right, identityFactor*bound),
	}
}

// unitRoundoff is the unit roundoff of float64.
const unitRoundoff = 0x1p-53

// noiseOf returns the variance that was added to the i-th element of the diagonal.
func (s *solver) noiseOf(i int) float64 { return s.noise[min(i, len(s.noise)-1)] + s.jitter }

// leastNoise returns the smallest variance that was added, a lower bound of the
// eigenvalues of Σ.
func (s *solver) leastNoise() float64 { return floats.Min(s.noise) + s.jitter }

// trace returns the trace of Σ.
func (s *solver) trace() float64 {
	sum := 0.0
	for i, v := range s.variances() {
		sum += v + s.noiseOf(i)
	}
	return sum
}

// variances returns the diagonal of K, until the next call.
func (s *solver) variances() []float64 {
	if s.evaluator == nil {
		s.evaluator, s.variance = kernel.NewEvaluator(s.prog), make([]float64, s.ws.N())
	}
	s.evaluator.Bind(s.theta)
	s.evaluator.Diagonal(s.variance, s.identity.x, 0, len(s.variance))
	return s.variance
}

// inverseTrace returns the trace of Σ⁻¹, computed from the diagonal of the adjoint.
// The noise bounds the result in case that diagonal is wrong.
func (s *solver) inverseTrace(a *adjointHandle) float64 {
	inverse := floats.Sum(s.diag) / a.inv
	for _, v := range s.alpha {
		inverse += a.outer / a.inv * v * v
	}
	return min(math.Abs(inverse), float64(s.ws.N())/s.leastNoise())
}

// setSpread sets identity.spread from the solutions that alpha consists of: Σ⁻¹y
// for all targets, and Σ⁻¹H times the mean's coefficients.
func (s *solver) setSpread(solutions []float64) {
	n := s.ws.N()
	s.identity.spread = 0
	for t := range s.targets {
		norm := floats.Norm(solutions[t*n:(t+1)*n], 2)
		for j := range len(s.h) / n {
			norm += math.Abs(s.beta[t*len(s.h)/n+j]) * floats.Norm(s.solvedH[j*n:(j+1)*n], 2)
		}
		s.identity.spread += norm * floats.Norm(s.alpha[t*n:(t+1)*n], 2)
	}
}

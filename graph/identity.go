package graph

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"

	"gpfit/device"
	"gpfit/kernel"
)

// identity checks every gradient of the marginal likelihood against tr(Σ⁻¹Σ) = n,
// using numbers that are already computed. For the adjoint A = aΣ⁻¹ − b Σ_t α_tα_tᵀ
// of K, with Σα_t = r_t (residuals r for any coefficients of the mean), and weights
// w of the kernel's log-parameters with Σ_p w_p ∂K/∂log θ_p = K,
//
//	Σ_p w_p ⟨A, ∂K/∂log θ_p⟩ = ⟨A, K⟩ = ⟨A, Σ⟩ − Σ_i A_ii σ_i²
//	                         = a·n − b Σ_t α_t·r_t − Σ_i A_ii σ_i²,
//
// where σ_i² is the total added to the diagonal element i. A wrong inverse or a
// wrong contraction violates the identity.
type identity struct {
	*solver
	// weights is nil if no such weights are known; x are the points.
	weights []float64
	x       *kernel.Points
	// unproved is the Spec's.
	unproved bool
	// evaluator computes the diagonal of K in variance; both are nil until needed.
	evaluator *kernel.Evaluator
	variance  []float64
	// slack is the difference of the two sides in the last check, in units of the bound, for tests.
	slack float64
}

// identityFactor times the unit roundoff times |a|·tr(Σ⁻¹)·tr(Σ) + |b|·tr(Σ)·spread is the
// largest difference that counts as rounding. The first term bounds Σ_ij |Σ⁻¹_ij Σ_ij|, which is
// at most n times the condition number; the second bounds Σ_t Σ_ij |α_i α_j Σ_ij|. The largest
// difference observed is a thirtieth of this limit; see TestIdentityOfHardProblems.
const identityFactor = 16

// check returns a [*device.WrongError] if the contraction with a violates the identity. A method with a bound violates it by
// more than rounding, and has a limit of its own.
// Rounding may explain an error of Σ⁻¹ as large as Σ⁻¹ itself. The bound, which is of first order
// in that error, then proves nothing about the device, and the point is infeasible. The noise
// limits the trace, so a wrong inverse does not lead here.
func (s *identity) check(a adjoint) error {
	if s.weights == nil || a.loo != 0 || s.logDetStdErr != 0 {
		return nil
	}
	n := float64(s.ws.N())
	left, size := 0.0, 0.0
	for p, w := range s.weights {
		left += w * s.grad[p]
		size += math.Abs(w * s.grad[p])
	}
	fit := 2 * s.terms.DataFit
	right := a.inv*n - a.outer*fit
	for i, v := range s.diag {
		right -= v * s.noiseOf(i)
	}
	if _, bounded := s.ws.(device.Bounded); bounded {
		return s.bounded(left-right, max(math.Abs(left), math.Abs(right), math.Abs(a.inv)*n, math.Abs(a.outer)*fit))
	}
	trace := s.trace()
	inverse := unitRoundoff * s.inverseTrace(a) * trace
	bound := math.Abs(a.inv)*inverse + unitRoundoff*(math.Abs(a.outer)*trace*s.spread()+size)
	s.slack = math.Abs(left-right) / (identityFactor * bound)
	if !(s.slack > 1) { // the optimizer handles values that are not finite
		return nil
	}
	loose, err := s.recurrence(left-right, max(math.Abs(left), math.Abs(right), math.Abs(a.inv)*n, math.Abs(a.outer)*fit))
	if loose {
		return err
	}
	if identityFactor*inverse >= n {
		return fmt.Errorf("rounding leaves no digits of the inverse of the covariance%.0w", &device.NotPDError{Minor: s.ws.N(), N: s.ws.N()})
	}
	return &device.WrongError{
		Device: s.device,
		What:   fmt.Sprintf("gradient: the trace of Σ⁻¹Σ differs from n by %.3g, but rounding explains only %.3g", left-right, identityFactor*bound),
	}
}

// boundedNats is the difference, in nats for a factor e, that a method with a bound may have besides recurrenceDigits.
const boundedNats = 0.1

// bounded judges a difference of the two sides for a method with a bound, which is of values: where the noise is far below the variance of
// the kernel, errors of derivatives are much larger. Such a point is infeasible.
func (s *identity) bounded(difference, size float64) error {
	if math.Abs(difference) <= boundedNats+recurrenceDigits*size {
		return nil
	}
	return fmt.Errorf("the method %s has too few digits for the gradient, which is off by about %.2g: take another method, such as dense, or more noise%.0w",
		s.ws.Method(), math.Abs(difference), &device.NotPDError{Minor: s.ws.N(), N: s.ws.N()})
}

// recurrenceDigits is the relative difference from which a recurrence leaves too few digits for a search.
const recurrenceDigits = 1e-6

// recurrence judges a difference of the two sides, of numbers of a size, if the method computes by recurrences over the rows.
// Their rounding grows with the rows and with the lengthscale in steps, beyond what the traces bound: at 20,000 rows and
// a lengthscale of a thousand ranges a third of a gradient may be rounding. Such a point is infeasible, and says nothing
// about the device.
func (s *identity) recurrence(difference, size float64) (is bool, err error) {
	w, ok := s.ws.(device.QuickForming)
	if !ok || !w.FormsQuickly() {
		return false, nil
	}
	if math.Abs(difference) > recurrenceDigits*size {
		err = fmt.Errorf("rounding leaves few digits of the gradient%.0w", &device.NotPDError{Minor: s.ws.N(), N: s.ws.N()})
	}
	return true, err
}

// unitRoundoff is the unit roundoff of float64.
const unitRoundoff = 0x1p-53

// trace returns the trace of Σ.
func (s *identity) trace() float64 {
	sum := 0.0
	for i, v := range s.variances() {
		sum += v + s.noiseOf(i)
	}
	return sum
}

// variances returns the diagonal of K, until the next call.
func (s *identity) variances() []float64 {
	if s.evaluator == nil {
		s.evaluator, s.variance = kernel.NewEvaluator(s.prog), make([]float64, s.ws.N())
	}
	s.evaluator.Bind(s.theta)
	s.evaluator.Diagonal(s.variance, s.x, 0, len(s.variance))
	return s.variance
}

// inverseTrace returns the trace of Σ⁻¹, computed from the diagonal of the adjoint.
// The noise bounds the result in case that diagonal is wrong, unless the kernel may be no covariance function.
func (s *identity) inverseTrace(a adjoint) float64 {
	inverse := floats.Sum(s.diag) / a.inv
	for _, v := range s.alpha {
		inverse += a.outer / a.inv * v * v
	}
	if s.unproved {
		return math.Abs(inverse)
	}
	return min(math.Abs(inverse), float64(s.ws.N())/s.leastNoise())
}

// spread returns the sum over targets of ‖α_t‖ times the norms of the solutions from which α_t was computed.
func (s *identity) spread() (sum float64) {
	n := s.ws.N()
	for t, size := range s.sizes {
		sum += size * floats.Norm(s.alpha[t*n:(t+1)*n], 2)
	}
	return sum
}

// quadraticSize returns Σ_t Σ_i α_ti² K_ii.
func (s *identity) quadraticSize() float64 {
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

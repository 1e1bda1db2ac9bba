package baseline

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"gpfit/internal/score"
)

// spectrum holds the singular value decomposition Z = USVᵀ of reduced least squares, up to
// its rank. Weights, leave-one-out and marginal likelihood follow for every λ.
type spectrum struct {
	*decomposition
	of *reduced
	// uy is Uᵀy, rest is y − UUᵀy.
	uy, rest []float64
}

func newSpectrum(r *reduced) (*spectrum, error) {
	d, err := thinSVD(r.z)
	if err != nil {
		return nil, err
	}
	s := &spectrum{decomposition: d, of: r, rest: slices.Clone(r.y)}
	s.uy = make([]float64, len(d.s))
	for range 2 { // the second time removes what rounding left
		part := multiplyTransposed(d.u, s.rest)
		clear(part[d.rank:])
		floats.AddScaled(s.uy, 1, part)
		floats.AddScaled(s.rest, -1, multiply(d.u, part))
	}
	return s, nil
}

// weights returns V S/(S² + λ) Uᵀy (ESL, eq. 3.47). For λ = 0 these are the least-squares
// weights of the smallest norm.
func (s *spectrum) weights(lambda float64) []float64 {
	part := make([]float64, len(s.s))
	for j := range s.rank {
		part[j] = s.uy[j] / (s.s[j] + lambda/s.s[j])
	}
	return multiply(s.v, part)
}

// shrink returns λ/(s_j² + λ), the share of a component that the penalty leaves to the residual.
func (s *spectrum) shrink(j int, lambda float64) float64 {
	if lambda == 0 {
		return 0
	}
	return 1 / (1 + s.s[j]/lambda*s.s[j])
}

// leaveOneOut returns the mean squared error of predictions of every row from the others,
// with the same centring and scaling: the mean of ((y − ŷ)_i/(1 − h_i))² (ESL, eq. 7.64).
// It is +∞ if a row determines its own prediction.
func (s *spectrum) leaveOneOut(lambda float64) float64 {
	free := s.of.leverage()
	residual := slices.Clone(s.rest)
	for i := range residual {
		u := s.u.RawRowView(i)[:s.rank]
		for j, v := range u {
			keep := s.shrink(j, lambda)
			residual[i] += v * keep * s.uy[j]
			free[i] -= v * v * (1 - keep)
		}
	}
	sum := 0.0
	for i, e := range residual {
		if !(free[i] > determined) {
			return math.Inf(1)
		}
		sum += e / free[i] * (e / free[i])
	}
	return sum / float64(len(residual))
}

// determined is the bound on 1 − h_i below which rounding, some ε per column, decides it.
const determined = 1e-11

// limits returns the range in which a penalty is chosen: from far below the smallest
// eigenvalue of ZᵀZ that matters to far above the largest.
func (s *spectrum) limits() (low, high float64) {
	return s.s0() * s.s0() * 1e-10, s.s0() * s.s0() * 1e6
}

// s0 is the largest singular value, or 1 if all are 0.
func (s *spectrum) s0() float64 {
	if s.rank == 0 {
		return 1
	}
	return s.s[0]
}

// choose returns the penalty with the smallest score: among the choices or, without any,
// in the range of limits.
func (s *spectrum) choose(choices []float64, score func(lambda float64) float64) (lambda float64, err error) {
	if len(choices) == 1 {
		return choices[0], nil
	}
	best := math.Inf(1)
	for _, v := range choices {
		if f := score(v); f < best {
			lambda, best = v, f
		}
	}
	if choices == nil {
		low, high := s.limits()
		lambda, best = minimizeLog(score, low, high)
	}
	if !finite(best) {
		return 0, fmt.Errorf("no penalty can be chosen from these %d rows, because a row alone determines a weight or the intercept; give one penalty", len(s.rest))
	}
	return lambda, nil
}

// evidence is the negative log marginal likelihood of y and the variance of the noise,
// for w ~ N(0, τ²I) and noise σ² with λ = σ²/τ² (RW, eq. 2.30, in the basis U; eq. 2.45
// for columns that are not penalized, whose terms that do not depend on λ are left out).
// Noise or scale, σ² or τ², is given or 0; if both are 0, the noise is the best one for λ.
func (s *spectrum) evidence(lambda, noise, scale float64) (nlml, variance float64) {
	dof := s.of.dof()
	fit, volume := squares(s.rest), 0.0
	for j := range s.rank {
		fit += s.uy[j] * s.uy[j] * s.shrink(j, lambda)
		volume += math.Log1p(s.s[j] * s.s[j] / lambda)
	}
	switch {
	case noise > 0:
		variance = noise
	case scale > 0:
		variance = lambda * scale
	default:
		variance = fit / float64(dof)
	}
	return score.NegLogNormal(fit/variance, volume+float64(dof)*math.Log(variance), dof), variance
}

// mostLikely returns the penalty and noise of the largest marginal likelihood, with what
// is given (see evidence).
func (s *spectrum) mostLikely(noise, scale float64) (lambda, variance, nlml float64, err error) {
	if noise > 0 && scale > 0 {
		lambda = noise / scale
		nlml, variance = s.evidence(lambda, noise, scale)
		return lambda, variance, nlml, nil
	}
	dof := s.of.dof()
	if dof < 1 {
		return 0, 0, 0, fmt.Errorf("%d rows cannot determine the noise beside as many or more columns without a penalty (an intercept counts); give one penalty, or the noise and the scale of the prior", len(s.rest))
	}
	if squares(s.of.y) == 0 {
		return 0, 0, 0, errNoLikelihood
	}
	low, high := s.limits()
	if scale > 0 { // the noise, not the weights, has to fit the targets
		level := squares(s.of.y) / float64(dof) / scale
		low, high = min(low, level*1e-10), max(high, level*1e6)
	}
	if noise > 0 { // the weights have to fit the targets
		level := noise * s.s0() * s.s0() / squares(s.of.y)
		low, high = min(low, level*1e-6), max(high, level*1e6)
	}
	lambda, nlml = minimizeLog(func(v float64) float64 { f, _ := s.evidence(v, noise, scale); return f }, low, high)
	_, variance = s.evidence(lambda, noise, scale)
	if !allFinite(lambda, variance, nlml) || variance <= 0 {
		return 0, 0, 0, errRange
	}
	return lambda, variance, nlml, nil
}

// errNoLikelihood is the error of a choice by marginal likelihood for targets without variation.
var errNoLikelihood = fmt.Errorf("the marginal likelihood has no largest value, because the targets do not vary; give the penalty, or the noise and the scale of the prior")

// gridPoints is the number of points of a first search over a penalty's logarithm, three
// or four per decade.
const gridPoints = 60

// minimizeLog minimizes f over the logarithm of its argument: on a grid, then by golden
// section around the best point.
func minimizeLog(f func(float64) float64, low, high float64) (x, value float64) {
	step := math.Log(high/low) / (gridPoints - 1)
	at := func(t float64) float64 { return f(low * math.Exp(t)) }
	best, value := 0.0, math.Inf(1)
	for i := range gridPoints {
		if v := at(float64(i) * step); v < value {
			best, value = float64(i)*step, v
		}
	}
	const ratio = 0.6180339887498949
	a, b := max(0, best-step), min(best+step, step*(gridPoints-1))
	c, d := b-ratio*(b-a), a+ratio*(b-a)
	fc, fd := at(c), at(d)
	for b-a > goldenWidth {
		if fc < fd {
			b, d, fd = d, c, fc
			c = b - ratio*(b-a)
			fc = at(c)
		} else {
			a, c, fc = c, d, fd
			d = a + ratio*(b-a)
			fd = at(d)
		}
	}
	if middle := (a + b) / 2; at(middle) <= value {
		best, value = middle, at(middle)
	}
	return low * math.Exp(best), value
}

// goldenWidth is the width of the last interval in the logarithm. Rounding hides the
// differences of f within it.
const goldenWidth = 1e-8

// penalty returns the penalty that leave-one-out chooses and its mean squared error, which
// is NaN for a given penalty.
func (s *spectrum) penalty(choices []float64) (lambda, loo float64, err error) {
	if len(choices) == 1 {
		return choices[0], math.NaN(), nil
	}
	lambda, err = s.choose(choices, s.leaveOneOut)
	return lambda, s.leaveOneOut(lambda), err
}

package graph

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gorgonia.org/gorgonia"

	"gpfit/device"
	"gpfit/internal/score"
	"gpfit/kernel"
	"gpfit/mean"
)

// nlml forms the covariance in the workspace, if it is not there yet, and returns
// the value for the residual r.
func (s *solver) nlml(c covariance, r []float64) (float64, error) {
	if s.frozen {
		return s.terms.NLML(), nil
	}
	if len(r) != s.ws.N()*s.targets {
		return 0, fmt.Errorf("graph: residual of %d elements for %d points and %d targets", len(r), s.ws.N(), s.targets)
	}
	if !s.formed || !slices.Equal(s.theta, c.theta) || !slices.Equal(s.noise, c.noise) {
		if err := s.form(c); err != nil {
			return 0, err
		}
	}
	if !s.solved || !slices.Equal(s.residual, r) {
		if err := s.solve(r); err != nil {
			return 0, err
		}
	}
	return s.terms.NLML(), nil
}

// solve computes alpha, the terms and, unless they are free, the mean's
// coefficients. One call of the workspace serves all right-hand sides.
func (s *solver) solve(r []float64) error {
	n := s.ws.N()
	s.solved, s.contracted = false, false
	s.out.forget()
	s.residual = append(s.residual[:0], r...)
	sides := slices.Concat(r, s.h)
	if err := s.ws.Solve(s.ctx, sides, len(sides)/n); err != nil {
		s.formed = false
		return err
	}
	copy(s.alpha, sides)
	s.sizes = s.sizes[:0]
	for t := range s.targets {
		s.sizes = append(s.sizes, floats.Norm(sides[t*n:(t+1)*n], 2))
	}
	var err error
	if s.logDet, s.logDetStdErr, err = s.ws.LogDet(); err != nil {
		s.formed = false
		return err
	}
	rest := r
	if len(s.h) > 0 {
		rest = slices.Clone(r)
		if err := s.leastSquares(rest, sides[len(r):]); err != nil {
			return err
		}
	}
	targets := float64(s.targets)
	s.terms = Terms{
		Complexity: targets * s.logDet / 2, Constant: targets * score.NegLogNormal(0, 0, n), Jitter: s.jitter, LogDetStdErr: s.logDetStdErr,
	}
	for t := range s.targets {
		fit, err := s.dataFit(rest[t*n:(t+1)*n], t)
		if err != nil {
			return err
		}
		s.terms.DataFits = append(s.terms.DataFits, fit/2)
		s.terms.DataFit += fit / 2
	}
	s.solved = true
	return nil
}

// dataFit returns rᵀα for the residual r of target t, with α = Σ⁻¹r, which is not negative. Where rounding of y and
// of the solutions does not explain that it came out negative, no digit of α is right, and for optimizers Σ has no factor.
func (s *solver) dataFit(r []float64, t int) (fit float64, err error) {
	n := s.ws.N()
	alpha := s.alpha[t*n : (t+1)*n]
	for i, v := range r {
		fit += v * alpha[i]
	}
	if fit >= 0 {
		return fit, nil
	}
	explained := floats.Norm(s.residual[t*n:(t+1)*n], 2)*floats.Norm(alpha, 2) + s.sizes[t]*floats.Norm(r, 2)
	if -fit <= float64(n)*unitRoundoff*explained {
		return 0, nil
	}
	return 0, fmt.Errorf("rounding leaves no digits of the data fit, a quadratic form that came out negative%.0w", &device.NotPDError{Minor: n, N: n})
}

// leastSquares finds β̂ for every target and subtracts the mean: r becomes y − Hβ̂
// and alpha = Σ⁻¹y becomes Σ⁻¹(y − Hβ̂). solved is Σ⁻¹H.
func (s *solver) leastSquares(r, solved []float64) error {
	n := s.ws.N()
	gls, err := mean.NewGLS(s.h, solved, n)
	if err != nil {
		// H has full rank, so the cause is Σ. For optimizers it has no factor here, and a line
		// search steps back. The error has err's text.
		return fmt.Errorf("%w%.0w", err, &device.NotPDError{Minor: n, N: n})
	}
	s.gls, s.solvedH, s.beta = gls, solved, make([]float64, s.targets*len(s.h)/n)
	cancels := false
	for t := range s.targets {
		s.sizes[t] += s.subtractMean(r, t)
		cancels = cancels || s.sizes[t] > mostCancelled*floats.Norm(s.alpha[t*n:(t+1)*n], 2)
	}
	if cancels {
		return s.refine(r)
	}
	return nil
}

// mostCancelled is how many times longer than alpha the solutions may be of which it is a difference: half of the slack
// with which package gp checks the equations of a model.
const mostCancelled = 32

// subtractMean takes the mean with the coefficients of least squares for r from target t of r and alpha, and adds them to
// beta. It returns the sum of the norms of what it takes from alpha.
func (s *solver) subtractMean(r []float64, t int) (size float64) {
	n := s.ws.N()
	for j, v := range s.addCoefficients(r, t) {
		floats.AddScaled(s.alpha[t*n:(t+1)*n], -v, s.solvedH[j*n:(j+1)*n])
		size += math.Abs(v) * floats.Norm(s.solvedH[j*n:(j+1)*n], 2)
	}
	return size
}

// addCoefficients returns the coefficients of least squares for target t of r, adds them to beta, and takes their mean from r.
func (s *solver) addCoefficients(r []float64, t int) []float64 {
	n, q := s.ws.N(), len(s.h)/s.ws.N()
	more := s.gls.Coefficients(r[t*n : (t+1)*n])
	for j, v := range more {
		floats.AddScaled(r[t*n:(t+1)*n], -v, s.h[j*n:(j+1)*n])
		s.beta[t*q+j] += v
	}
	return more
}

// refine takes from the residual r what least squares still find in it, and solves for r itself (Björck, Numerical Methods
// for Least Squares Problems, 1996, section 2.9). A target that is its mean has no other digits.
func (s *solver) refine(r []float64) error {
	n := s.ws.N()
	for t := range s.targets {
		s.addCoefficients(r, t)
	}
	copy(s.alpha, r)
	if err := s.ws.Solve(s.ctx, s.alpha, s.targets); err != nil {
		s.formed = false
		return err
	}
	for t := range s.targets {
		s.sizes[t] = floats.Norm(s.alpha[t*n:(t+1)*n], 2)
	}
	return nil
}

// form forms Σ in the workspace, with jitter if that is needed and allowed.
func (s *solver) form(c covariance) (err error) {
	s.formed, s.solved, s.contracted = false, false, false
	s.out.forget()
	s.stamp++
	s.theta, s.noise = append(s.theta[:0], c.theta...), append(s.noise[:0], c.noise...)
	s.estimated = append(s.estimated[:0], c.estimated...)
	s.jitter, err = s.ladder.climb(func(jitter float64) error {
		raised := slices.Clone(c.noise)
		floats.AddConst(jitter, raised)
		return s.ws.Form(s.ctx, s.prog, s.theta, raised)
	})
	if err != nil {
		return err
	}
	s.formed = true
	return nil
}

// contract evaluates ⟨adjoint, ∂K/∂log θ⟩ into s.grad and the adjoint's diagonal into
// s.diag, once for all consumers of the adjoint, whose value is v.
func (s *solver) contract(v gorgonia.Value) error {
	a, err := contentOf[adjoint](v)
	if err != nil || s.frozen {
		return err
	}
	if a.stamp != s.stamp || !s.solved {
		return errors.New("graph: an adjoint was used after the matrix it belongs to was overwritten")
	}
	if s.contracted && s.inv == a.inv && s.outer == a.outer && s.loo == a.loo {
		return nil
	}
	if err := s.restore(); err != nil {
		return err
	}
	clear(s.grad)
	if a.loo == 0 {
		err = s.ws.Contract(s.ctx, s.weights(a), s.prog, s.theta, s.grad, s.diag)
	} else {
		err = s.out.contract(a.loo)
	}
	if err != nil {
		s.formed, s.solved = false, false
		return err
	}
	s.formed = !device.Consumes(s.ws)
	if a.loo == 0 && s.prog.Bilinear() {
		s.addOuter(-a.outer)
	}
	if err := s.identity.check(a); err != nil {
		return err
	}
	s.contracted, s.inv, s.outer, s.loo = true, a.inv, a.outer, a.loo
	return nil
}

// weights returns the adjoint a of nlmlOp for a contraction, without the outer products if
// addOuter adds them.
func (s *solver) weights(a adjoint) device.Adjoint {
	adj := device.Adjoint{Inv: a.inv}
	if !s.prog.Bilinear() {
		adj.Vectors = s.alpha
		for range s.targets {
			adj.Outer = append(adj.Outer, -a.outer)
		}
	}
	return adj
}

// addOuter adds factor·Σ_t α_tᵀ(∂K/∂log θ_p)α_t to s.grad[p], and the diagonal of
// factor·Σ_t α_tα_tᵀ to s.diag, for a bilinear kernel. The matrix of such a kernel has
// low rank, and α_t is nearly orthogonal to its range, so the sum over the elements of
// α_tα_tᵀ and of rounded ∂K would lose too many digits.
func (s *solver) addOuter(factor float64) {
	n := s.ws.N()
	if s.groups == nil {
		s.groups = rowGroups(s.ws, s.identity.x)
	}
	e := kernel.NewEvaluator(s.prog)
	e.Bind(s.theta)
	for t := range s.targets {
		alpha := s.alpha[t*n : (t+1)*n]
		for _, g := range s.groups {
			own := alpha
			if g.rows != nil {
				own = make([]float64, len(g.rows))
				for i, row := range g.rows {
					own[i] = alpha[row]
				}
			}
			e.QuadraticGradient(s.grad, factor, own, g.x)
		}
		for i, v := range alpha {
			s.diag[i] += factor * v * v
		}
	}
}

// noiseOf returns the variance that was added to the i-th element of the diagonal.
func (s *solver) noiseOf(i int) float64 { return s.noise[min(i, len(s.noise)-1)] + s.jitter }

// leastNoise returns the smallest variance that was added, a lower bound of the eigenvalues of Σ.
func (s *solver) leastNoise() float64 { return floats.Min(s.noise) + s.jitter }

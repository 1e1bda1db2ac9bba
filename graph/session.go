package graph

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gpfit/device"
	"gpfit/kernel"
)

// Terms are the parts of the objective.
type Terms struct {
	// DataFit is ½ rᵀΣ⁻¹r, Complexity ½ log|Σ|, Constant ½ n log 2π
	// (Rasmussen & Williams 2006, eq. 5.8, negated).
	DataFit, Complexity, Constant float64
	// NegLogPrior is the sum of the priors' terms, 0 without priors.
	NegLogPrior float64
	// Jitter is the variance that had to be added to the diagonal for the
	// factorisation; 0 unless the user allowed some.
	Jitter float64
}

// NLML returns the negative log marginal likelihood, without priors.
func (t Terms) NLML() float64 { return t.DataFit + t.Complexity + t.Constant }

// session drives one workspace for the ops of one graph. It remembers what the
// workspace holds, so that work for the same parameters is not done twice: a
// gradient after a value reuses the factor.
type session struct {
	ws        device.Workspace
	prog      *kernel.Program
	maxJitter float64
	salt      uint64

	ctx context.Context

	// stamp counts factorisations; factored says that the workspace holds
	// that of (theta, noise).
	stamp        uint64
	factored     bool
	theta, noise []float64
	jitter       float64
	logDet       float64

	// solved says that alpha = Σ⁻¹·residual for that factorisation.
	solved          bool
	residual, alpha []float64
	terms           Terms

	// contracted says that grad and diag belong to (alpha, inv, outer).
	contracted bool
	inv, outer float64
	grad, diag []float64
}

func newSession(ws device.Workspace, prog *kernel.Program, maxJitter float64) *session {
	n := ws.N()
	return &session{
		ws: ws, prog: prog, maxJitter: maxJitter, ctx: context.Background(),
		alpha: make([]float64, n), diag: make([]float64, n), grad: make([]float64, prog.NumParams),
	}
}

// nlml makes the workspace hold the factor of the covariance and returns the
// value for the residual r.
func (s *session) nlml(c *covarianceHandle, r []float64) (float64, error) {
	if len(r) != s.ws.N() {
		return 0, fmt.Errorf("graph: residual of %d elements for %d points", len(r), s.ws.N())
	}
	if !s.factored || !slices.Equal(s.theta, c.theta) || !slices.Equal(s.noise, c.noise) {
		if err := s.factor(c.theta, c.noise); err != nil {
			return 0, err
		}
	}
	if !s.solved || !slices.Equal(s.residual, r) {
		s.solved, s.contracted = false, false
		s.residual = append(s.residual[:0], r...)
		copy(s.alpha, r)
		if err := s.ws.Solve(s.ctx, s.alpha, 1); err != nil {
			s.factored = false
			return 0, err
		}
		s.solved = true
		fit := 0.0
		for i, v := range r {
			fit += v * s.alpha[i]
		}
		s.terms = Terms{
			DataFit: fit / 2, Complexity: s.logDet / 2,
			Constant: float64(len(r)) / 2 * math.Log(2*math.Pi), Jitter: s.jitter,
		}
	}
	return s.terms.NLML(), nil
}

// factor fills and factors. Where the matrix is not positive definite and the
// user allows jitter, it is raised tenfold from 1e-10 of the mean variance up
// to the limit.
func (s *session) factor(theta, noise []float64) error {
	s.factored, s.solved, s.contracted = false, false, false
	s.stamp++
	s.theta, s.noise = append(s.theta[:0], theta...), append(s.noise[:0], noise...)
	s.jitter = 0
	err := s.tryFactor(noise)
	for jitter := 1e-10; device.IsNotPD(err) && jitter <= s.maxJitter; jitter *= 10 {
		raised := slices.Clone(noise)
		for i := range raised {
			raised[i] += jitter
		}
		s.jitter = jitter
		err = s.tryFactor(raised)
	}
	if err != nil {
		return err
	}
	if s.logDet, err = s.ws.LogDet(); err != nil {
		return err
	}
	s.factored = true
	return nil
}

func (s *session) tryFactor(noise []float64) error {
	if err := s.ws.Fill(s.ctx, s.prog, s.theta, noise); err != nil {
		return err
	}
	return s.ws.Factor(s.ctx)
}

// contract evaluates ⟨adjoint, ∂K/∂log θ⟩ into s.grad and the adjoint's
// diagonal into s.diag, once for all consumers of the adjoint.
func (s *session) contract(a *adjointHandle) error {
	if a.stamp != s.stamp || !s.solved {
		return errors.New("graph: an adjoint was used after the matrix it belongs to was overwritten")
	}
	if s.contracted && s.inv == a.inv && s.outer == a.outer {
		return nil
	}
	clear(s.grad)
	adj := device.Adjoint{Inv: a.inv, Outer: []float64{-a.outer}, Vectors: s.alpha}
	if err := s.ws.Contract(s.ctx, adj, s.prog, s.theta, s.grad, s.diag); err != nil {
		s.factored, s.solved = false, false
		return err
	}
	s.contracted, s.inv, s.outer = true, a.inv, a.outer
	return nil
}

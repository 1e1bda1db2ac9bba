package sampler

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// walker is the state of a chain. It moves in whitened coordinates u, q = centre + L·u,
// in which the metric is the identity; L is the Cholesky factor of the covariance.
type walker struct {
	density   Density
	rng       *rand.Rand
	step      float64
	gradients int
	lower     *mat.TriDense
	// q and its log density and gradient, which is whitened.
	q, g []float64
	logp float64
	raw  []float64
}

// ErrStart reports a chain whose start has no density.
var ErrStart = errors.New("the density is zero at the start")

func newWalker(ctx context.Context, density Density, start, metric []float64, rng *rand.Rand) (*walker, error) {
	p := len(start)
	w := &walker{density: density, rng: rng, q: slices.Clone(start), g: make([]float64, p), raw: make([]float64, p)}
	covariance := mat.NewSymDense(p, slices.Clone(metric))
	for i := range p {
		if metric == nil {
			covariance.SetSym(i, i, 1)
		}
	}
	if !w.whiten(covariance) {
		return nil, errors.New("sampler: the covariance is not positive definite")
	}
	err := w.findStep(ctx)
	if err == nil && math.IsInf(w.logp, -1) {
		err = ErrStart
	}
	return w, err
}

// whiten takes a covariance for the coordinates, unless it is not positive definite.
func (w *walker) whiten(covariance *mat.SymDense) bool {
	var chol mat.Cholesky
	if !chol.Factorize(covariance) {
		return false
	}
	var l mat.TriDense
	chol.LTo(&l)
	w.lower = &l
	return true
}

// evaluate returns the log density at q and writes the whitened gradient Lᵀ∇ to g.
func (w *walker) evaluate(ctx context.Context, q, g []float64) (float64, error) {
	w.gradients++
	logp, err := w.density.LogDensity(ctx, q, w.raw)
	if err != nil {
		return 0, err
	}
	finite := !math.IsNaN(logp) && !math.IsInf(logp, 1)
	for _, v := range w.raw {
		finite = finite && v-v == 0
	}
	if !finite {
		return math.Inf(-1), nil
	}
	mat.NewVecDense(len(g), g).MulVec(w.lower.T(), mat.NewVecDense(len(q), w.raw))
	return logp, nil
}

// state is a point of phase space: a position with its density, and a momentum.
type state struct {
	q, g, p []float64
	logp    float64
}

func (s *state) copy() *state {
	return &state{slices.Clone(s.q), slices.Clone(s.g), slices.Clone(s.p), s.logp}
}

// energy returns minus the log of the joint density of position and momentum.
func (s *state) energy() float64 { return -s.logp + 0.5*dot(s.p, s.p) }

func dot(a, b []float64) float64 {
	sum := 0.0
	for i, v := range a {
		sum += v * b[i]
	}
	return sum
}

// leap makes a leapfrog step of the size h, of any sign, in place.
func (w *walker) leap(ctx context.Context, s *state, h float64) (err error) {
	floats.AddScaled(s.p, 0.5*h, s.g)
	// q += h·L·p
	for i := range s.q {
		sum := 0.0
		for j := range i + 1 {
			sum += w.lower.At(i, j) * s.p[j]
		}
		s.q[i] += h * sum
	}
	if s.logp, err = w.evaluate(ctx, s.q, s.g); err != nil || math.IsInf(s.logp, -1) {
		return err
	}
	floats.AddScaled(s.p, 0.5*h, s.g)
	return nil
}

// begin returns the state of the walker with a fresh momentum.
func (w *walker) begin() *state {
	s := &state{slices.Clone(w.q), slices.Clone(w.g), make([]float64, len(w.q)), w.logp}
	for i := range s.p {
		s.p[i] = w.rng.NormFloat64()
	}
	return s
}

// findStep evaluates the density at the walker and finds a step size whose acceptance crosses
// ½ (Hoffman & Gelman 2014, algorithm 4).
func (w *walker) findStep(ctx context.Context) (err error) {
	if w.logp, err = w.evaluate(ctx, w.q, w.g); err != nil || math.IsInf(w.logp, -1) {
		return err
	}
	w.step = 1
	s := w.begin()
	before := s.energy()
	direction := 0.0
	for range 50 {
		trial := s.copy()
		if err := w.leap(ctx, trial, w.step); err != nil {
			return err
		}
		change := before - trial.energy()
		up := change > math.Log(0.5)
		switch {
		case direction == 0 && up:
			direction = 2
		case direction == 0:
			direction = 0.5
		case up != (direction == 2):
			return nil
		}
		w.step *= direction
	}
	return nil
}

// Density is the logarithm of a density, up to a constant. It is used by one goroutine.
type Density interface {
	// LogDensity returns the logarithm at q and writes its gradient to grad. It is −Inf
	// where the density is zero or cannot be computed; the gradient then means nothing.
	// An error ends the run.
	LogDensity(ctx context.Context, q, grad []float64) (float64, error)
}

// Options configures [Run]. The zero value is ready to use.
type Options struct {
	// Chains, Warmup and Draws are the number of chains and of iterations of each; 0 means
	// 4, 500 and 1000. The draws of the warm-up are not kept.
	Chains, Warmup, Draws int
	// Seed determines all draws.
	Seed uint64
	// Covariances are first estimates of the covariance around the start of each chain, p×p; nil
	// means the identity.
	Covariances [][]float64
	// Workers is the number of chains that run at the same time; 0 means 1. The draws do
	// not depend on it.
	Workers int
	// OnIteration, unless nil, is called after each iteration of a chain, the first of
	// them 1, warm-up included. Calls do not overlap.
	OnIteration func(chain, iteration int)
}

// Chain holds the draws of a chain in order.
type Chain struct {
	// Draws are points, LogDensity their log densities.
	Draws      [][]float64
	LogDensity []float64
	// Accept is the mean probability of acceptance along the trajectory of each draw,
	// Depth the number of its doublings, and Divergent says that the trajectory diverged:
	// the density is more curved there than the step size resolves.
	Accept    []float64
	Depth     []int
	Divergent []bool
	// StepSize is the draws' step size, Gradients counts evaluations with the warm-up.
	StepSize  float64
	Gradients int
}

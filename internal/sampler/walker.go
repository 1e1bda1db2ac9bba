package sampler

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"
)

// walker is the state of a chain. It moves in whitened coordinates u, q = centre + L·u,
// in which the metric is the identity; L is the Cholesky factor of the covariance.
type walker struct {
	density   Density
	rng       *rand.Rand
	maxDepth  int
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

func newWalker(ctx context.Context, density Density, start []float64, o Options, rng *rand.Rand) (*walker, error) {
	p := len(start)
	w := &walker{density: density, rng: rng, maxDepth: o.MaxDepth, q: append([]float64(nil), start...), g: make([]float64, p), raw: make([]float64, p)}
	covariance := o.Covariance
	if covariance == nil {
		covariance = make([]float64, p*p)
		for i := range p {
			covariance[i*p+i] = 1
		}
	}
	if !w.whiten(mat.NewSymDense(p, append([]float64(nil), covariance...))) {
		return nil, errors.New("sampler: the covariance is not positive definite")
	}
	var err error
	if w.logp, err = w.evaluate(ctx, w.q, w.g); err != nil {
		return nil, err
	}
	if math.IsInf(w.logp, -1) {
		return nil, ErrStart
	}
	return w, w.findStep(ctx)
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
	return &state{append([]float64(nil), s.q...), append([]float64(nil), s.g...), append([]float64(nil), s.p...), s.logp}
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
	for i := range s.p {
		s.p[i] += 0.5 * h * s.g[i]
	}
	// q += h·L·p
	n := len(s.q)
	for i := range n {
		sum := 0.0
		for j := range i + 1 {
			sum += w.lower.At(i, j) * s.p[j]
		}
		s.q[i] += h * sum
	}
	if s.logp, err = w.evaluate(ctx, s.q, s.g); err != nil || math.IsInf(s.logp, -1) {
		return err
	}
	for i := range s.p {
		s.p[i] += 0.5 * h * s.g[i]
	}
	return nil
}

// begin returns the state of the walker with a fresh momentum.
func (w *walker) begin() *state {
	s := &state{append([]float64(nil), w.q...), append([]float64(nil), w.g...), make([]float64, len(w.q)), w.logp}
	for i := range s.p {
		s.p[i] = w.rng.NormFloat64()
	}
	return s
}

// findStep finds a step size whose acceptance crosses ½ (Hoffman & Gelman 2014,
// algorithm 4).
func (w *walker) findStep(ctx context.Context) error {
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

package gp

import (
	"context"
	"errors"
	"slices"

	"gpfit/device"
	"gpfit/kernel"
	"gpfit/mean"
)

// system is a model on a device: the covariance Σ of its training rows, and what was solved with it. The
// posteriors of all targets share it.
type system struct {
	// whole is the model with all targets.
	whole *Model
	covariance
	// x are the training rows.
	x *kernel.Points
	// backend is nil on a workspace of others. ws is nil until a result needs it, and formed says that it holds Σ.
	backend device.Backend
	ws      device.Workspace
	formed  bool
	// The first result that needs gls and solved = Σ⁻¹H computes them.
	gls    *mean.GLS
	solved []float64
}

// newSystem returns the system of a model on the backend for its rows ([device.For]), without a workspace.
func newSystem(m *Model, b device.Backend) (*system, error) {
	w, err := m.Workload()
	if err != nil {
		return nil, err
	}
	b = device.For(b, w)
	if method := b.Capabilities().Method; m.State.Method != "" && method != m.State.Method {
		return nil, &device.UnsupportedError{Method: method, What: "predictions of a model that the method " + m.State.Method + " fitted"}
	}
	if err := b.Supports(device.Workload{N: w.N, D: w.D, Program: w.Program}); err != nil {
		return nil, err
	}
	return &system{whole: m, covariance: covariance{w.Program, m.Theta}, x: w.Points, backend: b}, nil
}

// of returns the system of another model of the same rows and kernel, on a workspace or, if it is nil, without one.
func (s *system) of(m *Model, ws device.Workspace) *system {
	return &system{whole: m, covariance: covariance{s.prog, m.Theta}, x: s.x, backend: s.backend, ws: ws}
}

// posterior returns the posterior of the first target.
func (s *system) posterior() *Posterior { return &Posterior{system: s, model: s.whole.Target(0)} }

// open makes the workspace, if there is none.
func (s *system) open(ctx context.Context) (err error) {
	if s.ws == nil {
		s.ws, err = s.backend.NewWorkspace(ctx, s.x)
	}
	return err
}

// form prepares the workspace for predictions, if it is not prepared. It reads the factor from the model's file, if
// the file has one and the method uses one, and computes it otherwise.
func (s *system) form(ctx context.Context) error {
	if s.formed {
		return nil
	}
	if err := s.open(ctx); err != nil {
		return err
	}
	err := s.compute(ctx)
	s.formed = err == nil
	return err
}

func (s *system) compute(ctx context.Context) error {
	if factor, ok := s.ws.(device.FactorStore); ok && s.whole.factorPath != "" {
		return readFactor(s.whole.factorPath, s.whole.N(), factor)
	}
	return s.ws.Form(ctx, s.prog, s.theta, s.whole.NoiseDiagonal())
}

// close frees the device's memory.
func (s *system) close() error {
	if s.ws == nil {
		return nil
	}
	return s.ws.Close()
}

// meanPredictor returns what predicts means without a workspace: the backend, or the only device of the
// dense method; nil if neither does.
func (s *system) meanPredictor() device.MeanPredictor {
	if on, ok := s.backend.(device.MeanPredictor); ok || s.backend == nil {
		return on
	}
	if c := s.backend.Capabilities(); len(c.Devices) == 1 && c.Method == device.DenseName {
		on, _ := c.Devices[0].(device.MeanPredictor)
		return on
	}
	return nil
}

// means returns the mean of each target at points, in scaled units.
func (s *system) means(ctx context.Context, xs *kernel.Points) (out [][]float64, err error) {
	sums := make([]float64, xs.N*s.whole.T())
	if on := s.meanPredictor(); on != nil && !s.formed {
		err = on.PredictMeans(ctx, s.x, s.prog, s.theta, s.whole.Alpha, xs, sums)
	} else if err = s.open(ctx); err == nil {
		err = s.ws.Predict(ctx, s.prog, s.theta, s.whole.Alpha, xs, sums, nil)
	}
	if errors.Is(err, device.ErrStage) {
		// This method needs its matrix even for means.
		if err = s.form(ctx); err == nil {
			err = s.ws.Predict(ctx, s.prog, s.theta, s.whole.Alpha, xs, sums, nil)
		}
	}
	if err != nil {
		return nil, err
	}
	return withMeans(s.whole.targets(), xs, sums), nil
}

// oneProcess forms the workspace for a result that rows of different parts do not have, because they have no
// covariance. Errors are [*device.UnsupportedError].
func (s *system) oneProcess(ctx context.Context, what string) error {
	if err := s.form(ctx); err != nil {
		return err
	}
	if parts, ok := s.ws.(device.BlockDiagonal); ok && len(parts.Blocks()) > 1 {
		return &device.UnsupportedError{Method: s.ws.Method(), What: what}
	}
	return s.whole.Scaling.Untransformed(what + ": they belong to the transformed target")
}

// leastSquares solves for Σ⁻¹H and forms M, on the first call only. It returns the number of coefficients, 0 without
// least squares.
func (s *system) leastSquares(ctx context.Context) (int, error) {
	basis := s.whole.Mean.Basis
	if !s.whole.Mean.LeastSquares || len(basis) == 0 {
		return 0, nil
	}
	if s.gls != nil {
		return len(basis), nil
	}
	h := basis.Evaluate(s.x)
	solved := slices.Clone(h)
	if err := s.ws.Solve(ctx, solved, len(basis)); err != nil {
		return 0, err
	}
	gls, err := mean.NewGLS(h, solved, s.x.N)
	if err != nil {
		return 0, err
	}
	s.gls, s.solved = gls, solved
	return len(basis), nil
}

// meanUncertainty returns the part of the posterior covariance at the points xs that is
// due to the uncertainty of the mean's coefficients. It returns a q×m matrix; the covariance of
// points i and j is the product of its columns i and j. The matrix is nil if least squares did
// not find the coefficients. This is RᵀM⁻¹R of Rasmussen & Williams (2006), eq. 2.42, with R = H*
// − HᵀΣ⁻¹K* and M = HᵀΣ⁻¹H, for a vague prior on β (universal kriging). K* is the covariance c,
// which is the model's kernel or one of its terms; without withMean, H* is omitted. The
// cost is 2nqm flops and the kernel at m×n pairs.
func (s *system) meanUncertainty(ctx context.Context, c covariance, xs *kernel.Points, withMean bool) ([]float64, error) {
	q, err := s.leastSquares(ctx)
	if q == 0 || err != nil {
		return nil, err
	}
	m := xs.N
	part, w := make([]float64, m*q), make([]float64, q*m)
	if err := s.ws.Predict(ctx, c.prog, c.theta, s.solved, xs, part, nil); err != nil {
		return nil, err
	}
	for j, f := range s.whole.Mean.Basis {
		for i, x := range xs.Column(f.Column) {
			w[i*q+j] = -part[j*m+i]
			if withMean {
				w[i*q+j] += f.At(x)
			}
		}
	}
	s.gls.Whiten(w)
	return w, nil
}

// predict returns k*ᵀα for each column of alpha (n×T) and the variance of the function at points for a covariance c, which
// is the model's kernel, withMean, or one of its terms.
func (s *system) predict(ctx context.Context, c covariance, alpha []float64, xs *kernel.Points, withMean bool) (sums, variance []float64, err error) {
	sums, variance = make([]float64, xs.N*len(alpha)/s.x.N), c.diagonal(xs)
	reduction := make([]float64, xs.N)
	if err := s.ws.Predict(ctx, c.prog, c.theta, alpha, xs, sums, reduction); err != nil {
		return nil, nil, err
	}
	w, err := s.meanUncertainty(ctx, c, xs, withMean)
	q := len(s.whole.Mean.Basis)
	for i := range w {
		variance[i/q] += w[i] * w[i]
	}
	for i, v := range reduction {
		// Rounding can make the difference slightly negative.
		variance[i] = max(variance[i]-v, 0)
	}
	return sums, variance, err
}

package gp

import (
	"context"
	"fmt"
	"io"
	"slices"

	"gpfit/device"
	"gpfit/kernel"
	"gpfit/mean"
)

// Posterior is a model conditioned on a device. It is not safe for concurrent use.
// With several targets it predicts the first; see [Posterior.Target].
type Posterior struct {
	// whole is the model with all targets, model the model of one of them.
	whole, model *Model
	prog         *kernel.Program
	ws           device.Workspace
	// The first prediction that needs gls and solved = Σ⁻¹H computes them.
	gls    *mean.GLS
	solved []float64
}

// Condition forms the posterior on the backend. It reads the factor from the model's file, if the
// file has one and the method uses one, and computes it otherwise (n³/3 operations).
func (m *Model) Condition(ctx context.Context, b device.Backend) (*Posterior, error) {
	prog, ws, err := newWorkspace(ctx, m, b)
	if err != nil {
		return nil, err
	}
	if err := formWorkspace(ctx, m, ws, prog); err != nil {
		ws.Close()
		return nil, err
	}
	return &Posterior{whole: m, model: m.Target(0), prog: prog, ws: ws}, nil
}

// suited returns the backend for a model's rows ([device.For]), and what it computes with.
func suited(m *Model, b device.Backend) (device.Backend, device.Workload, error) {
	w, err := m.Workload()
	if err != nil {
		return nil, w, err
	}
	b = device.For(b, w)
	if method := b.Capabilities().Method; m.State.Method != "" && method != m.State.Method {
		return nil, w, &device.UnsupportedError{Method: method, What: "predictions of a model that the method " + m.State.Method + " fitted"}
	}
	return b, w, b.Supports(device.Workload{N: w.N, D: w.D, Program: w.Program})
}

// newWorkspace returns the model's program, and a workspace for its training rows.
func newWorkspace(ctx context.Context, m *Model, b device.Backend) (*kernel.Program, device.Workspace, error) {
	b, w, err := suited(m, b)
	if err != nil {
		return nil, nil, err
	}
	ws, err := b.NewWorkspace(ctx, w.Points)
	return w.Program, ws, err
}

// formWorkspace prepares a workspace for predictions.
func formWorkspace(ctx context.Context, m *Model, ws device.Workspace, prog *kernel.Program) error {
	if factor, ok := ws.(device.FactorStore); ok && m.factorPath != "" {
		return readFactor(m.factorPath, m.N(), factor)
	}
	return ws.Form(ctx, prog, m.Theta, m.NoiseDiagonal())
}

// Attach returns the posterior on a workspace that already holds the factor of the
// model's covariance, such as the workspace of a fit.
func (m *Model) Attach(ws device.Workspace) (*Posterior, error) {
	prog, err := m.Program()
	if err != nil {
		return nil, err
	}
	if ws.N() != m.N() {
		return nil, fmt.Errorf("gp: workspace for %d points, model of %d", ws.N(), m.N())
	}
	return &Posterior{whole: m, model: m.Target(0), prog: prog, ws: ws}, nil
}

// Model returns the posterior's model, or the model of its target if it is the
// posterior of a single one.
func (p *Posterior) Model() *Model { return p.model }

// Whole returns the model with all its targets.
func (p *Posterior) Whole() *Model { return p.whole }

// Workspace returns the workspace that holds the factor.
func (p *Posterior) Workspace() device.Workspace { return p.ws }

// Close frees the device's memory.
func (p *Posterior) Close() error { return p.ws.Close() }

// SaveWithFactor writes the model together with the Cholesky factor, 8n² bytes,
// so that a later Condition need not compute it.
//
// Errors are [*FileError], and [*device.UnsupportedError] if the posterior's method has no factor.
func (p *Posterior) SaveWithFactor(path string) error { return save(path, p.WriteWithFactor) }

// WriteWithFactor writes the model with the Cholesky factor in the format of a model file.
func (p *Posterior) WriteWithFactor(w io.Writer) error {
	factor, err := device.Capability[device.FactorStore](p.ws, "the Cholesky factor for a model file")
	if err != nil {
		return err
	}
	return writeValid(p.whole, w, factor)
}

// Target returns the posterior of one target, t, on the same workspace.
func (p *Posterior) Target(t int) *Posterior {
	one := *p
	one.model = p.whole.Target(t)
	return &one
}

// oneProcess returns a [*device.UnsupportedError] if rows of different parts have no covariance, which a result needs.
func oneProcess(p *Posterior, what string) error {
	if parts, ok := p.ws.(device.BlockDiagonal); ok && len(parts.Blocks()) > 1 {
		return &device.UnsupportedError{Method: p.ws.Method(), What: what}
	}
	return nil
}

// meanUncertainty returns the part of the posterior covariance at the scaled points xs that is
// due to the uncertainty of the mean's coefficients. It returns a q×m matrix; the covariance of
// points i and j is the product of its columns i and j. The matrix is nil if least squares did
// not find the coefficients. This is RᵀM⁻¹R of Rasmussen & Williams (2006), eq. 2.42, with R = H*
// − HᵀΣ⁻¹K* and M = HᵀΣ⁻¹H, for a vague prior on β (universal kriging). K* is the covariance of
// prog, which is the model's kernel or one of its terms; without withMean, H* is omitted. The
// cost is 2nqm flops and the kernel at m×n pairs.
func meanUncertainty(ctx context.Context, p *Posterior, prog *kernel.Program, theta []float64, xs *kernel.Points, withMean bool) ([]float64, error) {
	q, err := p.coefficients(ctx)
	if q == 0 || err != nil {
		return nil, err
	}
	m := xs.N
	part, w := make([]float64, m*q), make([]float64, q*m)
	if err := p.ws.Predict(ctx, prog, theta, p.solved, xs, part, nil); err != nil {
		return nil, err
	}
	for j, f := range p.model.Mean.Basis {
		for i, x := range xs.Column(f.Column) {
			w[i*q+j] = -part[j*m+i]
			if withMean {
				w[i*q+j] += f.At(x)
			}
		}
	}
	p.gls.Whiten(w)
	return w, nil
}

// coefficients returns the number of coefficients that least squares found, after leastSquares.
func (p *Posterior) coefficients(ctx context.Context) (int, error) {
	q := len(p.model.Mean.Basis)
	if !p.model.Mean.LeastSquares || q == 0 {
		return 0, nil
	}
	return q, p.leastSquares(ctx)
}

// leastSquares solves for Σ⁻¹H and forms M, on the first call only.
func (p *Posterior) leastSquares(ctx context.Context) error {
	if p.gls != nil {
		return nil
	}
	mod := p.whole
	h := mod.Mean.Basis.Evaluate(mod.Points())
	solved := slices.Clone(h)
	if err := p.ws.Solve(ctx, solved, len(mod.Mean.Basis)); err != nil {
		return err
	}
	gls, err := mean.NewGLS(h, solved, mod.N())
	if err != nil {
		return err
	}
	p.gls, p.solved = gls, solved
	return nil
}

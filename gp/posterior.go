package gp

import (
	"context"
	"fmt"
	"io"
	"slices"

	"gpfit/device"
	"gpfit/kernel"
	"gpfit/mean"
	"gpfit/method/experts"
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
	// locals are the posteriors of experts with parameters of their own; nil without. Only
	// they use ws then.
	locals *locals
}

// Condition forms the posterior on the backend. It reads the factor from the model's file, if the
// file has one and the method uses one, and computes it otherwise (n³/3 operations).
func (m *Model) Condition(ctx context.Context, b device.Backend) (*Posterior, error) {
	prog, ws, err := newWorkspace(ctx, m, b)
	if err != nil {
		return nil, err
	}
	p := &Posterior{whole: m, model: m.Target(0), prog: prog, ws: ws}
	if m.Locals != nil {
		p.locals, err = m.conditionLocals(ctx, ws, prog)
	} else {
		err = formWorkspace(ctx, m, ws, prog)
	}
	if err != nil {
		ws.Close()
		return nil, err
	}
	return p, nil
}

// supported returns the model's program unless a backend cannot evaluate it.
func supported(m *Model, b device.Backend) (*kernel.Program, error) {
	prog, err := m.Program()
	if err != nil {
		return nil, err
	}
	return prog, b.Supports(device.Workload{N: m.N(), D: len(m.Columns), Program: prog})
}

// newWorkspace returns the model's program, and a workspace for its training rows.
func newWorkspace(ctx context.Context, m *Model, b device.Backend) (*kernel.Program, device.Workspace, error) {
	prog, err := supported(m, b)
	if err != nil {
		return nil, nil, err
	}
	ws, err := m.Backend(b).NewWorkspace(ctx, trainingPoints(m))
	return prog, ws, err
}

// formWorkspace prepares a workspace for predictions.
func formWorkspace(ctx context.Context, m *Model, ws device.Workspace, prog *kernel.Program) error {
	if factor, ok := ws.(device.FactorStore); ok && m.factorPath != "" {
		return readFactor(m.factorPath, m.N(), factor)
	}
	return ws.Form(ctx, prog, m.Theta, noiseDiagonal(m))
}

// Attach returns the posterior on a workspace that already holds the factor of the
// model's covariance, such as the workspace of a fit. A model of experts with parameters of
// their own has no such workspace.
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
	one.model, one.locals = p.whole.Target(t), p.locals.target(t)
	return &one
}

// locals are the posteriors of local experts with parameters of their own, and their training rows.
type locals struct {
	each []*Posterior
	rows [][]int
}

// conditionLocals forms the posteriors of the local experts on a workspace of all rows.
func (m *Model) conditionLocals(ctx context.Context, ws device.Workspace, prog *kernel.Program) (*locals, error) {
	in := &locals{make([]*Posterior, len(m.Locals)), m.ExpertRows()}
	err := experts.Each(ctx, ws, func(k int, own device.Workspace) error {
		one := m.LocalModel(k, in.rows[k])
		in.each[k] = &Posterior{whole: one, model: one.Target(0), prog: prog, ws: own}
		return formWorkspace(ctx, one, own, prog)
	})
	return in, err
}

// target returns the posteriors of one target, t.
func (l *locals) target(t int) *locals {
	if l == nil {
		return nil
	}
	out := &locals{rows: l.rows}
	for _, p := range l.each {
		out.each = append(out.each, p.Target(t))
	}
	return out
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
	h := mod.Mean.Basis.Evaluate(trainingPoints(mod))
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

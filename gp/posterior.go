package gp

import (
	"context"
	"fmt"
	"io"

	"gpfit/device"
)

// Posterior is a model conditioned on a device. It is not safe for concurrent use.
// With several targets it predicts the first; see [Posterior.Target].
type Posterior struct {
	*system
	// model is the model of one target.
	model *Model
}

// Condition forms the posterior on the backend. It reads the factor from the model's file, if the
// file has one and the method uses one, and computes it otherwise (n³/3 operations).
func (m *Model) Condition(ctx context.Context, b device.Backend) (*Posterior, error) {
	s, err := newSystem(m, b)
	if err != nil {
		return nil, err
	}
	if err := s.form(ctx); err != nil {
		_ = s.close()
		return nil, err
	}
	return s.posterior(), nil
}

// Means returns a posterior for [Posterior.PredictMeans], which needs no factor: a prediction at m rows evaluates the
// kernel at n·m pairs and takes no n³ or n²·m operations. The first result that needs more forms the posterior, as
// [Model.Condition] does. On the CPU means take memory of the order n; a GPU allocates an n×n matrix. It returns the
// errors of [device.Backend].
func (m *Model) Means(ctx context.Context, b device.Backend) (*Posterior, error) {
	s, err := newSystem(m, b)
	if err == nil && s.meanPredictor() == nil {
		err = s.open(ctx)
	}
	if err != nil {
		return nil, err
	}
	return s.posterior(), nil
}

// Attach returns the posterior on a workspace that already holds the factor of the
// model's covariance, such as the workspace of a fit.
func (m *Model) Attach(ws device.Workspace) (*Posterior, error) {
	c, err := m.covariance()
	if err != nil {
		return nil, err
	}
	if ws.N() != m.N() {
		return nil, fmt.Errorf("gp: workspace for %d points, model of %d", ws.N(), m.N())
	}
	return (&system{whole: m, covariance: c, x: m.Points(), ws: ws, formed: true}).posterior(), nil
}

// Model returns the posterior's model, or the model of its target if it is the
// posterior of a single one.
func (p *Posterior) Model() *Model { return p.model }

// Whole returns the model with all its targets.
func (p *Posterior) Whole() *Model { return p.whole }

// Workspace returns the workspace that holds the factor; nil if only means were predicted that need none.
func (p *Posterior) Workspace() device.Workspace { return p.ws }

// Close frees the device's memory.
func (p *Posterior) Close() error { return p.close() }

// SaveWithFactor writes the model together with the Cholesky factor, 8n² bytes,
// so that a later Condition need not compute it.
//
// Errors are [*FileError], and [*device.UnsupportedError] if the posterior's method has no factor.
func (p *Posterior) SaveWithFactor(path string) error { return save(path, p.WriteWithFactor) }

// WriteWithFactor writes the model with the Cholesky factor in the format of a model file.
func (p *Posterior) WriteWithFactor(w io.Writer) error {
	if err := p.form(context.Background()); err != nil {
		return err
	}
	factor, err := device.Capability[device.FactorStore](p.ws, "the Cholesky factor for a model file")
	if err != nil {
		return err
	}
	return newHeader(p.whole).writeValid(w, factor)
}

// Target returns the posterior of one target, t, on the same workspace.
func (p *Posterior) Target(t int) *Posterior {
	return &Posterior{system: p.system, model: p.whole.Target(t)}
}

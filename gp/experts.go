package gp

import (
	"context"
	"slices"

	"gonum.org/v1/gonum/floats"

	"gpfit/device"
	"gpfit/experts"
	"gpfit/kernel"
)

// Backend returns the backend on which the model is conditioned: b, or if the model has
// local experts, a backend that computes with them on b.
func (m *Model) Backend(b device.Backend) device.Backend {
	if m.Experts == nil {
		return b
	}
	return m.Experts.On(b)
}

// LargestMatrix returns the number of rows of the largest matrix with which predictions
// compute: all training rows, or those of the largest local expert.
func (m *Model) LargestMatrix() int {
	if m.Experts == nil {
		return m.N()
	}
	return m.Experts.Largest()
}

// ExpertRows returns the training rows of each local expert, ascending; nil without experts.
func (m *Model) ExpertRows() [][]int {
	if m.Experts == nil {
		return nil
	}
	out := make([][]int, len(m.Experts.Centres))
	for i, k := range m.Experts.Assign(kernel.NewPoints(m.Scaling.Inputs(m.X), m.N(), len(m.Columns))) {
		out[k] = append(out[k], i)
	}
	return out
}

// oneProcess returns a [*device.UnsupportedError] if the model has several local experts,
// for results that need the covariance of rows of different experts.
func (m *Model) oneProcess(what string) error {
	if m.Experts == nil || len(m.Experts.Centres) == 1 {
		return nil
	}
	return &device.UnsupportedError{Method: experts.Name, What: what}
}

// CalibrateExperts finds the temperature of the committee of a model with local experts, and
// stores it with the scores of the rules in the model. It changes nothing of other models.
// See [experts.Calibrate].
func (p *Posterior) CalibrateExperts(ctx context.Context) error {
	m := p.whole
	if m.Experts == nil {
		return nil
	}
	if p.locals != nil {
		return p.calibrated(p.calibrateLocals(ctx))
	}
	in := experts.Training{Program: p.prog, Theta: m.Theta, Noise: noiseDiagonal(m), Alpha: m.Alpha}
	inputs := m.Scaling.Inputs(m.X)
	for t := range m.T() {
		one := m.Target(t)
		residual := one.Scaling.Targets(one.Y)
		floats.Sub(residual, meanValues(one, inputs, m.N()))
		in.Residual = slices.Concat(in.Residual, residual)
	}
	return p.calibrated(experts.Calibrate(ctx, p.ws, in))
}

// calibrated stores a calibrated partition in the model.
func (p *Posterior) calibrated(part *experts.Partition, err error) error {
	if err == nil {
		p.whole.Experts, p.model.Experts = part, part
	}
	return err
}

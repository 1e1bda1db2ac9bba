package gp

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Target is one of several targets that share inputs, kernel and noise; each
// has its own units and coefficients of the mean.
type Target struct {
	Name         string    `json:"name"`
	YMean        float64   `json:"y_mean"`
	YScale       float64   `json:"y_scale"`
	Coefficients []float64 `json:"coefficients,omitempty"`
	// NLML is the target's part of the objective, in scaled units.
	NLML float64 `json:"nlml"`
}

// T returns the number of targets.
func (m *Model) T() int { return max(1, len(m.Targets)) }

// Target returns the model of target t alone, counted from 0. It shares data with
// m.
func (m *Model) Target(t int) *Model {
	if len(m.Targets) == 0 {
		return m
	}
	one, n, part := *m, m.N(), m.Targets[t]
	one.Targets, one.TargetName, one.NLML = nil, part.Name, part.NLML
	one.Scaling.YMean, one.Scaling.YScale = part.YMean, part.YScale
	one.Mean.Coefficients = part.Coefficients
	one.Locals = slices.Clone(m.Locals)
	for k, own := range m.Locals {
		if own.Coefficients != nil {
			one.Locals[k].Coefficients = own.Coefficients[t : t+1]
		}
	}
	one.Y, one.Alpha = m.Y[t*n:(t+1)*n], m.Alpha[t*n:(t+1)*n]
	return &one
}

// TargetNames returns the names of the targets.
func (m *Model) TargetNames() []string {
	if len(m.Targets) == 0 {
		return []string{m.TargetName}
	}
	names := make([]string, len(m.Targets))
	for t, part := range m.Targets {
		names[t] = part.Name
	}
	return names
}

// TargetNamed returns the model of the named target alone; "" means the only
// target. Errors are [*NameError].
func (m *Model) TargetNamed(name string) (*Model, error) {
	names := m.TargetNames()
	t := slices.Index(names, name)
	if name == "" && len(names) == 1 {
		t = 0
	}
	if t < 0 {
		known := strings.Join(names, ", ")
		msg := fmt.Sprintf("no target %q: the model's targets are %s", name, known)
		switch {
		case name == "":
			msg = "the model has several targets: " + known
		case len(names) == 1:
			msg = fmt.Sprintf("no target %q: the model's target is %s", name, known)
		}
		return nil, &NameError{name, names, msg}
	}
	return m.Target(t), nil
}

func (m *Model) validateTargets() error {
	if len(m.Targets) > 0 && m.Noise.Column != "" {
		return fmt.Errorf("known noise variances with %d targets", len(m.Targets))
	}
	for _, t := range m.Targets {
		if len(t.Coefficients) != len(m.Mean.Basis) || !(t.YScale > 0) {
			return fmt.Errorf("target %q with %d coefficients of %d basis functions and the scale %v", t.Name, len(t.Coefficients), len(m.Mean.Basis), t.YScale)
		}
	}
	return nil
}

// Target returns the posterior of the target t alone, on the same workspace.
func (p *Posterior) Target(t int) *Posterior {
	one := *p
	one.model, one.locals = p.whole.Target(t), p.locals.target(t)
	return &one
}

// PredictTargets is like [Posterior.PredictNoise] for all targets, in one pass.
func (p *Posterior) PredictTargets(ctx context.Context, rows []float64, m int, row RowNoise) ([]*Prediction, error) {
	targets := make([]*Model, p.whole.T())
	for t := range targets {
		targets[t] = p.whole.Target(t)
	}
	return p.predict(ctx, rows, m, row, targets)
}

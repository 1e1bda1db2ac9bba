package gp

import (
	"context"
	"fmt"
	"slices"

	"gpfit/device"
	"gpfit/experts"
	"gpfit/internal/pick"
	"gpfit/kernel"
)

// Local holds the parameters of a local expert that has its own, in the scaled units of the
// model. The fields are those of [Model] with the same names, for the rows of the expert.
type Local struct {
	Theta         []float64 `json:"theta"`
	NoiseVariance float64   `json:"noise_variance"`
	// NoiseVariances are those of the noise groups; nil without.
	NoiseVariances []float64 `json:"noise_variances,omitempty"`
	Jitter         float64   `json:"jitter"`
	// Coefficients are those of the mean function, for each target; nil without.
	Coefficients [][]float64 `json:"coefficients,omitempty"`
	NLML         float64     `json:"nlml"`
	Status       string      `json:"status"`
}

// NewLocal returns the parameters of a model of one expert's rows.
func NewLocal(m *Model) Local {
	out := Local{Theta: m.Theta, NoiseVariance: m.NoiseVariance, NoiseVariances: m.Noise.Variances, Jitter: m.Jitter, NLML: m.NLML, Status: m.Status}
	if len(m.Mean.Basis) > 0 {
		for t := range m.T() {
			out.Coefficients = append(out.Coefficients, m.Target(t).Mean.Coefficients)
		}
	}
	return out
}

// LocalModel returns the model of local expert k alone, with the training rows of that
// number, as [Model.ExpertRows] returns them. It has the scaling of m.
func (m *Model) LocalModel(k int, rows []int) *Model {
	one, own, n, d := *m, m.Locals[k], m.N(), len(m.Columns)
	one.Experts, one.Locals, one.Draws, one.Record, one.HeldOut, one.factorPath = nil, nil, nil, nil, nil, ""
	one.Theta, one.NoiseVariance, one.Noise.Variances = own.Theta, own.NoiseVariance, own.NoiseVariances
	one.Jitter, one.NLML, one.Status = own.Jitter, own.NLML, own.Status
	one.Targets = slices.Clone(m.Targets)
	if own.Coefficients != nil {
		one.Mean.Coefficients = own.Coefficients[0]
		for t := range one.Targets {
			one.Targets[t].Coefficients = own.Coefficients[t]
		}
	}
	one.X, one.Rows = nil, nil
	for _, i := range rows {
		one.X, one.Rows = append(one.X, m.X[i*d:(i+1)*d]...), append(one.Rows, float64(m.Row(i)))
	}
	one.Y, one.Alpha, one.TrainNoise = pick.Rows(m.Y, rows, n, 1), pick.Rows(m.Alpha, rows, n, 1), pick.Rows(m.TrainNoise, rows, n, 1)
	return &one
}

// validateLocals checks the parameters of local experts.
func (m *Model) validateLocals() error {
	if m.Locals == nil {
		return nil
	}
	if m.Experts == nil || len(m.Experts.Centres) != len(m.Locals) || m.Draws != nil {
		return fmt.Errorf("parameters of %d local experts that the model does not have", len(m.Locals))
	}
	for k, rows := range m.ExpertRows() {
		own := m.Locals[k]
		if len(rows) == 0 || len(own.NoiseVariances) != len(m.Noise.Labels) || len(m.Mean.Basis) > 0 && len(own.Coefficients) != m.T() {
			return fmt.Errorf("local expert %d with %d rows, %d noise variances and coefficients of %d targets", k, len(rows), len(own.NoiseVariances), len(own.Coefficients))
		}
		one := m.LocalModel(k, rows)
		for t := range one.T() {
			if c := one.Target(t).Mean.Coefficients; len(c) != len(m.Mean.Basis) || firstNonFinite(c) >= 0 {
				return fmt.Errorf("local expert %d with %d coefficients of %d basis functions", k, len(c), len(m.Mean.Basis))
			}
		}
		if err := one.validate(); err != nil {
			return fmt.Errorf("local expert %d: %w", k, err)
		}
	}
	return nil
}

// locals are the posteriors of local experts with parameters of their own, and their
// training rows.
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

// target returns the posteriors of target t alone.
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

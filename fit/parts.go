package fit

import (
	"context"
	"slices"

	"gpfit/device"
	"gpfit/gp"
	"gpfit/graph"
	"gpfit/hyperopt"
)

// Parts are a task on a device, as Fit and Evaluate use it: for measurements
// of the single steps.
type Parts struct {
	// Objective is the graph's, and Start its vector at the start values.
	Objective *graph.Objective
	Start     []float64
	// Workspace belongs to the objective.
	Workspace device.Workspace
	session   *session
}

// Measure opens the task on b, hands the parts to f and closes them.
func (t *Task) Measure(ctx context.Context, b device.Backend, f func(*Parts) error) error {
	s, err := t.open(ctx, b)
	if err != nil {
		return err
	}
	defer s.close()
	return f(&Parts{Objective: s.obj, Start: t.startZ(), Workspace: s.ws, session: s})
}

// Evaluate evaluates value and gradient at the start and reports them, as
// [Task.Evaluate] does.
func (p *Parts) Evaluate(ctx context.Context) (Report, error) {
	grad := make([]float64, len(p.Start))
	if _, err := p.Objective.ValueGradient(ctx, p.Start, grad); err != nil {
		return Report{}, p.session.task.explainStart(err)
	}
	return p.session.task.report(p.session, p.Start, grad), nil
}

// Posterior returns the posterior at the point z that the objective has just
// evaluated. It is on the objective's workspace, and good until the next
// evaluation; the workspace is closed by Measure, not by the caller.
func (p *Parts) Posterior(z []float64) (*gp.Posterior, error) {
	m := p.session.task.model(p.Objective, &hyperopt.Result{X: slices.Clone(z)})
	return m.Attach(p.Workspace)
}

// Rows returns the first m training rows, all features in original units.
func (p *Parts) Rows(m int) []float64 {
	d := p.session.task.data
	rows := make([]float64, 0, m*d.D)
	for i := 0; i < d.N && len(rows) < m*d.D; i++ {
		if d.Test == nil || !d.Test[i] {
			rows = append(rows, d.X[i*d.D:(i+1)*d.D]...)
		}
	}
	return rows
}

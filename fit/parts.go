package fit

import (
	"context"

	"gpfit/device"
	"gpfit/gp"
	"gpfit/graph"
)

// Parts is a job on a device as Fit and Evaluate use it, for measurements of the
// single steps.
type Parts struct {
	// Objective is the objective of the graph, and Start its vector at the start
	// values.
	Objective *graph.Objective
	Start     []float64
	// Workspace belongs to the objective.
	Workspace device.Workspace
	session   *session
}

// Measure opens the job on b, passes the parts to f and closes them.
func (j *Job) Measure(ctx context.Context, b device.Backend, f func(*Parts) error) error {
	s, err := j.open(ctx, b)
	if err != nil {
		return err
	}
	defer s.Close()
	return f(&Parts{Objective: s.obj, Start: j.params.start(), Workspace: s.ws, session: s})
}

// Evaluate evaluates value and gradient at the start and reports them, as
// [Job.Evaluate] does.
func (p *Parts) Evaluate(ctx context.Context) (Report, error) {
	e, err := p.session.job.evaluateStart(ctx, p.session)
	if err != nil {
		return Report{}, err
	}
	return newReport(p.session, e), nil
}

// Posterior returns the posterior at z, the point that the objective evaluated last.
// It uses the objective's workspace and is valid until the next evaluation. Measure
// closes the workspace; the caller must not.
func (p *Parts) Posterior(z []float64) (*gp.Posterior, error) {
	return p.session.model(z, "").Attach(p.Workspace)
}

// Rows returns the first m training rows with all features, in original units.
func (p *Parts) Rows(m int) []float64 { return p.session.job.sample.firstRows(m) }

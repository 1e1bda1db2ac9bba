package fit

import (
	"context"

	"gpfit/device"
	"gpfit/fit/summary"
	"gpfit/gp"
	"gpfit/graph"
	"gpfit/internal/tuning"
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
	placement *tuning.Placement
}

// Measure opens the job on b, passes the parts to f and closes them.
func Measure(ctx context.Context, j *tuning.Job, b device.Backend, f func(*Parts) error) error {
	s, err := j.Open(ctx, b)
	if err != nil {
		return err
	}
	defer s.Close()
	return f(&Parts{Objective: s.Objective, Start: j.Params.Start(), Workspace: s.Workspace, placement: s})
}

// Evaluate evaluates value and gradient at the start and reports them, as
// [Evaluate] does.
func (p *Parts) Evaluate(ctx context.Context) (summary.Report, error) {
	e, err := evaluateStart(ctx, p.placement.Job, p.placement)
	if err != nil {
		return summary.Report{}, err
	}
	return newReport(p.placement, e), nil
}

// Posterior returns the posterior at z, the point that the objective evaluated last.
// It uses the objective's workspace and is valid until the next evaluation. Measure
// closes the workspace; the caller must not.
func (p *Parts) Posterior(z []float64) (*gp.Posterior, error) {
	return p.placement.Model(z, "").Attach(p.Workspace)
}

// Rows returns the first m training rows with all features, in original units.
func (p *Parts) Rows(m int) []float64 { return p.placement.Job.Sample.FirstRows(m) }

package fit

import (
	"cmp"
	"context"
	"errors"
	"math"
	"time"

	"gpfit/device"
	"gpfit/fit/summary"
	"gpfit/fit/tuning"
	"gpfit/gp"
	"gpfit/graph"
	"gpfit/hyperopt/descent"
	"gpfit/hyperopt/journal"
)

// Evaluate computes the NLML, its terms and its gradient at the start values. It then calls
// inspect, unless that is nil, with the objective, even after a failure.
func Evaluate(ctx context.Context, j *tuning.Job, b device.Backend, inspect func(*graph.Objective) error) (*summary.Report, error) {
	began := time.Now()
	if err := cmp.Or(j.CheckUnits(), j.CheckSymmetry()); err != nil {
		return nil, err
	}
	w := &tuning.Workplace{Job: j, Backends: []device.Backend{b}}
	defer w.Close()
	if j.Options.Robust { // from a robust model
		if _, err := searchRows(ctx, w, j.Params.Start(), worthSearch, nil); err != nil {
			return nil, err
		}
		j = w.Job
	}
	s, err := w.First(ctx)
	if err != nil {
		return nil, err
	}
	e, err := evaluateStart(ctx, j, s)
	if inspect != nil {
		err = errors.Join(err, inspect(s.Objective))
	}
	if err != nil {
		return nil, err
	}
	loo, err := scoreLeaveOneOut(ctx, s, e.z)
	if err != nil {
		return nil, err
	}
	if err := s.Approximate(ctx, e.z); err != nil {
		return nil, err
	}
	r := newReport(s, e)
	if advice := r.Approximation.Advice(); advice != "" {
		r.Warnings = append(r.Warnings, advice)
	}
	r.Type, r.Status, r.Scores.LeaveOneOut = "nlml", "evaluated", loo
	if r.Robust, err = robustReport(ctx, s, e.z); err != nil {
		return nil, err
	}
	if r.Residual, err = s.Residual(ctx); err != nil {
		return nil, err
	}
	r.Seconds = time.Since(began).Seconds()
	return &r, r.CheckFinite()
}

// evaluateStart evaluates value and gradient at the start values.
func evaluateStart(ctx context.Context, j *tuning.Job, s *tuning.Placement) (evaluation, error) {
	e := evaluation{z: j.Params.Start()}
	e.grad = make([]float64, len(e.z))
	ev := descent.NewOracle(s, nil)
	f, err := ev.Value(ctx, e.z)
	if err == nil && !math.IsInf(f, 1) {
		s.WarnCondition(ctx)
		_, err = ev.Gradient(ctx, e.z, e.grad)
	}
	if err == nil {
		err = ev.Reason()
	}
	if err == nil {
		s.WarnGradient(e.grad)
	}
	e.all, e.fullSize = ev.Counts(), ev.Counts()
	return e, j.ExplainStart(err)
}

// failures encodes in checkpoints that a covariance is not positive definite.
var failures = journal.Failures{
	Numbers: func(err error) []float64 {
		var npd *device.NotPDError
		if !errors.As(err, &npd) {
			return nil
		}
		return []float64{float64(npd.Minor), float64(npd.N)}
	},
	Error: func(numbers []float64) error {
		if len(numbers) != 2 {
			return nil
		}
		return &device.NotPDError{Minor: int(numbers[0]), N: int(numbers[1])}
	},
}

// Parts is a job on a device as Fit and Evaluate use it, for measurements of the single steps.
type Parts struct {
	// Objective is the objective of the graph, and Start its vector at the start values.
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

// Evaluate evaluates value and gradient at the start and reports them, as [Evaluate] does.
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

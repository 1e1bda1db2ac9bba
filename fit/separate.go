package fit

import (
	"context"
	"fmt"

	"gpfit/fit/summary"
	"gpfit/gp"
	"gpfit/internal/journal"
	"gpfit/internal/score"
	"gpfit/internal/separate"
	"gpfit/internal/tuning"
)

// tuneParts tunes local experts with parameters of their own, and scores the model of all. The
// caller closes its posterior.
func tuneParts(ctx context.Context, j *tuning.Job, w *tuning.Workplace, log *journal.Journal) (*Outcome, error) {
	r, m, cancelled := separate.Tune(ctx, j, w, log, expertsReport(j.Prepared), func(ctx context.Context, j *tuning.Job, w *tuning.Workplace, log *journal.Journal) (summary.Report, *gp.Model, error) {
		out, err := tune(ctx, j, w, log)
		if out == nil {
			return summary.Report{}, nil, err
		}
		return out.Report, out.Model, err
	})
	if m == nil {
		return nil, cancelled
	}
	ctx = context.WithoutCancel(ctx)
	out := &Outcome{Report: r, Model: m}
	posterior, err := m.Condition(ctx, w.Backends[0])
	if err != nil {
		return nil, j.AdviseExperts(err)
	}
	out.posterior = posterior
	if err = posterior.CalibrateExperts(ctx); err == nil {
		addCalibration(&out.Report, m)
		err = scoreParts(ctx, j, &out.Report, posterior, w.Backends[0].Info().Threads)
	}
	if err == nil {
		err = out.Report.CheckFinite()
	}
	if err != nil {
		_ = posterior.Close()
		return nil, err
	}
	return out, cancelled
}

// scoreParts adds relevance and scores to the report of all parts.
func scoreParts(ctx context.Context, j *tuning.Job, r *summary.Report, p *gp.Posterior, threads int) error {
	values := make([]float64, len(r.Names))
	for i, name := range r.Names {
		values[i] = r.Parameters[name]
	}
	var err error
	if r.Relevance, err = relevance(ctx, j, threads, p, values); err != nil {
		return err
	}
	if j.Options.LeaveOneOut || j.Options.Objective.LeavesOut() {
		if r.Scores.LeaveOneOut, err = partsLeaveOneOut(ctx, j, p); err != nil {
			return err
		}
	}
	tests, err := scoreHeldOut(ctx, j, p)
	addTests(r, tests)
	return err
}

// partsLeaveOneOut returns the leave-one-out scores of all parts.
func partsLeaveOneOut(ctx context.Context, j *tuning.Job, p *gp.Posterior) (*summary.LeaveOneOutScore, error) {
	sum, squares := 0.0, make([]float64, j.Sample.T())
	for t, scaling := range j.Sample.Scalings {
		left, err := p.Target(t).LeaveOneOut(ctx)
		if err != nil {
			return nil, fmt.Errorf("leave-one-out: %w", err)
		}
		for i, residual := range left.Residual {
			sum += score.Normal{Std: left.Std[i] / scaling.YScale}.NegLog(residual / scaling.YScale)
			squares[t] += residual * residual / (scaling.YScale * scaling.YScale) / float64(j.N())
		}
	}
	return newPredictiveScore(j.Sample, sum, squares), nil
}

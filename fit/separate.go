package fit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"gpfit/fit/problem"
	"gpfit/fit/summary"
	"gpfit/gp"
	"gpfit/hyperopt"
	"gpfit/hyperopt/descent"
	"gpfit/internal/journal"
	"gpfit/internal/score"
	"gpfit/internal/tuning"
)

// Experts with parameters of their own are jobs of their own, the parts of a job: each fits
// the rows of its cluster, in the scaling of all rows. Parts run side by side.

// fitParts tunes all parts, some at the same time, and assembles the outcome. The number of
// workers changes no bit of it. The caller closes its posterior.
func fitParts(ctx context.Context, j *tuning.Job, w *tuning.Workplace, log *journal.Journal) (*Outcome, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	order := make([]int, len(j.Parts)) // largest first, so that the last ones are short
	for k := range order {
		order[k] = k
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(j.Parts[b].N(), j.Parts[a].N()) })
	all, progress := make([]tuned, len(j.Parts)), newPartProgress(j)
	workers := make([]int, w.Workers(j.Experts.Largest()))
	for worker := range workers {
		workers[worker] = worker
	}
	descent.SideBySide(len(order), workers, func(worker, i int) bool {
		k := order[i]
		all[k] = fitPart(ctx, j, w, worker, k, log)
		if all[k].err != nil && !problem.IsCancelled(all[k].err) {
			stop(errPartFailed)
		}
		progress.done(j.Parts[k].N())
		return true
	})
	var cancelled error
	for k, part := range all {
		switch {
		case problem.IsCancelled(part.err):
			cancelled = part.err
		case part.err != nil:
			var unfinished *problem.UnfinishedError // its parameters are those of this expert alone
			if errors.As(part.err, &unfinished) {
				part.err = unfinished.Err
			}
			return nil, fmt.Errorf("local expert %d (%d rows): %w", k, j.Parts[k].N(), part.err)
		}
	}
	if cancelled != nil && j.Options.DiscardCancelled {
		return nil, cancelled
	}
	out, err := assembleParts(context.WithoutCancel(ctx), j, w, all)
	if err != nil {
		return nil, err
	}
	if cancelled != nil {
		out.Model.Status = descent.StatusCancelled.String()
		out.Report.Status = out.Model.Status
	}
	return out, cancelled
}

// errPartFailed ends the parts that need not go on because another one has failed.
var errPartFailed = errors.New("fit: another part failed")

// fitPart tunes part k on a worker. If the fit was interrupted before the first evaluation of
// the part, its result has the start values.
func fitPart(ctx context.Context, j *tuning.Job, w *tuning.Workplace, worker, k int, log *journal.Journal) tuned {
	part := j.Parts[k]
	backends := w.Backends[worker%len(w.Backends):][:1]
	tune := func(ctx context.Context, part *tuning.Job, log *journal.Journal) tuned {
		place := &tuning.Workplace{Job: part, Backends: backends, Crew: w.Crew}
		defer place.Close()
		out, err := tune(ctx, part, place, log)
		if out == nil {
			return tuned{err: err}
		}
		out.Report.EvaluationSeconds = place.EvaluationTime().Seconds()
		return tuned{out.Report, out.Model, err}
	}
	began := time.Now()
	result := tune(ctx, part, log.Part(fmt.Sprintf("expert-%d-", k)))
	if result.model == nil && problem.IsCancelled(result.err) && !j.Options.DiscardCancelled && context.Cause(ctx) != errPartFailed {
		start := part.With(func(p *problem.Prepared) {
			p.Options.Settings = hyperopt.Settings{MaxEvaluations: 1, Coarse: hyperopt.CoarseOff, Seed: p.Options.Settings.Seed}
			p.Options.StdErrors = false
		})
		first := tune(context.WithoutCancel(ctx), start, nil)
		if first.err == nil {
			first.err = result.err
			first.report.Warnings = []string{"the fit was interrupted before it was tuned: it has its start values"}
		}
		result = first
	}
	result.report.Seconds = time.Since(began).Seconds()
	return result
}

// partProgress tells how many parts are tuned, and how much time is left.
type partProgress struct {
	mu          sync.Mutex
	tell        func(done, all int, left time.Duration)
	began       time.Time
	parts, all  int
	work, total float64
}

func newPartProgress(j *tuning.Job) *partProgress {
	p := &partProgress{tell: j.Events.OnExpert, began: time.Now(), all: len(j.Parts)}
	for _, part := range j.Parts {
		p.total += partWork(part.N())
	}
	if p.tell != nil {
		p.tell(0, p.all, 0)
	}
	return p
}

// partWork is the expected work for a part of n rows.
func partWork(n int) float64 { return float64(n) * float64(n) * float64(n) }

// done notes that a part of n rows is tuned.
func (p *partProgress) done(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.parts++
	p.work += partWork(n)
	if p.tell != nil {
		p.tell(p.parts, p.all, time.Duration(float64(time.Since(p.began))*(p.total-p.work)/p.work))
	}
}

// assembleParts makes the outcome of all parts: the model, its report and the scores.
func assembleParts(ctx context.Context, j *tuning.Job, w *tuning.Workplace, all []tuned) (*Outcome, error) {
	out := &Outcome{Report: partsReport(j, all), Model: partsModel(j, all)}
	r := &out.Report
	posterior, err := out.Model.Condition(ctx, w.Backends[0])
	if err != nil {
		return nil, j.AdviseExperts(err)
	}
	out.posterior = posterior
	if err = posterior.CalibrateExperts(ctx); err == nil {
		addCalibration(r, out.Model)
		err = scoreParts(ctx, j, r, posterior, w.Backends[0].Info().Threads)
	}
	if err == nil {
		err = r.CheckFinite()
	}
	if err != nil {
		_ = posterior.Close()
		return nil, err
	}
	return out, nil
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

// partsModel returns the model of all parts.
func partsModel(j *tuning.Job, all []tuned) *gp.Model {
	m, s := *all[0].model, j.Sample
	m.X, m.Y, m.Rows, m.HeldOut, m.Experts = s.X, s.Y, s.RowNumbers(), j.Held, j.Experts
	m.NLML, m.Status, m.Alpha, m.Jitter = 0, partsStatus(all), make([]float64, len(s.Y)), 0
	if m.TrainNoise != nil {
		m.TrainNoise = make([]float64, s.N())
	}
	m.Targets = slices.Clone(m.Targets)
	for t := range m.Targets {
		m.Targets[t].NLML = 0
	}
	rows := m.ExpertRows()
	for k, part := range all {
		put(m.Alpha, part.model.Alpha, rows[k], s.N())
		put(m.TrainNoise, part.model.TrainNoise, rows[k], s.N())
		m.Locals = append(m.Locals, gp.NewLocal(part.model))
		m.NLML += part.model.NLML
		for t := range m.Targets {
			m.Targets[t].NLML += part.model.Targets[t].NLML
		}
	}
	summarise := func(of func(m *gp.Model) []float64) []float64 {
		return medians(j, len(of(&m)), func(k, i int) float64 { return of(all[k].model)[i] })
	}
	m.Theta = summarise(func(m *gp.Model) []float64 { return m.Theta })
	m.NoiseVariance = summarise(func(m *gp.Model) []float64 { return []float64{m.NoiseVariance} })[0]
	m.Noise.Variances = summarise(func(m *gp.Model) []float64 { return m.Noise.Variances })
	m.Mean.Coefficients = summarise(func(m *gp.Model) []float64 { return m.Mean.Coefficients })
	for t := range m.Targets {
		m.Targets[t].Coefficients = summarise(func(m *gp.Model) []float64 { return m.Targets[t].Coefficients })
	}
	return &m
}

// put sets the given rows of the columns of n numbers in v.
func put(v, own []float64, rows []int, n int) {
	for first := 0; first < len(v); first += n {
		for _, i := range rows {
			v[first+i], own = own[0], own[1:]
		}
	}
}

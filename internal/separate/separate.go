// Package separate tunes local experts with parameters of their own: each is a job of its
// own, a part of the job, that fits the rows of its cluster in the scaling of all rows. Parts
// run side by side. Start at [Tune].
package separate

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
	"gpfit/internal/pick"
	"gpfit/internal/tuning"
)

// Tuner tunes one job on a workplace and returns its report and its model, which is nil
// without any evaluation.
type Tuner func(ctx context.Context, j *tuning.Job, w *tuning.Workplace, log *journal.Journal) (summary.Report, *gp.Model, error)

// Tune tunes all parts of j, some at the same time, and returns the model of all and its
// report: sums of objectives and evaluations, and medians of parameters. about describes the
// experts. The number of workers changes no bit. With the error of a cancelled context Tune
// returns a model unless the options discard it.
func Tune(ctx context.Context, j *tuning.Job, w *tuning.Workplace, log *journal.Journal, about *summary.ExpertsReport, tune Tuner) (summary.Report, *gp.Model, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	order := make([]int, len(j.Parts)) // largest first, so that the last ones are short
	for k := range order {
		order[k] = k
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(j.Parts[b].N(), j.Parts[a].N()) })
	all, done := make([]tuned, len(j.Parts)), progress(j)
	workers := make([]int, w.Workers(j.Experts.Largest()))
	for worker := range workers {
		workers[worker] = worker
	}
	descent.SideBySide(len(order), workers, func(worker, i int) bool {
		k := order[i]
		all[k] = one(ctx, j, w, worker, k, log, tune)
		if all[k].err != nil && !problem.IsCancelled(all[k].err) {
			stop(errPartFailed)
		}
		done(j.Parts[k].N())
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
			return summary.Report{}, nil, fmt.Errorf("local expert %d (%d rows): %w", k, j.Parts[k].N(), part.err)
		}
	}
	if cancelled != nil && j.Options.DiscardCancelled {
		return summary.Report{}, nil, cancelled
	}
	r, m := report(j, all, about), model(j, all)
	if cancelled != nil {
		m.Status = descent.StatusCancelled.String()
		r.Status = m.Status
	}
	return r, m, cancelled
}

// errPartFailed ends the parts that need not go on because another one has failed.
var errPartFailed = errors.New("separate: another part failed")

// one tunes part k on a worker. If the fit was interrupted before the first evaluation of
// the part, its result has the start values.
func one(ctx context.Context, j *tuning.Job, w *tuning.Workplace, worker, k int, log *journal.Journal, tune Tuner) tuned {
	part := j.Parts[k]
	backends := w.Backends[worker%len(w.Backends):][:1]
	try := func(ctx context.Context, part *tuning.Job, log *journal.Journal) tuned {
		place := &tuning.Workplace{Job: part, Backends: backends, Crew: w.Crew}
		defer place.Close()
		r, m, err := tune(ctx, part, place, log)
		r.EvaluationSeconds = place.EvaluationTime().Seconds()
		return tuned{r, m, err}
	}
	began := time.Now()
	result := try(ctx, part, log.Part(fmt.Sprintf("expert-%d-", k)))
	if result.model == nil && problem.IsCancelled(result.err) && !j.Options.DiscardCancelled && context.Cause(ctx) != errPartFailed {
		start := part.With(func(p *problem.Prepared) {
			p.Options.Settings = hyperopt.Settings{MaxEvaluations: 1, Coarse: hyperopt.CoarseOff, Seed: p.Options.Settings.Seed}
			p.Options.StdErrors = false
		})
		first := try(context.WithoutCancel(ctx), start, nil)
		if first.err == nil {
			first.err = result.err
			first.report.Warnings = []string{"the fit was interrupted before it was tuned: it has its start values"}
		}
		result = first
	}
	result.report.Seconds = time.Since(began).Seconds()
	return result
}

// progress returns a function that tells how many parts are tuned and how much time is left,
// for each part of n rows that is.
func progress(j *tuning.Job) func(n int) {
	tell, began := j.Events.OnExpert, time.Now()
	if tell == nil {
		return func(int) {}
	}
	work := func(n int) float64 { return float64(n) * float64(n) * float64(n) }
	parts, done, total := 0, 0.0, 0.0
	for _, part := range j.Parts {
		total += work(part.N())
	}
	tell(0, len(j.Parts), 0)
	var mu sync.Mutex
	return func(n int) {
		mu.Lock()
		defer mu.Unlock()
		parts++
		done += work(n)
		tell(parts, len(j.Parts), time.Duration(float64(time.Since(began))*(total-done)/done))
	}
}

// model returns the model of all parts.
func model(j *tuning.Job, all []tuned) *gp.Model {
	m, s := *all[0].model, j.Sample
	m.X, m.Y, m.Rows, m.HeldOut, m.Experts = s.X, s.Y, s.RowNumbers(), j.Held, j.Experts
	m.NLML, m.Status, m.Alpha, m.Jitter = 0, status(all), make([]float64, len(s.Y)), 0
	if m.TrainNoise != nil {
		m.TrainNoise = make([]float64, s.N())
	}
	m.Targets = slices.Clone(m.Targets)
	for t := range m.Targets {
		m.Targets[t].NLML = 0
	}
	rows := m.ExpertRows()
	for k, part := range all {
		pick.Put(m.Alpha, part.model.Alpha, rows[k], s.N())
		pick.Put(m.TrainNoise, part.model.TrainNoise, rows[k], s.N())
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

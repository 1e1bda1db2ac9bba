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
	"gpfit/fit/tuning"
	"gpfit/gp"
	"gpfit/hyperopt"
	"gpfit/hyperopt/descent"
	"gpfit/hyperopt/journal"
	"gpfit/internal/matrixrows"
)

// Tuner tunes one job on a workplace and returns its report and its model, which is nil
// without any evaluation.
type Tuner func(ctx context.Context, j *tuning.Job, w *tuning.Workplace, log *journal.Journal) (summary.Report, *gp.Model, error)

// Check returns the error of a part that cannot be fitted, with the name of its expert.
func Check(j *tuning.Job) error {
	_, err := partsOf(j)
	return err
}

// Tune tunes all parts of j, some at the same time, and returns the model of all and its
// report: sums of objectives and evaluations, and medians of parameters. about describes the
// experts. The number of workers changes no bit. With the error of a cancelled context Tune
// returns a model unless the options discard it.
func Tune(ctx context.Context, j *tuning.Job, w *tuning.Workplace, log *journal.Journal, about *summary.ExpertsReport, tune Tuner) (summary.Report, *gp.Model, error) {
	all, err := partsOf(j)
	if err != nil {
		return summary.Report{}, nil, err
	}
	// The largest begin, so that the last ones are short.
	order := slices.Clone(all)
	slices.SortStableFunc(order, func(a, b *localJob) int { return cmp.Compare(len(b.rows), len(a.rows)) })
	done := progress(j, all)
	var cancelled error
	err = descent.SideBySide(ctx, len(order), matrixrows.All(w.Workers(j.Experts.Largest())), func(running context.Context, worker, i int) error {
		p, began := order[i], time.Now()
		p.try(running, p.job, w, worker, log.Part(fmt.Sprintf("expert-%d-", p.index)), tune)
		if ctx.Err() != nil && p.model == nil && !j.Options.DiscardCancelled {
			p.evaluate(running, w, worker, tune)
		}
		p.report.Seconds = time.Since(began).Seconds()
		done(p)
		unfinished, ok := errors.AsType[*problem.UnfinishedError](p.err)
		switch {
		case p.err == nil, problem.IsCancelled(p.err) && (p.model != nil || !ok):
			return nil
		case ok: // its parameters belong only to this expert
			return p.named(unfinished.Err)
		}
		return p.named(p.err)
	})
	if err != nil {
		return summary.Report{}, nil, err
	}
	for _, p := range all {
		cancelled = cmp.Or(p.err, cancelled)
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

// evaluate gives a part that was interrupted before its first evaluation the result at the
// start values.
func (p *localJob) evaluate(ctx context.Context, w *tuning.Workplace, worker int, tune Tuner) {
	interrupted := p.err
	p.try(context.WithoutCancel(ctx), p.job.With(func(one *problem.Prepared) {
		one.Options.Settings = hyperopt.Settings{MaxEvaluations: 1, Coarse: hyperopt.CoarseOff, Seed: one.Options.Settings.Seed}
		one.Options.StdErrors = false
	}), w, worker, nil, tune)
	if p.err == nil {
		p.err = interrupted
		p.report.Warnings = []string{"the fit was interrupted before it was tuned: it has its start values"}
	}
}

// try tunes a job of the part on a worker.
func (p *localJob) try(ctx context.Context, job *tuning.Job, w *tuning.Workplace, worker int, log *journal.Journal, tune Tuner) {
	place := &tuning.Workplace{Job: job, Backends: w.Backends[worker%len(w.Backends):][:1], Crew: w.Crew}
	defer place.Close()
	p.report, p.model, p.err = tune(ctx, job, place, log)
	p.report.EvaluationSeconds = place.EvaluationTime().Seconds()
}

// progress returns a function that tells, for each part that is tuned, how many are and how
// much time is left.
func progress(j *tuning.Job, all []*localJob) func(*localJob) {
	tell, began := j.Events.OnExpert, time.Now()
	if tell == nil {
		return func(*localJob) {}
	}
	work := func(p *localJob) float64 { n := float64(len(p.rows)); return n * n * n }
	count, done, total := 0, 0.0, 0.0
	for _, p := range all {
		total += work(p)
	}
	tell(0, len(all), 0)
	var mu sync.Mutex
	return func(p *localJob) {
		mu.Lock()
		defer mu.Unlock()
		count++
		done += work(p)
		tell(count, len(all), time.Duration(float64(time.Since(began))*(total-done)/done))
	}
}

// model returns the model of all parts.
func model(j *tuning.Job, all []*localJob) *gp.Model {
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
	for _, p := range all {
		matrixrows.Put(m.Alpha, p.model.Alpha, p.rows, s.N())
		matrixrows.Put(m.TrainNoise, p.model.TrainNoise, p.rows, s.N())
		m.Locals = append(m.Locals, gp.NewLocal(p.model))
		m.NLML += p.model.NLML
		for t := range m.Targets {
			m.Targets[t].NLML += p.model.Targets[t].NLML
		}
	}
	summarize := func(of func(m *gp.Model) []float64) []float64 {
		var out []float64
		for i := range of(&m) {
			out = append(out, median(all, func(p *localJob) float64 { return of(p.model)[i] }))
		}
		return out
	}
	m.Theta = summarize(func(m *gp.Model) []float64 { return m.Theta })
	m.NoiseVariance = median(all, func(p *localJob) float64 { return p.model.NoiseVariance })
	m.Noise.Variances = summarize(func(m *gp.Model) []float64 { return m.Noise.Variances })
	m.Mean.Coefficients = summarize(func(m *gp.Model) []float64 { return m.Mean.Coefficients })
	for t := range m.Targets {
		m.Targets[t].Coefficients = summarize(func(m *gp.Model) []float64 { return m.Targets[t].Coefficients })
	}
	return &m
}

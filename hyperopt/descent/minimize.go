package descent

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"gpfit/hyperopt/journal"
)

// Minimize minimises from every start of the problem.
//
// The error is nil if at least one start found a finite value and the run was
// not cut short; whether it converged is in the result's Status. The result is
// nil only if p or s is invalid. With an error it holds what was found until
// then: the error is the context's cause if the run was cancelled, that of the
// objective if it reported one that ends the run, and the joined [*StartError]
// of all starts if none could begin.
//
// Starts run one after the other, or with several objectives side by side. Each
// has a state of its own and depends on p, s and its index only: the result is
// the same.
func Minimize(ctx context.Context, p Problem, s Settings) (*Result, error) {
	r, err := newRun(p, s)
	if err != nil {
		return nil, err
	}
	result := &Result{StartResult: StartResult{F: math.Inf(1), GradientNorm: math.NaN(), RelativeChange: math.NaN()}, BestStart: -1}
	warnings := slices.Clone(r.space.warnings)
	if len(r.space.free()) == 0 && len(r.starts) > 1 {
		r.starts = r.starts[:1]
		warnings = append(warnings, "all parameters are fixed: restarts left out")
	}
	run := r.one
	if r.settings.Race && len(r.starts) > 1 && r.settings.TakesMetric() {
		run = r.race
	}
	err = result.collect(run(ctx), ctx)
	result.Warnings = append(warnings, result.Warnings...)
	return result, err
}

// run is a problem and its settings, both checked.
type run struct {
	space      *space
	starts     []Start
	objectives []Objective
	settings   Settings
	log        func(start int) *journal.Stream
	board      *board
}

func newRun(p Problem, s Settings) (*run, error) {
	s, err := s.withDefaults()
	if err != nil {
		return nil, err
	}
	if len(p.Objectives) == 0 {
		return nil, fmt.Errorf("hyperopt: there is no objective")
	}
	space, err := newSpace(p.Parameters)
	if err != nil {
		return nil, err
	}
	starts, err := space.begin(p.Starts)
	if err != nil {
		return nil, err
	}
	log := p.Log
	if log == nil {
		log = func(int) *journal.Stream { return nil }
	}
	return &run{space: space, starts: starts, objectives: p.Objectives, settings: s, log: log, board: newBoard(s, len(starts))}, nil
}

// descent prepares start k; notify is called after each of its iterations.
func (r *run) descent(k int, obj Objective, notify func(*Descent)) *Descent {
	ev := NewEvaluator(obj, r.log(k))
	ev.max = r.settings.MaxEvaluations
	return newDescent(r.space, r.settings, k, r.starts[k], ev, notify)
}

// one runs the starts one after the other, each on the next objective that is
// free. A start that fails for good, or is cancelled, ends the others.
func (r *run) one(ctx context.Context) []StartResult {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	results := make([]StartResult, len(r.starts))
	SideBySide(len(r.starts), r.objectives, func(obj Objective, k int) bool {
		if k > 0 && ctx.Err() != nil {
			return false
		}
		d := r.descent(k, obj, func(d *Descent) { r.board.notify(k, d) })
		results[k] = d.run(ctx)
		r.board.finish(k, results[k])
		if results[k].fatal() {
			cancel()
		}
		return true
	})
	return results
}

// SideBySide calls do for 0 … n−1, in order, each with the next worker that is
// free, until one call returns false.
func SideBySide[W any](n int, workers []W, do func(worker W, k int) bool) {
	var next atomic.Int64
	work := func(w W) {
		for {
			k := int(next.Add(1)) - 1
			if k >= n || !do(w, k) {
				return
			}
		}
	}
	var wg sync.WaitGroup
	for _, w := range workers[1:min(len(workers), max(1, n))] {
		wg.Go(func() { work(w) })
	}
	work(workers[0])
	wg.Wait()
}

// fatal reports whether the error of a start ends the run.
func (r *StartResult) fatal() bool {
	var begin *StartError
	return r.Err != nil && !errors.As(r.Err, &begin)
}

// board puts the progress of all starts together for the callback.
type board struct {
	mu       sync.Mutex
	callback func(Iteration)
	counts   []Evaluations
	best     float64
}

func newBoard(s Settings, n int) *board {
	return &board{callback: s.Callback, counts: make([]Evaluations, n), best: math.Inf(1)}
}

// finish takes up the final counts of a start.
func (b *board) finish(k int, r StartResult) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.counts[k] = r.Evaluations
}

// notify reports an iteration to the callback, one at a time.
func (b *board) notify(k int, d *Descent) {
	if b.callback == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.counts[k] = d.ev.counts
	b.best = math.Min(b.best, d.ev.best.F)
	it := Iteration{
		Start: k, Iteration: d.iter, F: d.at.F, GradientNorm: d.space.norm(d.at.Z, d.at.G),
		Evaluations: d.ev.counts, Best: b.best, Z: slices.Clone(d.at.Z),
	}
	for _, c := range b.counts {
		it.Total.Add(c)
	}
	b.callback(it)
}

// collect takes up the outcomes of the starts: the best of them becomes the
// result, and errors that end the run are returned.
func (r *Result) collect(starts []StartResult, ctx context.Context) error {
	var err error
	var errs []error
	status, iterations, counts := StatusNone, 0, Evaluations{}
	for k, start := range starts {
		if start.Status == StatusNone {
			continue // not begun, because another start ended the run
		}
		r.Starts = append(r.Starts, start)
		counts.Add(start.Evaluations)
		iterations += start.Iterations
		left := start.Status == StatusDropped || start.Status == StatusMerged
		if start.X != nil && !left && (r.BestStart < 0 || start.F < r.F) {
			r.BestStart, r.F = len(r.Starts)-1, start.F
		}
		switch {
		case start.Err == nil:
		case !start.fatal():
			errs = append(errs, start.Err)
		case err == nil || errors.Is(err, context.Canceled) && ctx.Err() == nil:
			// Cancelled, or the objective is broken. What the failure of one
			// start cancelled in others is not the cause.
			err = fmt.Errorf("hyperopt: start %d: %w", k, start.Err)
			status = start.Status
		}
	}
	if r.BestStart >= 0 {
		r.StartResult = r.Starts[r.BestStart]
	}
	r.Iterations, r.Evaluations = iterations, counts
	switch {
	case err != nil:
		r.Status = status
		return err
	case r.BestStart < 0:
		r.Status = StatusFailed
		return fmt.Errorf("hyperopt: the objective is not defined at any start: %w", errors.Join(errs...))
	}
	for _, err := range errs {
		r.Warnings = append(slices.Clip(r.Warnings), err.Error())
	}
	return nil
}

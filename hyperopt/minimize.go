package hyperopt

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Minimize minimises p.Objective from p.Start and s.Restarts further starts.
//
// The error is nil if at least one start found a finite value and the run was
// not cut short; whether it converged is in the result's Status. The result is
// nil only if p or s is invalid. With an error it holds what was found until
// then: the error is the context's cause if the run was cancelled, that of the
// objective if it reported one that ends the run, and the joined [*StartError]
// of all starts if none could begin.
//
// Starts run one after the other, or with Problem.Workers side by side. Each
// has a state of its own and depends on p, s and its index only: the result is
// the same.
func Minimize(ctx context.Context, p Problem, s Settings) (*Result, error) {
	s, err := s.withDefaults()
	if err != nil {
		return nil, err
	}
	if p.Objective == nil {
		return nil, fmt.Errorf("hyperopt: Problem.Objective is nil")
	}
	c, err := p.check()
	if err != nil {
		return nil, err
	}
	r := &Result{F: math.Inf(1), GradientNorm: math.NaN(), RelativeChange: math.NaN(), BestStart: -1, Seed: s.Seed}
	r.Warnings = append(r.Warnings, c.warnings...)
	starts := 1 + s.Restarts
	if c.further != nil {
		starts = 1 + len(c.further)
	}
	if len(c.free()) == 0 && starts > 1 {
		starts = 1
		r.Warnings = append(r.Warnings, "all parameters are fixed: restarts left out")
	}
	var errs []error
	run := runStarts
	if s.Race && starts > 1 && (s.Method == "" || s.Method == LBFGS) {
		run = race
	}
	for k, start := range run(ctx, c, s, starts, append([]Objective{p.Objective}, p.Workers...)) {
		if start.Status == StatusNone {
			continue // not begun, because another start ended the run
		}
		r.add(k, start)
		var begin *StartError
		switch {
		case start.Err == nil:
		case errors.As(start.Err, &begin):
			errs = append(errs, start.Err)
		case err == nil || errors.Is(err, context.Canceled) && ctx.Err() == nil:
			// Cancelled, or the objective is broken. What the failure of one
			// start cancelled in others is not the cause.
			err = fmt.Errorf("hyperopt: start %d: %w", k, start.Err)
			r.Status = start.Status
		}
	}
	if status := r.Status; err != nil {
		r.settle()
		r.Status = status
		return r, err
	}
	r.settle()
	if r.BestStart < 0 {
		r.Status = StatusFailed
		return r, fmt.Errorf("hyperopt: the objective is not defined at any start: %w", errors.Join(errs...))
	}
	for _, err := range errs {
		r.Warnings = append(r.Warnings, err.Error())
	}
	return r, nil
}

// runStarts runs starts 0 … n−1, each on the next objective that is free. A
// start that fails for good, or is cancelled, ends the others.
func runStarts(ctx context.Context, c *checked, s Settings, n int, objectives []Objective) []StartResult {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	results := make([]StartResult, n)
	board := newBoard(s, n)
	var next atomic.Int64
	work := func(obj Objective) {
		own := *c
		for ctx.Err() == nil || next.Load() == 0 {
			k := int(next.Add(1)) - 1
			if k >= n {
				return
			}
			if own.obj = obj; c.wrap != nil {
				own.obj = c.wrap(k, obj)
			}
			results[k] = runStart(ctx, &own, s, k, chooseStart(c, s, k), func(l *local) { board.notify(k, l) })
			board.finish(k, results[k])
			if results[k].fatal() {
				cancel()
			}
		}
	}
	var wg sync.WaitGroup
	for _, obj := range objectives[1:min(len(objectives), n)] {
		wg.Go(func() { work(obj) })
	}
	work(objectives[0])
	wg.Wait()
	return results
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
func (b *board) notify(k int, l *local) {
	if b.callback == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.counts[k] = l.ev.counts
	b.best = math.Min(b.best, l.ev.best.f)
	it := Iteration{
		Start: k, Iteration: l.iter, F: l.at.f, GradientNorm: l.norm(l.at.z, l.at.g),
		Evaluations: l.ev.counts, Best: b.best, Z: slices.Clone(l.at.z),
	}
	for _, c := range b.counts {
		it.Total.add(c)
	}
	b.callback(it)
}

// add takes up the outcome of start k.
func (r *Result) add(k int, start StartResult) {
	r.Starts = append(r.Starts, start)
	r.Evaluations.add(start.Evaluations)
	r.Iterations += start.Iterations
	left := start.Status == StatusDropped || start.Status == StatusMerged
	if start.X != nil && !left && (r.BestStart < 0 || start.F < r.F) {
		r.BestStart, r.F = k, start.F
	}
}

// settle copies the best start to the result.
func (r *Result) settle() {
	if r.BestStart < 0 {
		return
	}
	b := r.Starts[r.BestStart]
	r.X, r.Gradient = slices.Clone(b.X), slices.Clone(b.Gradient)
	r.Status, r.GradientNorm, r.RelativeChange = b.Status, b.GradientNorm, b.RelativeChange
	r.AtBound, r.Metric = slices.Clone(b.AtBound), slices.Clone(b.Metric)
	r.Warnings = append(r.Warnings, b.Warnings...)
}

// chooseStart returns start k: the one given, or one that is drawn.
func chooseStart(c *checked, s Settings, k int) Start {
	if k == 0 || c.further == nil {
		start := Start{Z: drawStart(c, s, k)}
		if k == 0 {
			start.Metric = c.metric
		}
		return start
	}
	start := Start{Z: slices.Clone(c.further[k-1].Z), Metric: c.further[k-1].Metric}
	for i := range start.Z {
		if c.fixed[i] {
			start.Z[i] = c.start[i]
		} else {
			start.Z[i] = c.clamps[i].begin(start.Z[i], start.Metric != nil)
		}
	}
	return start
}

// drawStart returns start k: the problem's own for 0, otherwise that plus
// normal deviates from the generator seeded with (Seed, k), as said at
// Settings.RestartStd. Fixed parameters use up their deviates too, so that
// fixing one does not change the starts of the others.
func drawStart(c *checked, s Settings, k int) []float64 {
	z := slices.Clone(c.start)
	if k == 0 {
		return z
	}
	rng := rand.New(rand.NewPCG(s.Seed, uint64(k)))
	sizes := make(map[string]int)
	for _, name := range c.names {
		sizes[group(name)]++
	}
	shifts := make(map[string]float64)
	for i, name := range c.names {
		g, dev := group(name), rng.NormFloat64()
		if sizes[g] > 1 {
			shift, ok := shifts[g]
			if !ok {
				shift = rng.NormFloat64()
				shifts[g] = shift
			}
			dev = math.Sqrt2 / 2 * (dev + shift)
		}
		if !c.fixed[i] {
			z[i] = c.clamps[i].inside(z[i] + s.RestartStd*dev)
		}
	}
	return z
}

// group returns a parameter's name without the index in brackets.
func group(name string) string {
	if i := strings.LastIndexByte(name, '['); i > 0 && strings.HasSuffix(name, "]") {
		return name[:i]
	}
	return name
}

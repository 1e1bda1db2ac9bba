package descent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"gpfit/hyperopt/journal"
	"gpfit/internal/each"
)

// Minimize minimizes from every start of the problem.
//
// The error is nil if at least one start found a finite value and nothing interrupted the run;
// the result's Status reports convergence. The result is nil only if p or s is invalid. With an
// error it holds what was found until then. The error is the context's cause if the run was
// cancelled, the objective's error if that ended the run, and the joined [*StartError] of all
// starts if none could begin.
//
// Starts run in sequence or, with several objectives, in parallel. Each depends
// only on p, s and its index, so the result is the same.
func Minimize(ctx context.Context, p Search, s Options) (*Result, error) {
	r, err := newRun(p, s)
	if err != nil {
		return nil, err
	}
	result := &Result{StartResult: StartResult{F: math.Inf(1), GradientNorm: math.NaN(), RelativeChange: math.NaN()}, BestStart: -1}
	warnings := slices.Clone(r.space.warnings)
	if len(r.space.free()) == 0 && len(r.starts) > 1 {
		r.starts = r.starts[:1]
		warnings = append(warnings, "all parameters are fixed: no restarts were run")
	}
	ends := make([]StartResult, len(r.starts))
	if r.settings.Race && len(r.starts)+len(r.ends) > 1 {
		ends = r.race(ctx)
	} else { // in order, each on the next free objective
		_ = SideBySide(ctx, len(r.starts), r.objectives, func(ctx context.Context, obj Func, k int) error {
			if k > 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			ends[k] = r.descent(k, obj, func(d *descent) { r.board.notify(k, d) }).run(ctx)
			r.board.finish(k, ends[k])
			return ends[k].fatal()
		})
	}
	err = result.collect(ctx, ends)
	result.Warnings = append(warnings, result.Warnings...)
	return result, err
}

// collect makes the best start the result and returns errors that end the run.
func (r *Result) collect(ctx context.Context, starts []StartResult) error {
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
		case start.fatal() == nil:
			errs = append(errs, start.Err)
		case err == nil || errors.Is(err, context.Canceled) && ctx.Err() == nil:
			// The run was cancelled or the objective failed. A cancellation that
			// follows the failure of another start is not the cause.
			err = fmt.Errorf("start %d: %w", k, start.Err)
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
	case r.BestStart < 0 && len(errs) < len(r.Starts):
		r.Status = r.Starts[0].Status // every start that began was stopped
	case r.BestStart < 0:
		r.Status = StatusFailed
		return fmt.Errorf("the objective is not defined at any start: %w", errors.Join(errs...))
	}
	for _, err := range errs {
		begin, _ := Undefined(err)
		r.Warnings = append(slices.Clip(r.Warnings), fmt.Sprintf("start %d: %v; only the other starts descended", begin.Start, begin.Err))
	}
	return nil
}

// run is a checked problem with checked settings.
type run struct {
	space      *space
	starts     []Start
	ends       []*racer
	objectives []Func
	settings   Options
	log        func(start int) *journal.Sequence
	board      *board
}

func newRun(p Search, s Options) (*run, error) {
	s, err := s.withDefaults()
	if err != nil {
		return nil, err
	}
	if len(p.Objectives) == 0 {
		return nil, fmt.Errorf("hyperopt: no objective is given")
	}
	space, err := newSpace(p.Parameters)
	if err != nil {
		return nil, err
	}
	space.limits = p.Limits
	starts, err := space.begin(p.Starts)
	if err != nil {
		return nil, err
	}
	log := p.Log
	if log == nil {
		log = func(int) *journal.Sequence { return nil }
	}
	b := &board{callback: s.Callback, counts: make([]Evaluations, len(starts)), best: math.Inf(1)}
	return &run{space: space, starts: starts, ends: ended(p.Ends), objectives: p.Objectives, settings: s, log: log, board: b}, nil
}

// descent prepares start k, which calls notify after each iteration.
func (r *run) descent(k int, obj Func, notify func(*descent)) *descent {
	ev := NewOracle(obj, r.log(k))
	ev.max = r.settings.MaxEvaluations
	start := r.starts[k]
	s := r.settings
	f, ok := ev.obj.(dear)
	isDear := ok && f.HessianIsDear()
	s.FewRows = s.FewRows || isDear
	return &descent{space: r.space, s: s, dear: isDear, index: k, start: start, ev: ev, notify: notify, change: math.NaN()}
}

// SideBySide calls do in parallel for 0 … n−1, in order, each with the next free worker. An
// error cancels the context of the other calls and ends the run, but call 0 always runs.
// SideBySide returns the first that is no cancellation, or else a cancellation.
func SideBySide[W any](ctx context.Context, n int, workers []W, do func(ctx context.Context, worker W, k int) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var next atomic.Int64
	var failed atomic.Bool
	errs := make([]error, n)
	work := func(w W) {
		for k := int(next.Add(1)) - 1; k < n && (k == 0 || !failed.Load()); k = int(next.Add(1)) - 1 {
			if errs[k] = do(ctx, w, k); errs[k] != nil {
				failed.Store(true)
				cancel()
			}
		}
	}
	var wg sync.WaitGroup
	for _, w := range workers[1:min(len(workers), max(1, n))] {
		wg.Go(func() { work(w) })
	}
	work(workers[0])
	wg.Wait()
	var first error
	for _, err := range errs {
		if err != nil && (first == nil || errors.Is(first, context.Canceled)) {
			first = err
		}
	}
	return first
}

// fatal returns the error of a start if it ends the run.
func (r *StartResult) fatal() error {
	if _, undefined := Undefined(r.Err); undefined {
		return nil
	}
	return r.Err
}

// board collects the progress of all starts for the callback.
type board struct {
	mu       sync.Mutex
	callback func(Iteration)
	counts   []Evaluations
	best     float64
}

// finish records the final counts of a start.
func (b *board) finish(k int, r StartResult) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.counts[k] = r.Evaluations
}

// notify reports an iteration to the callback. Calls never overlap.
func (b *board) notify(k int, d *descent) {
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

// racer is a start that halts after every iteration.
type racer struct {
	*descent
	warm   int
	begun  bool // its first point is evaluated
	turn   func() (struct{}, bool)
	result StartResult
	over   bool
	// promise is the decrease that the quadratic model promised at the latest
	// point, before the decrease promised at the previous point.
	promise, before float64
	// into is the start it merged with.
	into int
}

// ended returns the ends of earlier descents as racers.
func ended(ends []StartResult) []*racer {
	out := make([]*racer, len(ends))
	for k, e := range ends {
		out[k] = &racer{descent: &descent{index: k}, result: e, over: true}
		if e.Status == StatusDropped || e.Status == StatusMerged {
			out[k].left = e.Status
		}
	}
	return out
}

// race runs the starts in turns, one iteration at a time, on the free objectives,
// and stops hopeless ones early; see Options.Race. Its decisions depend on the
// points of all starts after a round, not on the objectives or their speed.
func (r *run) race(ctx context.Context) []StartResult {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	field := make([]*racer, len(r.starts))
	for k := range field {
		field[k] = r.racer(ctx, k)
	}
	running := slices.Clone(field)
	for len(running) > 0 {
		if ctx.Err() != nil {
			// The others end at their next evaluation. Starts that have not begun never do.
			running = slices.DeleteFunc(running, func(r *racer) bool { return !r.begun && r.index > 0 })
		}
		_ = SideBySide(ctx, len(running), r.objectives, func(_ context.Context, obj Func, k int) error {
			one := running[k]
			// Another start may have used the objective since its last turn.
			one.ev.move(obj)
			_, more := one.turn()
			if one.over = !more; one.over && one.result.fatal() != nil {
				cancel()
			}
			return nil
		})
		running = slices.DeleteFunc(running, func(r *racer) bool { return r.over })
		if len(r.ends) == 0 {
			judge(field, r.settings.Reach)
		}
		for _, one := range running {
			if len(r.ends) > 0 {
				judge(append(slices.Clip(r.ends), one), r.settings.Reach)
			}
		}
	}
	return each.Of(field, func(one *racer) StartResult { return one.result })
}

func (r *run) racer(ctx context.Context, k int) *racer {
	one := &racer{descent: r.descent(k, nil, nil), warm: raceWarm, promise: math.Inf(1), before: math.Inf(1)}
	if r.starts[k].Metric != nil {
		one.warm = raceWarmMetric
	}
	// The coroutine always runs to its end; see leave.
	one.turn, _ = iter.Pull(func(yield func(struct{}) bool) {
		one.notify = func(d *descent) {
			one.begun = true
			one.before, one.promise = one.promise, d.promised()
			r.board.notify(k, d)
			yield(struct{}{})
		}
		one.result = one.run(ctx)
		one.result.MergedInto = one.into
		r.board.finish(k, one.result)
	})
	return one
}

// point returns the current point of r; z is nil if it has none.
func (r *racer) point() (z []float64, f float64, metric Metric) {
	switch {
	case r.over:
		return r.result.X, r.result.F, r.result.Metric
	case !r.begun:
		return nil, math.Inf(1), nil
	}
	return r.at.Z, r.at.F, r.model
}

// judge stops the starts that cannot become the best or that converge to the
// optimum of a better start. They end at their next evaluation.
func judge(field []*racer, reach float64) {
	var order []*racer
	for _, r := range field {
		if z, _, _ := r.point(); z != nil && r.left == StatusNone {
			order = append(order, r)
		}
	}
	slices.SortStableFunc(order, func(a, b *racer) int {
		_, fa, _ := a.point()
		_, fb, _ := b.point()
		return cmp.Compare(fa, fb)
	})
	for i, r := range order {
		if i == 0 || r.over || r.iter < r.warm {
			continue
		}
		_, best, _ := order[0].point()
		if o := slices.IndexFunc(order[:i], r.joins); o >= 0 {
			r.into = order[o].index
			r.leave(StatusMerged)
		} else if gap := r.at.F - best; gap+raceGain > reach+raceHope*math.Max(r.promise, r.before) {
			r.leave(StatusDropped)
		}
	}
}

// joins reports whether r is in the basin of o, a better start that still counts.
func (r *racer) joins(o *racer) bool {
	z, f, metric := r.point()
	other, level, model := o.point()
	if o.left != StatusNone || f-level > raceLevel {
		return false
	}
	return math.Min(metric.Nats(z, other), model.Nats(z, other)) <= raceNear
}

func (r *racer) leave(s Status) {
	r.left, r.ev.halt = s, true
}

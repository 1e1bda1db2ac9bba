package descent

import (
	"cmp"
	"context"
	"iter"
	"math"
	"slices"
)

// racer is a start that halts after every iteration.
type racer struct {
	*Descent
	warm   int
	begun  bool // its first point is evaluated
	turn   func() (struct{}, bool)
	result StartResult
	over   bool
	// promise is the decrease that the quadratic model promised at the latest
	// point, before the one at the previous point.
	promise, before float64
	// left is the status with which it left the race; into is the start it merged
	// with.
	left Status
	into int
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
			// The others end at their next evaluation. Those that have not begun
			// never do.
			running = slices.DeleteFunc(running, func(r *racer) bool { return !r.begun && r.index > 0 })
		}
		SideBySide(len(running), r.objectives, func(obj Func, k int) bool {
			one := running[k]
			// Another start may have used the objective since its last turn.
			one.ev.move(obj)
			_, more := one.turn()
			if one.over = !more; one.over && one.result.fatal() {
				cancel()
			}
			return true
		})
		running = slices.DeleteFunc(running, func(r *racer) bool { return r.over })
		judge(field, r.settings.Reach)
	}
	results := make([]StartResult, len(field))
	for k, one := range field {
		results[k] = one.result
	}
	return results
}

func (r *run) racer(ctx context.Context, k int) *racer {
	one := &racer{Descent: r.descent(k, nil, nil), warm: raceWarm, promise: math.Inf(1), before: math.Inf(1)}
	if r.starts[k].Metric != nil {
		one.warm = raceWarmMetric
	}
	// The coroutine always runs to its end; see leave.
	one.turn, _ = iter.Pull(func(yield func(struct{}) bool) {
		one.notify = func(d *Descent) {
			one.begun = true
			one.before, one.promise = one.promise, d.Promise()
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
	return r.at.Z, r.at.F, r.model.b
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
	r.left, r.ev.halt = s, s
}

package hyperopt

import (
	"context"
	"iter"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"gonum.org/v1/gonum/mat"
)

// The rules of a race, in units of f. They were chosen on 568 descents recorded
// on four data sets of 278 to 1,353 rows, where the quadratic models of distinct
// optima are 10 nats apart or more, and descents that had yet to fall below the
// best promised at least a fiftieth of the gap, but for one in thirty.
const (
	// raceWarm is the number of iterations after which a start is judged, and
	// raceWarmMetric that of one that came with a metric: before, its quadratic
	// model says nothing.
	raceWarm, raceWarmMetric = 6, 2
	// raceHope is how many times the decrease that its quadratic model promises a
	// start may yet fall, on top of raceMargin.
	raceHope, raceMargin = 30, 0.5
	// raceNear bounds the quadratic model of the distance of two starts in one
	// basin, and raceLevel the difference of their values.
	raceNear, raceLevel = 3, 5
)

// racer is a start that halts after every iteration.
type racer struct {
	index  int
	warm   int
	seat   seat
	local  *local // nil before its first point
	turn   func() (struct{}, bool)
	result StartResult
	over   bool
	// promise is the decrease that the quadratic model promised at the latest
	// point, and before the one before it.
	promise, before float64
	// left says that the race is over for it, and into which other it merged.
	left Status
	into int
}

// seat is the objective of a start that moves from worker to worker.
type seat struct{ Objective }

// race runs starts 0 … n−1 side by side, an iteration of each at a time, on the
// objectives that are free, and ends those that lead nowhere, see Settings.Race.
// What it decides depends on the points of all starts after a round, not on the
// objectives or their speed.
func race(ctx context.Context, c *checked, s Settings, n int, objectives []Objective) []StartResult {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	board := newBoard(s, n)
	field := make([]*racer, n)
	for k := range field {
		field[k] = newRacer(ctx, c, s, k, board)
	}
	running := slices.Clone(field)
	for len(running) > 0 {
		if ctx.Err() != nil {
			// The others end at their next evaluation; those not begun stay so.
			running = slices.DeleteFunc(running, func(r *racer) bool { return r.local == nil && r.index > 0 })
		}
		round(running, objectives, func(r *racer) {
			if r.run(); r.over && r.result.fatal() {
				cancel()
			}
		})
		running = slices.DeleteFunc(running, func(r *racer) bool { return r.over })
		judge(field, s.Reach)
	}
	results := make([]StartResult, n)
	for k, r := range field {
		results[k] = r.result
	}
	return results
}

func newRacer(ctx context.Context, c *checked, s Settings, k int, board *board) *racer {
	start := chooseStart(c, s, k)
	r := &racer{index: k, warm: raceWarm, promise: math.Inf(1), before: math.Inf(1)}
	if start.Metric != nil {
		r.warm = raceWarmMetric
	}
	// The coroutine is always run to its end: see halt.
	r.turn, _ = iter.Pull(func(yield func(struct{}) bool) {
		own := *c
		if own.obj = &r.seat; c.wrap != nil {
			own.obj = c.wrap(k, &r.seat)
		}
		r.result = runStart(ctx, &own, s, k, start, func(l *local) {
			r.local = l
			r.before, r.promise = r.promise, l.promised()
			board.notify(k, l)
			yield(struct{}{})
			// Another start may have used the objective since.
			l.ev.valued = point{}
		})
		r.result.MergedInto = r.into
		board.finish(k, r.result)
	})
	return r
}

// run takes r one iteration on, or to its end.
func (r *racer) run() {
	_, more := r.turn()
	r.over = !more
}

// round runs every racer once, each on the next objective that is free.
func round(running []*racer, objectives []Objective, run func(*racer)) {
	var next atomic.Int64
	work := func(obj Objective) {
		for {
			k := int(next.Add(1)) - 1
			if k >= len(running) {
				return
			}
			running[k].seat.Objective = obj
			run(running[k])
		}
	}
	var wg sync.WaitGroup
	for _, obj := range objectives[1:min(len(objectives), max(1, len(running)))] {
		wg.Go(func() { work(obj) })
	}
	work(objectives[0])
	wg.Wait()
}

// at is where r has come to: z is nil if nowhere.
func (r *racer) at() (z []float64, f float64, metric []float64) {
	switch {
	case r.over:
		return r.result.X, r.result.F, r.result.Metric
	case r.local == nil:
		return nil, math.Inf(1), nil
	}
	return r.local.at.z, r.local.at.f, r.local.hessian.b
}

// judge ends the starts that cannot become the best, or are on their way to
// where a better one is. Their next evaluation ends them.
func judge(field []*racer, reach float64) {
	var order []*racer
	for _, r := range field {
		if z, _, _ := r.at(); z != nil && r.left == StatusNone {
			order = append(order, r)
		}
	}
	slices.SortStableFunc(order, func(a, b *racer) int {
		_, fa, _ := a.at()
		_, fb, _ := b.at()
		if fa < fb {
			return -1
		} else if fa > fb {
			return 1
		}
		return 0
	})
	for i, r := range order {
		if i == 0 || r.over || r.local.iter < r.warm {
			continue
		}
		_, best, _ := order[0].at()
		if o := slices.IndexFunc(order[:i], r.joins); o >= 0 {
			r.into = order[o].index
			r.leave(StatusMerged)
		} else if gap := r.local.at.f - best; gap > reach+raceMargin+raceHope*math.Max(r.promise, r.before) {
			r.leave(StatusDropped)
		}
	}
}

// joins reports whether r is in the basin of o, which is better and still counts.
func (r *racer) joins(o *racer) bool {
	z, f, metric := r.at()
	other, level, model := o.at()
	if o.left != StatusNone || f-level > raceLevel {
		return false
	}
	return math.Min(Nats(metric, z, other), Nats(model, z, other)) <= raceNear
}

func (r *racer) leave(s Status) {
	r.left, r.local.ev.halt = s, s
}

// Nats returns ½(b−a)ᵀB(b−a), the rise of f from its minimum at a to b by the
// quadratic model of the metric B; +Inf if that is nil.
func Nats(metric, a, b []float64) float64 {
	if metric == nil {
		return math.Inf(1)
	}
	p, d := len(a), make([]float64, len(a))
	for i := range d {
		d[i] = b[i] - a[i]
	}
	sum := 0.0
	for i, v := range d {
		sum += v * dot(metric[i*p:(i+1)*p], d)
	}
	return sum / 2
}

// promised returns the decrease of f to the minimum of its quadratic model over
// the parameters that can move, ½gᵀB⁻¹g; +Inf while there is no model.
func (l *local) promised() float64 {
	var index []int
	for i := range l.at.z {
		if !l.p.fixed[i] && l.at.g != nil && !l.bound(i, l.at.z, l.at.g) {
			index = append(index, i)
		}
	}
	if l.hessian.b == nil || l.at.g == nil {
		return math.Inf(1)
	}
	if len(index) == 0 {
		return 0
	}
	b, g := mat.NewSymDense(len(index), nil), mat.NewVecDense(len(index), nil)
	for a, i := range index {
		g.SetVec(a, l.at.g[i])
		for e := a; e < len(index); e++ {
			b.SetSym(a, e, l.hessian.b[i*l.hessian.p+index[e]])
		}
	}
	var chol mat.Cholesky
	var x mat.VecDense
	if !chol.Factorize(b) || chol.SolveVecTo(&x, g) != nil {
		return math.Inf(1)
	}
	return mat.Dot(g, &x) / 2
}

package fit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"gpfit/device"
	"gpfit/hyperopt"
)

// Where the rows are few, no subset of them stands for all: on half of them all
// starts may meet in an optimum that is not the best. So every start is tuned on
// a random half of its own; halves differ enough to lead to different optima,
// which then race over all rows, each with the scaled Hessian of its half as
// metric.
const (
	// halfEvaluations limits the values of such a descent: by then it is where
	// the other half of the rows matters more.
	halfEvaluations = 25
	// halfHessianShare is as hessianShare, for each start.
	halfHessianShare = 0.5
)

// half is what became of a start on its own half.
type half struct {
	candidate
	result        *hyperopt.Result // nil if it could not begin there
	sessions      [2]*session
	descent, hess counter
	rows          int // of the Hessian, 0 for none
	err           error
}

// halves tunes each of the candidates on a half of the rows of its own. The
// task's own start goes on over all rows as it is, too.
func (u *tuning) halves(ctx context.Context, from []candidate) ([]candidate, error) {
	began := time.Now()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make([]half, len(from))
	var next atomic.Int64
	var telling sync.Mutex
	work := func(b device.Backend) {
		for ctx.Err() == nil {
			k := int(next.Add(1)) - 1
			if k >= len(from) {
				return
			}
			if u.half(ctx, b, &done[k], k, from[k], &telling); done[k].err != nil {
				cancel()
			}
		}
	}
	var wg sync.WaitGroup
	for _, b := range u.backends[1:min(len(u.backends), len(from))] {
		wg.Go(func() { work(b) })
	}
	work(u.backends[0])
	wg.Wait()
	return u.gather(done, from, began)
}

// half tunes start k and finds its metric.
func (u *tuning) half(ctx context.Context, b device.Backend, h *half, k int, from candidate, telling *sync.Mutex) {
	t := u.task
	h.candidate = from
	order := rand.New(rand.NewPCG(t.opts.Settings.Seed, 0x68616c66<<16+uint64(k))).Perm(t.N())
	sub := t.first((t.N()+1)/2, order)
	if !sub.determined() {
		return
	}
	s, err := sub.open(ctx, b)
	if err != nil {
		h.err = err
		return
	}
	h.sessions[0] = s
	settings := sub.telling(sub.looseSettings())
	if settings.MaxEvaluations == 0 || settings.MaxEvaluations > halfEvaluations {
		settings.MaxEvaluations = halfEvaluations
	}
	if callback := settings.Callback; callback != nil {
		settings.Callback = func(it hyperopt.Iteration) {
			telling.Lock()
			defer telling.Unlock()
			it.Start = k
			callback(it)
		}
	}
	stream := fmt.Sprintf("half-%d", k)
	result, err := hyperopt.Minimize(ctx, u.problem(sub, []*session{s}, stream, []candidate{from}, &h.descent), settings)
	s.close()
	var begin *hyperopt.StartError
	if errors.As(err, &begin) {
		return // not defined there on these rows: it goes on as it was
	}
	if result != nil && result.X != nil {
		h.result, h.f = result, result.F
		h.Start = hyperopt.Start{Z: t.withinReach(result.X), Metric: scaled(result.Metric, float64(t.N())/float64(sub.N()))}
	}
	if h.err = err; err == nil {
		h.err = u.halfHessian(ctx, b, h, stream, order)
	}
}

// halfHessian replaces the metric of h by the scaled Hessian of the first rows of
// its order, unless the objective is not defined around it.
func (u *tuning) halfHessian(ctx context.Context, b device.Backend, h *half, stream string, order []int) error {
	t := u.task
	m := t.hessianSize(halfHessianShare)
	sub := t.first(m, order)
	if !t.hasMetric(m) || !sub.determined() {
		return nil
	}
	s, err := sub.open(ctx, b)
	if err != nil {
		return err
	}
	defer s.close()
	h.sessions[1] = s
	metric, err := hyperopt.Hessian(ctx, u.log.recorder(stream+"-hessian", s, &h.hess), h.Z, sub.problem(nil).Fixed)
	switch {
	case device.IsNotPD(err):
		return nil
	case err != nil:
		return err
	}
	h.rows, h.Metric = m, scaled(metric, float64(t.N())/float64(m))
	return nil
}

// gather takes up what the halves came to, in order.
func (u *tuning) gather(done []half, from []candidate, began time.Time) ([]candidate, error) {
	t := u.task
	var descents, hessians counter
	var out []candidate
	var err error
	best, rows := -1, 0
	for k := range done {
		h := &done[k]
		for _, s := range h.sessions {
			if s != nil {
				u.retire([]*session{s}, &u.coarse)
			}
		}
		descents.add(h.descent.value, h.descent.gradient)
		hessians.add(h.hess.value, h.hess.gradient)
		rows = max(rows, h.rows)
		if h.err != nil && (err == nil || isCancelled(err)) {
			err = h.err
		}
		switch {
		case h.Z == nil:
			out = append(out, from[k]) // not begun
			continue
		case h.result != nil:
			u.infeasible += h.result.Evaluations.Infeasible
			if best < 0 || h.f < done[best].f {
				best = k
			}
		}
		out = append(out, h.candidate)
	}
	u.coarse.add(descents.value+hessians.value, descents.gradient+hessians.gradient)
	if best >= 0 {
		ends := &hyperopt.Result{X: done[best].result.X, F: done[best].f, Starts: make([]hyperopt.StartResult, len(done))}
		u.record("halves", (t.N()+1)/2, ends, began, &descents)
		if err != nil {
			out[0] = done[best].candidate // the best so far
		} else if rows > 0 {
			u.record("hessians", rows, ends, began, &hessians)
		}
	}
	if err != nil {
		return out, err
	}
	for k := range out {
		out[k].f = math.Inf(1) // of rows of its own: nothing to compare
	}
	own := candidate{Start: hyperopt.Start{Z: t.startZ()}, f: math.Inf(1), starts: []int{-1}}
	return append([]candidate{own}, out...), nil
}

package hyperopt

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"gpfit/hyperopt/descent"
)

// A single subset of few rows does not represent all of them: on the same half, all
// starts may converge to an optimum that is not the best. Therefore each start is
// tuned on a different random half. The halves differ enough to lead to different
// optima, which then race over all rows, each with the scaled Hessian of its half
// as metric.

// half is the outcome of a start on its half of the rows.
type half struct {
	candidate
	result   *descent.Result // nil if the start could not begin
	hess     descent.Evaluations
	hessRows int // 0 for none
	err      error
}

// halves tunes each candidate on a different half of the rows. The given start also
// continues unchanged over all rows.
func (t *tuner) halves(ctx context.Context, from []candidate) ([]candidate, error) {
	began := time.Now()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make([]half, len(from))
	workers := make([]int, t.problem.Workers((t.rows+1)/2))
	for w := range workers {
		workers[w] = w
	}
	descent.SideBySide(len(from), workers, func(worker, k int) bool {
		if ctx.Err() != nil {
			return false
		}
		done[k].candidate = from[k]
		if done[k].err = t.half(ctx, worker, &done[k], k); done[k].err != nil {
			cancel()
		}
		return true
	})
	return t.gather(done, from, began)
}

// half tunes start k and finds its metric.
func (t *tuner) half(ctx context.Context, worker int, h *half, k int) error {
	order := rand.New(rand.NewPCG(t.Seed, 0x68616c66<<16+uint64(k))).Perm(t.rows)
	rows := first((t.rows+1)/2, order)
	stream := fmt.Sprintf("half-%d", k)
	if err := t.descendHalf(ctx, worker, h, k, rows, stream); err != nil || h.result == nil {
		return err
	}
	m := t.hessianSize(halfHessianShare)
	metric, counts, err := t.hessianOn(ctx, worker, stream+"-hessian", first(m, order), h.Z)
	if h.hess = counts; metric != nil {
		h.hessRows, h.Metric = m, metric
	}
	return err
}

// descendHalf runs the descent of start k.
func (t *tuner) descendHalf(ctx context.Context, worker int, h *half, k int, rows []int, stream string) error {
	o, err := t.problem.Open(ctx, worker, rows)
	if errors.Is(err, ErrUndetermined) {
		return nil
	}
	if err != nil {
		return err
	}
	defer o.Close()
	settings := t.looseDescents(len(rows))
	if settings.MaxEvaluations == 0 || settings.MaxEvaluations > halfEvaluations {
		settings.MaxEvaluations = halfEvaluations
	}
	if callback := settings.Callback; callback != nil {
		settings.Callback = func(it descent.Iteration) {
			it.Start = k
			callback(it)
		}
	}
	result, err := t.minimize(ctx, []Session{o}, stream, []candidate{h.candidate}, settings)
	var begin *descent.StartError
	if errors.As(err, &begin) {
		return nil // not defined there on these rows: it continues unchanged
	}
	if result != nil && result.X != nil {
		h.result, h.f, h.spent = result, result.F, result.Evaluations
		h.Start = descent.Start{Z: t.withinReach(result.X), Metric: result.Metric.Scaled(float64(t.rows) / float64(len(rows)))}
	}
	return err
}

// gather collects the outcomes of the halves in order.
func (t *tuner) gather(done []half, from []candidate, began time.Time) ([]candidate, error) {
	var descents, hessians descent.Evaluations
	var out []candidate
	var err error
	best, rows := -1, 0
	for k := range done {
		h := &done[k]
		hessians.Add(h.hess)
		rows = max(rows, h.hessRows)
		if h.err != nil && (err == nil || errors.Is(err, context.Canceled)) {
			err = h.err
		}
		if h.result != nil {
			descents.Add(h.result.Evaluations)
			if best < 0 || h.f < done[best].f {
				best = k
			}
		}
		if h.Z == nil {
			h.candidate = from[k] // not begun
		}
		out = append(out, h.candidate)
	}
	t.result.Total.Add(descents)
	t.result.Total.Add(hessians)
	if best >= 0 {
		end := Stage{Step: "halves", Rows: (t.rows + 1) / 2, Starts: len(done), Z: done[best].result.X, F: done[best].f, Evaluations: descents}
		t.record(end, began)
		if err != nil {
			out[0] = done[best].candidate // the best so far
		} else if rows > 0 {
			end.Step, end.Rows, end.Evaluations = "hessians", rows, hessians
			t.record(end, began)
		}
	}
	if err != nil {
		return out, err
	}
	for k := range out {
		out[k].f = math.Inf(1) // on different rows, so not comparable
	}
	own := candidate{Start: descent.Start{Z: latinStarts(t.params, 0, 1)[0]}, f: math.Inf(1), starts: 1}
	return append([]candidate{own}, out...), nil
}

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

// Where the rows are few, no subset of them stands for all: on half of them all
// starts may meet in an optimum that is not the best. So every start is tuned on
// a random half of its own; halves differ enough to lead to different optima,
// which then race over all rows, each with the scaled Hessian of its half as
// metric.

// half is what became of a start on its own half.
type half struct {
	candidate
	result   *descent.Result // nil if it could not begin there
	hess     descent.Evaluations
	hessRows int // 0 for none
	err      error
}

// halves tunes each of the candidates on a half of the rows of its own. The
// problem's own start goes on over all rows as it is, too.
func (t *tuner) halves(ctx context.Context, from []candidate) ([]candidate, error) {
	began := time.Now()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make([]half, len(from))
	workers := make([]int, t.problem.Workers())
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
		return nil // not defined there on these rows: it goes on as it was
	}
	if result != nil && result.X != nil {
		h.result, h.f = result, result.F
		h.Start = descent.Start{Z: t.withinReach(result.X), Metric: result.Metric.Scaled(float64(t.rows) / float64(len(rows)))}
	}
	return err
}

// gather takes up what the halves came to, in order.
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
		out[k].f = math.Inf(1) // of rows of its own: nothing to compare
	}
	own := candidate{Start: descent.Start{Z: latinStarts(t.params, 0, 1)[0]}, f: math.Inf(1), starts: 1}
	return append([]candidate{own}, out...), nil
}

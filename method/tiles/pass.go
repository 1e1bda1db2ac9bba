package tiles

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
)

// task names a tile or a row of tiles that a worker computes.
type task struct{ i, j int }

// pass is a list of tasks, in an order in which each depends only on earlier ones.
type pass struct {
	tasks []task
	do    func(w *worker, number int, t task)
	// owner returns the bank whose worker executes a task, if there are several banks or a cache.
	owner func(t task) int
}

// queue hands out the tasks of a pass.
type queue struct {
	pass
	next   atomic.Int64
	shared bool
	mu     sync.Mutex
	panics []any
}

// run executes a pass on some of the workers, and reports the operations done so far on the caller's goroutine. The error is the
// context's, or the first worker's.
func (m *machine) run(ctx context.Context, p pass) error {
	q := &queue{pass: p, shared: !m.owned()}
	if !q.shared {
		m.record(p)
	}
	m.stopped.Store(false)
	workers := m.workers[:min(len(m.workers), m.limit)]
	var others sync.WaitGroup
	for _, w := range workers[1:] {
		others.Go(func() { q.work(ctx, w, nil) })
	}
	q.work(ctx, workers[0], m.report)
	others.Wait()
	m.report()
	if len(q.panics) > 0 {
		panic(q.panics[0])
	}
	return m.outcome(ctx, workers)
}

// outcome returns the error of a pass, and readies the workers for the next one.
func (m *machine) outcome(ctx context.Context, workers []*worker) error {
	var first error
	for _, w := range workers {
		if err := w.err; err != nil && (first == nil || errors.Is(first, errStopped)) {
			first = err
		}
		w.err = nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return first
}

// record gives the cache of each worker the accesses of its tasks.
func (m *machine) record(p pass) {
	for _, w := range m.workers {
		if w.cache == nil {
			continue
		}
		var uses []use
		w.recorded = &uses
		for number, t := range p.tasks {
			if p.owner(t) == w.bank {
				p.do(w, number, t)
			}
		}
		w.recorded = nil
		w.cache.begin(uses)
	}
}

// work executes tasks on a worker until none are left, or the pass stops.
func (q *queue) work(ctx context.Context, w *worker, report func()) {
	ended := false
	defer func() {
		if !ended {
			w.stopped.Store(true)
			q.mu.Lock()
			q.panics = append(q.panics, recover())
			q.mu.Unlock()
		}
	}()
	for number := q.take(w, -1); number < len(q.tasks) && !w.stopped.Load(); number = q.take(w, number) {
		q.do(w, number, q.tasks[number])
		if report != nil {
			report()
		}
		if ctx.Err() != nil {
			w.stopped.Store(true)
		}
	}
	if err := w.Wait(w.lane); err != nil {
		w.fail(err)
	}
	ended = true
}

// take returns the worker's next task after the task before.
func (q *queue) take(w *worker, before int) int {
	if q.shared {
		return int(q.next.Add(1)) - 1
	}
	for before++; before < len(q.tasks) && q.owner(q.tasks[before]) != w.bank; before++ {
	}
	return before
}

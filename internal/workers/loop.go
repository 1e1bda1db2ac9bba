package workers

import (
	"context"
	"sync/atomic"
)

// loop is one parallel loop.
type loop struct {
	ctx   context.Context
	tasks int
	f     func(worker, task int)
	next  atomic.Int64
}

// Work implements [Task].
func (l *loop) Work(worker int) {
	ended := false
	defer func() {
		if !ended { // by a panic
			l.next.Store(int64(l.tasks))
		}
	}()
	for l.ctx.Err() == nil {
		t := int(l.next.Add(1)) - 1
		if t >= l.tasks {
			break
		}
		l.f(worker, t)
	}
	ended = true
}

// For calls f(worker, task) for every task in 0 … tasks−1 on at most the given threads of the
// team, or on the caller's if another call has them. It returns ctx's error if ctx is done
// before the last task has begun. The assignment of tasks to workers depends on timing, so
// results must depend only on the task. A panic in f propagates to the caller.
func (t *Team) For(ctx context.Context, threads, tasks int, f func(worker, task int)) error {
	l := loop{ctx: ctx, tasks: tasks, f: f}
	if threads = min(threads, t.Size(), tasks); threads > 1 && t.TryAcquire() {
		defer t.Release()
		t.Run(threads, &l)
	} else {
		l.Work(0)
	}
	return ctx.Err()
}

// Await returns the result of work in a goroutine, or ctx's error if ctx is done first. The work
// then goes on until it ends, and its result is lost.
func Await[T any](ctx context.Context, work func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := work()
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

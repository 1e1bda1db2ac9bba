package cpu

import (
	"context"
	"sync"
	"sync/atomic"
)

// parallelFor calls f(worker, task) for every task in 0 … tasks−1 on at most
// threads goroutines, and returns ctx's error if it is done before the last task
// has begun. The assignment of tasks to workers depends on timing, so results must
// depend only on the task. A panic in f propagates to the caller.
func parallelFor(ctx context.Context, threads, tasks int, f func(worker, task int)) error {
	threads = min(threads, tasks)
	if threads <= 1 {
		for t := range tasks {
			if err := ctx.Err(); err != nil {
				return err
			}
			f(0, t)
		}
		return nil
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	var once sync.Once
	var failure any
	run := func(worker int) {
		defer func() {
			if p := recover(); p != nil {
				once.Do(func() { failure = p })
				next.Store(int64(tasks))
			}
		}()
		for ctx.Err() == nil {
			t := int(next.Add(1)) - 1
			if t >= tasks {
				return
			}
			f(worker, t)
		}
	}
	for w := 1; w < threads; w++ {
		wg.Go(func() { run(w) })
	}
	run(0)
	wg.Wait()
	if failure != nil {
		panic(failure)
	}
	return ctx.Err()
}

// Package workers keeps threads that wait for work. It also waits for work that cannot be
// interrupted.
//
// A [Team] lends its workers to one call at a time. [Team.Run] costs about as much as a
// few cache misses while the workers still spin, and the time of waking threads after
// they have parked. A call that does not get the team works on its own goroutine:
//
//	if !t.TryAcquire() {
//		task.Work(0)
//		return
//	}
//	defer t.Release()
//	t.Run(threads, task)
package workers

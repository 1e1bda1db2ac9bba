package cpu

import (
	"context"
	"runtime"
	"sync/atomic"

	"gpfit/cpu/spd"
	"gpfit/internal/team"
)

// crew is a number of threads, with the routines for matrices that use them. Calls by
// several workspaces at once do not wait for each other: one of them gets the threads, and
// the others work on their caller's.
type crew struct {
	team   *team.Team
	engine *spd.Engine
}

// newCrew returns a crew with the routines of a variant. Its threads end when it is no
// longer reachable.
func newCrew(variant string, size int) *crew {
	t := team.New(size)
	c := &crew{team: t, engine: spd.NewEngine(variant, t)}
	runtime.AddCleanup(c, (*team.Team).Close, t)
	return c
}

// size returns the number of threads.
func (c *crew) size() int { return c.team.Size() }

// loop is one parallel loop.
type loop struct {
	ctx   context.Context
	tasks int
	f     func(worker, task int)
	next  atomic.Int64
}

// Work implements [team.Task].
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

// parallelFor calls f(worker, task) for every task in 0 … tasks−1 on at most threads of the
// crew's threads, and returns ctx's error if it is done before the last task has begun. The
// assignment of tasks to workers depends on timing, so results must depend only on the task.
// A panic in f propagates to the caller.
func (c *crew) parallelFor(ctx context.Context, threads, tasks int, f func(worker, task int)) error {
	l := loop{ctx: ctx, tasks: tasks, f: f}
	if threads = min(threads, c.size(), tasks); threads > 1 && c.team.TryAcquire() {
		defer c.team.Release()
		c.team.Run(threads, &l)
	} else {
		l.Work(0)
	}
	return ctx.Err()
}

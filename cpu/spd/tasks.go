package spd

import (
	"context"
	"runtime"
	"sync/atomic"

	"gpfit/internal/isa"
	"gpfit/internal/workers"
)

// chunk is the number of columns after which the chain of operations of an element is cut:
// that many columns of a panel (18 KB) stay in the first-level cache, and the columns of 36
// panels (650 KB) in the second.
const chunk = 288

// blockRows returns the number of rows of a task, a divisor of chunk and a multiple of all
// groups of panels. Small blocks share the work evenly and leave little to wait for; large
// ones read less memory for each operation.
func blockRows(order int) int {
	switch {
	case order <= 300:
		return 24
	case order <= 1400:
		return 48
	case order <= 8000:
		return 96
	}
	return 288
}

// An Engine has the micro-kernels of a variant and the threads that matrices compute with.
// They end when it is no longer reachable. Calls for several matrices at once do not wait for
// each other: one of them gets the threads, and the others work on their caller's.
type Engine struct {
	kernels
	team *workers.Team
}

// NewEngine returns an engine with the micro-kernels of a variant, which this processor must
// have, and the given threads.
func NewEngine(v isa.Variant, threads int) *Engine {
	e := &Engine{kernels: kernelsOf(v), team: workers.New(threads)}
	runtime.AddCleanup(e, (*workers.Team).Close, e.team)
	return e
}

// Open returns an engine with the variant of [isa.Choose], or its error, and the given
// threads, or all if threads is not positive.
func Open(threads int) (*Engine, error) {
	v, err := isa.Choose()
	if err != nil {
		return nil, err
	}
	if threads <= 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	return NewEngine(v, threads), nil
}

// Variant returns the variant of the micro-kernels.
func (e *Engine) Variant() isa.Variant { return e.set }

// Threads returns the number of threads.
func (e *Engine) Threads() int { return e.team.Size() }

// SetThreads changes the number of threads for later calls.
func (e *Engine) SetThreads(n int) { e.team.Resize(n) }

// For calls f(worker, task) for every task in 0 … tasks−1 on at most the given threads,
// as [workers.Team.For] does.
func (e *Engine) For(ctx context.Context, threads, tasks int, f func(worker, task int)) error {
	return e.team.For(ctx, threads, tasks, f)
}

// WorkNumbers returns the working space of the operations on a matrix of order n, in numbers.
func (e *Engine) WorkNumbers(n int) int64 {
	return int64(e.team.Size())*int64(blockRows(n)*chunk) + int64(e.lanes*roundUp(n, e.lanes))
}

// serialOrder is the order up to which one thread is faster than several.
const serialOrder = 128

// run is one operation: tasks in an order in which each depends on earlier ones only. Its
// zero value can be used again and again.
type run struct {
	ctx     context.Context
	report  func(flops float64)
	work    func(worker int, t pair) (flops int64)
	tasks   []pair
	next    atomic.Int64
	flops   atomic.Int64 // not yet reported
	stopped atomic.Bool
	// done counts, for each block, how much of it is ready.
	done []atomic.Int32
}

// A pair names a task by the blocks that it computes or changes.
type pair struct{ i, j int }

// begin prepares an operation on a number of blocks.
func (r *run) begin(ctx context.Context, blocks int, report func(flops float64)) {
	r.ctx, r.report, r.tasks = ctx, report, r.tasks[:0]
	r.next.Store(0)
	r.flops.Store(0)
	r.stopped.Store(false)
	if cap(r.done) < blocks {
		r.done = make([]atomic.Int32, blocks)
	}
	r.done = r.done[:blocks]
	for i := range r.done {
		r.done[i].Store(0)
	}
}

// add appends a task.
func (r *run) add(i, j int) { r.tasks = append(r.tasks, pair{i, j}) }

// Work takes tasks until none are left or the operation stops.
func (r *run) Work(worker int) {
	ended := false
	defer func() {
		if !ended { // by a panic; nobody must wait for this worker
			r.stopped.Store(true)
		}
	}()
	for !r.stopped.Load() {
		task := int(r.next.Add(1)) - 1
		if task >= len(r.tasks) {
			break
		}
		r.flops.Add(r.work(worker, r.tasks[task]))
		if worker == 0 && r.report != nil {
			r.report(float64(r.flops.Swap(0)))
		}
		if r.ctx.Err() != nil {
			r.stopped.Store(true)
		}
	}
	ended = true
}

// await waits until block i has reached at least count. It returns false if the operation
// has stopped.
func (r *run) await(i, count int) bool {
	for spin := 0; int(r.done[i].Load()) < count; spin++ {
		if r.stopped.Load() {
			return false
		}
		workers.Relax(spin)
	}
	return true
}

// finish executes the operation. It returns the error of the context.
func (e *Engine) finish(r *run, order int, work func(worker int, t pair) int64) error {
	r.work = work
	defer func() { r.ctx, r.report, r.work = nil, nil, nil }()
	e.share(r, order)
	if r.report != nil {
		r.report(float64(r.flops.Swap(0)))
	}
	return r.ctx.Err()
}

// share lets the threads of the team take the tasks, or the caller alone if there is little
// to do or another call has the team.
func (e *Engine) share(r *run, order int) {
	threads := min(e.team.Size(), len(r.tasks))
	if order <= serialOrder || threads < 2 || !e.team.TryAcquire() {
		r.Work(0)
		return
	}
	defer e.team.Release()
	e.team.Run(threads, r)
}

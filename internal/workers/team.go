package workers

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// A Task is the work of a run. Run calls Work(0) on the caller's goroutine, and each worker that
// joins calls Work with its number, from 1, once. The operating system may neglect a worker, so
// that it never joins. The work must therefore be complete when Work(0) and the calls of joined
// workers have returned. If one Work waits for another, a panic in the other must end the wait.
type Task interface{ Work(worker int) }

// A Team lends worker goroutines to one call at a time. An idle worker first spins,
// because the next run often follows soon, and then parks. Workers start at the first
// run that needs them, and Close ends them.
//
// No run waits for a worker to join.
type Team struct {
	mu      sync.Mutex // held from TryAcquire to Release
	threads atomic.Int32
	closed  atomic.Bool
	workers []*worker // under mu

	// A run writes task and helpers before it begins and waits for the workers
	// that joined before it changes them.
	task    Task
	helpers int // workers that may join

	runs   atomic.Uint32 // beginnings and ends of runs, so odd during a run
	joined atomic.Int32  // workers that may use task

	failure atomic.Pointer[failure]
}

// A failure is the value with which a worker panicked.
type failure struct{ value any }

// New returns a team of the given size. It starts no worker yet.
func New(threads int) *Team {
	t := &Team{}
	t.Resize(threads)
	return t
}

// Size returns the number of threads that a run should use at most, including the caller's.
func (t *Team) Size() int { return int(t.threads.Load()) }

// Resize changes the size; values below 1 mean 1. It ends no worker.
func (t *Team) Resize(n int) { t.threads.Store(int32(max(1, n))) }

// TryAcquire reserves the team for the caller and reports whether it did. It never
// waits. If another call uses the team, or the team is closed, it returns false.
func (t *Team) TryAcquire() bool {
	if !t.mu.TryLock() {
		return false
	}
	if t.closed.Load() {
		t.mu.Unlock()
		return false
	}
	return true
}

// Release ends a reservation by TryAcquire.
func (t *Team) Release() { t.mu.Unlock() }

// Close ends the workers after the call that uses them, if there is one. Later calls do
// not get the team.
func (t *Team) Close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed.Swap(true) {
		return
	}
	t.helpers = 0
	t.runs.Add(1)
	t.wake(len(t.workers))
	t.workers = nil
}

// Run executes the task on the caller's goroutine and on at most threads−1 workers. The
// caller must have acquired the team. Run returns when no worker uses the task any
// more. If Work panics on a worker, Run waits for the others and panics with the same
// value. It allocates only to start workers.
func (t *Team) Run(threads int, task Task) {
	if threads <= 1 {
		task.Work(0)
		return
	}
	t.task, t.helpers = task, threads-1
	t.start(t.helpers)
	t.runs.Add(1)
	t.wake(t.helpers)
	defer t.finish()
	task.Work(0)
}

// start makes sure that the team has n workers.
func (t *Team) start(n int) {
	for len(t.workers) < n {
		w := &worker{number: len(t.workers) + 1, wake: make(chan struct{}, 1)}
		t.workers = append(t.workers, w)
		go t.serve(w, t.runs.Load())
	}
}

// wake wakes the parked workers among the first n.
func (t *Team) wake(n int) {
	for _, w := range t.workers[:n] {
		if w.parked.CompareAndSwap(true, false) {
			w.wake <- struct{}{}
		}
	}
}

// finish ends a run.
func (t *Team) finish() {
	t.runs.Add(1)
	for i := 0; t.joined.Load() != 0; i++ {
		Relax(i)
	}
	t.task = nil
	if f := t.failure.Swap(nil); f != nil {
		panic(f.value)
	}
}

// A worker is one of the team's goroutines.
type worker struct {
	number int // from 1
	parked atomic.Bool
	wake   chan struct{}
}

// Before it parks, a worker polls for the next run this many times, spinPause PAUSE instructions
// (some 40 to 140 cycles each) apart: about 50 µs, the time that parking and waking would cost.
// After every spinYield polls it lets other goroutines run.
const (
	spinLooks = 200
	spinPause = 12
	spinYield = 16
)

// serve is the main loop of a worker; seen is the value of runs when it started.
func (t *Team) serve(w *worker, seen uint32) {
	for {
		t.await(w, seen)
		seen = t.join(w, seen)
		if t.closed.Load() {
			return
		}
	}
}

// await returns after a run has begun that is not seen. The run may be over.
func (t *Team) await(w *worker, seen uint32) {
	for i := range spinLooks {
		if t.begun(seen) {
			return
		}
		pause(spinPause)
		if i%spinYield == spinYield-1 {
			runtime.Gosched()
		}
	}
	w.parked.Store(true)
	if t.begun(seen) && w.parked.CompareAndSwap(true, false) {
		return
	}
	<-w.wake
}

// begun reports whether a run goes on that is not seen.
func (t *Team) begun(seen uint32) bool {
	now := t.runs.Load()
	return now%2 == 1 && now != seen
}

// join takes part in the current run, unless it is over or the worker has seen it. It
// returns the value of runs that it found. It counts itself among joined before it
// looks, so that a run that ends after the look waits for it.
func (t *Team) join(w *worker, seen uint32) (now uint32) {
	t.joined.Add(1)
	defer t.leave()
	now = t.runs.Load()
	// Workers from before a reduction of the number of threads may still run.
	if now%2 == 1 && now != seen && w.number <= t.helpers {
		t.task.Work(w.number)
	}
	return now
}

// leave keeps the value of a panic for the caller and ends the worker's part. As a
// deferred function, it also runs if Work ends the goroutine.
func (t *Team) leave() {
	if p := recover(); p != nil {
		t.failure.CompareAndSwap(nil, &failure{p})
	}
	t.joined.Add(-1)
}

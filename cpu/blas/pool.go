package blas

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// A pool lends worker goroutines to one call at a time. An idle worker first spins,
// because the next call often follows soon, and then parks. Workers start at the
// first call that needs them.
//
// No call waits for a worker to join. The caller takes items itself and waits only
// for items that a worker has taken, so workers that the scheduler neglects cannot
// block a call.
type pool struct {
	mu      sync.Mutex // held by the call that uses the workers
	threads atomic.Int32
	closed  atomic.Bool
	workers []*worker // under mu
	shared  *job      // under mu: the job of the call that uses the workers

	cur    atomic.Pointer[job] // what to work on
	gen    atomic.Uint32       // counts the jobs published
	joined atomic.Int32        // workers that may hold cur

	spare sync.Pool // jobs for calls that find the workers busy
}

// A worker is a thread of a call: the caller's thread or one of the pool's.
type worker struct {
	index   int       // among the pool's
	scratch []float64 // see (*job).solvePanels
	parked  atomic.Bool
	wake    chan struct{}
}

// Before it parks, a worker polls for the next job this many times, spinPause PAUSE
// instructions (some 40 to 140 cycles each) apart: about 50 µs, the time that
// parking and waking would cost. After every spinYield polls it lets other
// goroutines run.
const (
	spinLooks = 200
	spinPause = 12
	spinYield = 16
)

func newPool(threads int) *pool {
	p := &pool{}
	p.threads.Store(int32(threads))
	return p
}

func (p *pool) size() int { return int(p.threads.Load()) }

func (p *pool) resize(n int) { p.threads.Store(int32(n)) }

func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed.Store(true)
	p.gen.Add(1)
	p.wakeUp(len(p.workers))
	p.workers = nil
}

// acquire returns an empty job for a call that can use up to the given number of
// threads, with the workers if they are free.
func (p *pool) acquire(threads int) *job {
	if threads > 1 && p.mu.TryLock() {
		if p.shared == nil {
			p.shared = &job{}
		}
		p.shared.threads, p.shared.pooled = threads, true
		return p.shared
	}
	j, _ := p.spare.Get().(*job)
	if j == nil {
		j = &job{}
	}
	j.threads = 1
	return j
}

// release returns a job without workers to the pool.
func (p *pool) release(j *job) {
	j.reset()
	p.spare.Put(j)
}

// run executes a job, returns it to the pool and returns j.minor.
func (p *pool) run(j *job) (minor int) {
	j.next.Store(0)
	j.minor.Store(0)
	if !j.pooled {
		j.work(&j.self)
		minor = int(j.minor.Load())
		p.release(j)
		return minor
	}
	for len(p.workers) < j.threads-1 {
		w := &worker{index: len(p.workers), wake: make(chan struct{}, 1)}
		p.workers = append(p.workers, w)
		go p.serve(w, p.gen.Load())
	}
	p.cur.Store(j)
	p.gen.Add(1)
	p.wakeUp(j.threads - 1)
	j.work(&j.self)
	for i := range j.phases {
		j.await(i)
	}
	p.cur.Store(nil)
	for i := 0; p.joined.Load() != 0; i++ {
		relax(i)
	}
	minor = int(j.minor.Load())
	j.reset()
	p.mu.Unlock()
	return minor
}

func (p *pool) wakeUp(n int) {
	for _, w := range p.workers[:n] {
		if w.parked.CompareAndSwap(true, false) {
			w.wake <- struct{}{}
		}
	}
}

// serve is the main loop of a worker; seen is the last job that it need not join.
func (p *pool) serve(w *worker, seen uint32) {
	for {
		seen = p.next(w, seen)
		if p.closed.Load() {
			return
		}
		p.joined.Add(1)
		// Workers from before a reduction of the thread count may still run.
		if j := p.cur.Load(); j != nil && w.index < j.threads-1 {
			j.work(w)
		}
		p.joined.Add(-1)
	}
}

// next waits until a job has been published after seen.
func (p *pool) next(w *worker, seen uint32) uint32 {
	for i := 0; i < spinLooks; i++ {
		if g := p.gen.Load(); g != seen {
			return g
		}
		pause(spinPause)
		if i%spinYield == spinYield-1 {
			runtime.Gosched()
		}
	}
	w.parked.Store(true)
	if g := p.gen.Load(); g != seen && w.parked.CompareAndSwap(true, false) {
		return g
	}
	<-w.wake
	return p.gen.Load()
}

// The phases of waiting for another thread: pauseSpins iterations of some 0.1 µs;
// then, up to relaxSpins iterations, some 0.3 µs each while other goroutines can
// run; then sleeps. While another program used one of two processors, a
// factorisation of n = 500 ran at 50 to 60 GFLOP/s on two threads with the sleep,
// at 6 to 15 without it, and at 68 on one thread.
const (
	pauseSpins = 64
	relaxSpins = 256
	relaxSleep = 20 * time.Microsecond
)

// relax is the body of the i-th iteration of a loop that waits for another thread.
// Usually that thread is busy with an item and finishes within tens of
// microseconds. If it takes longer, the operating system may be running another
// program on its processor. This thread then sleeps, so that the other one can move
// here.
func relax(i int) {
	switch {
	case i < pauseSpins:
		pause(4)
	case i < relaxSpins:
		pause(4)
		runtime.Gosched()
	default:
		time.Sleep(relaxSleep)
	}
}

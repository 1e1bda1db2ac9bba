package workers

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A counter is a task that counts the calls of Work by worker. If wait is set, the
// first calls wait until that many have begun.
type counter struct {
	calls [8]atomic.Int32
	begun atomic.Int32
	wait  int32
	inner func(worker int)
}

func (c *counter) Work(worker int) {
	c.calls[worker].Add(1)
	c.begun.Add(1)
	for i := 0; c.begun.Load() < c.wait; i++ {
		Relax(i)
	}
	if c.inner != nil {
		c.inner(worker)
	}
}

// check verifies that the caller took part once and each of n−1 workers at most once,
// and returns how many threads took part.
func (c *counter) check(t *testing.T, n int) (took int) {
	t.Helper()
	for w := range c.calls {
		calls := c.calls[w].Load()
		if calls > 1 || w == 0 && calls != 1 || w >= n && calls != 0 {
			t.Errorf("%d threads: worker %d worked %d times", n, w, calls)
		}
		took += int(calls)
	}
	return took
}

func processors(t *testing.T, n int) {
	before := runtime.GOMAXPROCS(n)
	t.Cleanup(func() { runtime.GOMAXPROCS(before) })
}

// acquired returns a team that the test has acquired and that ends with the test.
func acquired(t *testing.T, threads int) *Team {
	t.Helper()
	tm := New(threads)
	if !tm.TryAcquire() {
		t.Fatal("a new team is busy")
	}
	t.Cleanup(func() {
		tm.Release()
		tm.Close()
	})
	return tm
}

// TestEveryWorker lets runs wait for all of their workers, after pauses short and long
// enough for the workers to park.
func TestEveryWorker(t *testing.T) {
	for _, procs := range []int{1, 4} {
		processors(t, procs)
		tm := acquired(t, 8)
		for i := range 200 {
			n := 1 + i%8
			c := &counter{wait: int32(n)}
			tm.Run(n, c)
			if took := c.check(t, n); took != n {
				t.Fatalf("%d of %d threads took part", took, n)
			}
			if i%20 == 0 {
				time.Sleep(time.Millisecond)
			}
		}
	}
}

// TestLateWorkers runs tasks that are over before most workers can join.
func TestLateWorkers(t *testing.T) {
	for _, procs := range []int{1, 2, 8} {
		processors(t, procs)
		tm := acquired(t, 8)
		for i := range 3000 {
			n := 1 + i%8
			c := &counter{}
			tm.Run(n, c)
			c.check(t, n)
			if tm.task != nil {
				t.Fatal("the team keeps the task")
			}
			took := c.begun.Load()
			if i%100 == 0 {
				time.Sleep(100 * time.Microsecond)
				if late := c.begun.Load(); late != took {
					t.Fatalf("%d threads joined after the end", late-took)
				}
			}
		}
	}
}

// TestBusy checks that neither a nested call nor one of another goroutine gets the team.
func TestBusy(t *testing.T) {
	processors(t, 4)
	tm := acquired(t, 4)
	var got atomic.Int32
	c := &counter{wait: 4, inner: func(int) {
		if tm.TryAcquire() {
			got.Add(1)
		}
	}}
	tm.Run(4, c)
	if got.Load() != 0 {
		t.Errorf("%d nested calls got the team", got.Load())
	}
	tm.Release()
	if !tm.TryAcquire() {
		t.Error("the team is busy after Release")
	}
}

// TestConcurrent lets goroutines compete for a team.
func TestConcurrent(t *testing.T) {
	processors(t, 4)
	tm := New(3)
	defer tm.Close()
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			for range 500 {
				c := &counter{}
				if tm.TryAcquire() {
					tm.Run(3, c)
					tm.Release()
				} else {
					c.Work(0)
				}
				c.check(t, 3)
			}
		})
	}
	wg.Wait()
}

// TestPanic lets each thread in turn panic, and then all.
func TestPanic(t *testing.T) {
	processors(t, 3)
	tm := acquired(t, 3)
	for culprit := range 4 {
		for range 20 {
			c := &counter{wait: 3}
			c.inner = func(worker int) {
				if worker == culprit || culprit == 3 {
					panic(c)
				}
			}
			if got := recovered(func() { tm.Run(3, c) }); got != c {
				t.Fatalf("worker %d panicked, the caller got %v", culprit, got)
			}
			c.check(t, 3)
			if tm.task != nil {
				t.Fatal("the team keeps the task")
			}
		}
	}
	after := &counter{wait: 3}
	tm.Run(3, after)
	after.check(t, 3)
}

func recovered(f func()) (p any) {
	defer func() { p = recover() }()
	f()
	return nil
}

// TestGoexit ends a worker's goroutine within a task.
func TestGoexit(t *testing.T) {
	processors(t, 3)
	tm := acquired(t, 3)
	c := &counter{wait: 3, inner: func(worker int) {
		if worker == 2 {
			runtime.Goexit()
		}
	}}
	tm.Run(3, c)
	c.check(t, 3)
	after := &counter{wait: 2}
	tm.Run(3, after)
	after.check(t, 2)
}

func TestResize(t *testing.T) {
	processors(t, 4)
	tm := acquired(t, 2)
	for _, n := range []int{2, 4, 3, 1, 4} {
		tm.Resize(n)
		if tm.Size() != n {
			t.Errorf("size %d after Resize(%d)", tm.Size(), n)
		}
		c := &counter{wait: int32(n)}
		tm.Run(tm.Size(), c)
		if took := c.check(t, n); took != n {
			t.Errorf("%d of %d threads took part", took, n)
		}
	}
	tm.Resize(-1)
	if tm.Size() != 1 || New(0).Size() != 1 {
		t.Error("a size below 1 is not 1")
	}
}

// TestClose checks that Close ends the workers, whether they spin or are parked.
func TestClose(t *testing.T) {
	processors(t, 4)
	before := runtime.NumGoroutine()
	for _, idle := range []time.Duration{0, 20 * time.Microsecond, 5 * time.Millisecond} {
		for range 20 {
			tm := New(4)
			if !tm.TryAcquire() {
				t.Fatal("a new team is busy")
			}
			tm.Run(4, &counter{})
			tm.Release()
			time.Sleep(idle)
			tm.Close()
			tm.Close()
			if tm.TryAcquire() {
				t.Fatal("a closed team can be acquired")
			}
		}
	}
	for deadline := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), before)
		}
	}
}

// TestAllocations checks that a run allocates nothing once the workers have started.
func TestAllocations(t *testing.T) {
	processors(t, 3)
	tm := acquired(t, 3)
	c := &counter{}
	run := func() {
		c.begun.Store(0)
		tm.Run(3, c)
	}
	if allocs := testing.AllocsPerRun(100, run); allocs != 0 {
		t.Errorf("one processor: %v allocations", allocs)
	}
	// AllocsPerRun sets GOMAXPROCS to 1, so count explicitly with several processors.
	c.wait = 3
	run()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 200 {
		run()
	}
	runtime.ReadMemStats(&after)
	if allocs := after.Mallocs - before.Mallocs; allocs > 50 {
		t.Errorf("%d allocations in 200 runs", allocs)
	}
}

func TestFor(t *testing.T) {
	for _, threads := range []int{1, 2, 7} {
		team := New(threads)
		t.Cleanup(team.Close)
		var count atomic.Int64
		if err := team.For(context.Background(), threads, 100, func(worker, task int) {
			if worker >= threads {
				t.Errorf("worker %d of %d", worker, threads)
			}
			count.Add(int64(task))
		}); err != nil || count.Load() != 4950 {
			t.Errorf("%d threads: sum of tasks %d, error %v", threads, count.Load(), err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		if err := team.For(ctx, threads, 100, func(_, task int) { cancel() }); !errors.Is(err, context.Canceled) {
			t.Errorf("%d threads: error %v after cancel", threads, err)
		}
		boom := func(_, task int) {
			if task == 3 {
				panic("boom")
			}
		}
		if p := recovered(func() { _ = team.For(context.Background(), threads, 10, boom) }); p != "boom" {
			t.Errorf("%d threads: the panic was lost: %v", threads, p)
		}
	}
}

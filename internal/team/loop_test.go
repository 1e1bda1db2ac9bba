package team

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
)

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

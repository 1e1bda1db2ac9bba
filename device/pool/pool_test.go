package pool

import (
	"errors"
	"testing"

	"gpfit/cpu"
	"gpfit/device"
	"gpfit/device/queue"
	"gpfit/internal/testcheck"
)

// TestLanes checks how many jobs share an accelerator.
func TestLanes(t *testing.T) {
	a := &Accelerator{}
	for _, c := range []struct {
		jobs, rows, next, allowed int
		takes                     bool
	}{{0, 0, 50000, 0, true}, {1, 50000, 100, 0, false}, {3, 9000, 3000, 0, true}, {3, 9000, 3001, 0, false}, {16, 800, 50, 0, false}, {1, 50000, 50000, 2, true}, {2, 10, 10, 2, false}} {
		if a.jobs, a.rows = c.jobs, c.rows; a.takes(c.next, c.allowed) != c.takes {
			t.Errorf("%+v", c)
		}
	}
}

// TestCores checks that jobs never take more cores than the machine has, and that a
// job with more threads than cores runs alone.
func TestCores(t *testing.T) {
	p := testcheck.Get(New(t.Context(), Options{Drivers: []device.Driver{cpu.Driver{}}, Cores: 4, Memory: 1 << 40}))(t)
	job := func(threads int) *Demand {
		return &Demand{Rows: 10, Columns: 1, Device: "cpu", Threads: threads, Workload: device.Workload{N: 10, D: 1}}
	}
	var taken []Place
	for _, c := range []struct {
		threads int
		fits    bool
	}{{3, true}, {2, false}, {1, true}, {1, false}} {
		at, err := p.Find(job(c.threads), queue.Cores)
		if (err == nil) != c.fits || err != nil && !errors.Is(err, ErrLater) {
			t.Errorf("%d threads: %v", c.threads, err)
		}
		if err == nil {
			p.Reserve(at)
			taken = append(taken, at)
		}
	}
	if !p.Full(queue.Cores) {
		t.Error("not full")
	}
	if _, err := p.Find(job(9), queue.Cores); !errors.Is(err, ErrLater) {
		t.Errorf("%v", err)
	}
	for _, at := range taken {
		p.Free(at)
	}
	if at, err := p.Find(job(9), queue.Cores); err != nil || at.On.Threads != 9 || at.Cores != 4 {
		t.Errorf("%+v, %v", at, err)
	}
	if p.coresUsed != 0 || p.memoryUsed != 0 || p.Running != 0 {
		t.Errorf("%+v", p)
	}
}

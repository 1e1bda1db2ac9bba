package mpi

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"gpfit/device"
	"gpfit/internal/workers"
	"gpfit/method/mpi/engine"
	"gpfit/method/mpi/message"
	"gpfit/method/mpi/part"
)

// ranks is the group with what this rank has of all workspaces.
type ranks struct {
	*group
	shares map[int]*share
	// mutex makes the calls of rank 0 follow one another. next is the number of its next workspace.
	mutex sync.Mutex
	next  int
	ended bool
}

// opened is the ranks as this process sees them, once something has opened it.
var opened atomic.Pointer[ranks]

// openRanks initializes MPI, once.
var openRanks = sync.OnceValues(func() (*ranks, error) {
	world, err := message.Open()
	if err != nil {
		return nil, err
	}
	g := &ranks{group: &group{world: world, team: workers.New(threadsOf(world))}, shares: map[int]*share{}}
	opened.Store(g)
	return g, nil
})

// openEngine opens on all ranks what they compute with.
func openEngine() (*ranks, error) {
	g, err := openRanks()
	if err != nil || g.grid != nil {
		return g, err
	}
	c := &call{Op: opOpen, Engine: os.Getenv(engine.Variable)}
	if g.world.Size > 1 {
		c.Facts = facts()
	}
	if c.Shape, err = part.ShapeFor(g.world.Size); err != nil {
		return nil, err
	}
	return g, g.do(c).err
}

// do performs a call on all ranks. Rank 0 calls it. The result has the error of a rank without others.
func (g *ranks) do(c *call) (r result) {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	if g.ended {
		return result{stopped: true}
	}
	defer func() {
		switch failed := recover().(type) {
		case nil:
		case runtime.Error:
			panic(failed)
		case error:
			r = result{err: failed}
		default:
			panic(failed)
		}
	}()
	g.world.Do(func() {
		g.send(c)
		r = g.perform(c)
	})
	return r
}

// largeBytes is the size from which a matrix goes back to the system at once.
const largeBytes = 64 << 20

// perform performs a call on this rank.
func (g *ranks) perform(c *call) result {
	switch c.Op {
	case opOpen:
		return result{err: g.open(c)}
	case opMeasure:
		return g.measure(c)
	case opAllocate:
		g.shares[c.Share] = newShare(g.group, c)
		return result{}
	case opFree:
		s := g.shares[c.Share]
		delete(g.shares, c.Share)
		if 8*s.x.N*s.x.N/g.world.Size >= largeBytes { // the next workspace may need the memory
			debug.FreeOSMemory()
		}
		return result{}
	}
	s := g.shares[c.Share]
	switch c.Op {
	case opForm:
		return s.form(c)
	case opSolve:
		return s.solve(c)
	case opMultiply:
		return s.multiply(c)
	case opContract:
		return s.contract(c)
	case opPredict:
		return s.predict(c)
	}
	panic(fmt.Sprintf("unknown operation %q", c.Op))
}

// checkMemory returns a [*device.MemoryError] if the node of a rank has too little memory for a plan.
func (g *ranks) checkMemory(p device.Plan) error {
	all := g.do(&call{Op: opMeasure, N: p.N, D: p.D}).vectors[0]
	for r := range len(all) / 2 {
		if need, free := int64(all[2*r]), int64(all[2*r+1]); free > 0 && need > free {
			err := &device.MemoryError{Plan: p, Where: "host", Need: need, Free: free, What: fmt.Sprintf("the node of rank %d", r)}
			return fmt.Errorf("%w; or start more ranks, so that each has less", err)
		}
	}
	return nil
}

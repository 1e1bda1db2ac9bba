package mpi

import (
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"gpfit/device"
	"gpfit/internal/mpi/engine"
	"gpfit/internal/mpi/message"
	"gpfit/internal/team"
)

// ranks is the group with what this rank has of all workspaces.
type ranks struct {
	*group
	shares map[int]*share
	// mutex makes the calls of rank 0 follow one another. next is the number of its next workspace.
	mutex sync.Mutex
	next  int
	ended bool
	// slow means that the reference BLAS computes the products.
	slow atomic.Bool
}

// opened is the ranks as this process sees them, once something has opened it.
var opened atomic.Pointer[ranks]

// openRanks opens the libraries, once: MPI cannot be initialized again.
var openRanks = sync.OnceValues(func() (g *ranks, err error) {
	world, err := message.Open()
	if err != nil {
		return nil, err
	}
	g = &ranks{group: &group{world: world, team: team.New(threadsOf(world))}, shares: map[int]*share{}}
	opened.Store(g)
	shape, err := engine.ShapeFor(world.Size)
	if err != nil {
		return nil, err
	}
	world.Do(func() {
		if g.grid, err = engine.Open(world, shape); err == nil {
			g.grid.SetThreads(g.team.Size())
			g.slow.Store(g.grid.Slow())
		}
	})
	return g, err
})

// do performs a call on all ranks. Rank 0 calls it.
func (g *ranks) do(c *call) (r result) {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	if g.ended {
		return result{stopped: true}
	}
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
	case opMeasure:
		return g.measure(c)
	case opAllocate:
		g.shares[c.Share] = newShare(g.group, c)
		return result{}
	case opFree:
		large := 8*len(g.shares[c.Share].matrix.Local) >= largeBytes
		delete(g.shares, c.Share)
		if large { // the next workspace may need the memory
			debug.FreeOSMemory()
		}
		return result{}
	}
	s := g.shares[c.Share]
	switch c.Op {
	case opForm:
		return s.form(c)
	case opSolve, opWhiten, opWhitenTransposed:
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

// checkMemory returns a [*device.MemoryError] if a node of a rank has too little memory for a plan.
func (g *ranks) checkMemory(p device.Plan) error {
	all := g.do(&call{Op: opMeasure, N: p.N, D: p.D}).vectors[0]
	for r := range len(all) / 2 {
		if need, free := int64(all[2*r]), int64(all[2*r+1]); free > 0 && need > free {
			return &device.MemoryError{Plan: p, Where: "host", Need: need, Free: free, What: fmt.Sprintf("the node of rank %d", r)}
		}
	}
	return nil
}

package mpi

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"gpfit/device"
	"gpfit/device/part"
	"gpfit/internal/workers"
	"gpfit/method/mpi/engine"
	"gpfit/method/mpi/message"
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

// openFor opens on all ranks what they compute with: cards, if rank 0 has the given one, or processors if it is nil.
func openFor(d part.Device) (*ranks, error) {
	g, err := openRanks()
	if err != nil {
		return nil, err
	}
	c, block := &call{Op: opOpen, device: d, Engine: os.Getenv(engine.Variable)}, part.HostBlock
	if d != nil {
		c.Card, block = d.Info().Name, part.CardBlock
	}
	if c.Shape, err = part.ShapeFor(g.world.Size, block); err != nil {
		return nil, err
	}
	switch {
	case d == nil && g.grid != nil, d != nil && g.card != nil && g.device == d:
		return g, nil
	case d != nil && g.card != nil: // of a device that the program has opened before
		g.do(&call{Op: opLeave})
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
	case opLeave:
		g.leave()
		return result{}
	case opMeasure:
		return g.measure(c)
	case opAllocate:
		g.shares[c.Share] = newShare(g.group, c)
		return result{}
	case opFree:
		s := g.shares[c.Share]
		s.check(s.part.Close())
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

// checkMemory returns a [*device.MemoryError] if the card of a rank, or its node, has too little memory for a plan.
func (g *ranks) checkMemory(p device.Plan, card string) error {
	where, of := "host", "node"
	if card != "" {
		where, of = "device", "card"
	}
	all := g.do(&call{Op: opMeasure, Card: card, N: p.N, D: p.D}).vectors[0]
	for r := range len(all) / 2 {
		if need, free := int64(all[2*r]), int64(all[2*r+1]); free > 0 && need > free {
			err := &device.MemoryError{Plan: p, Where: where, Need: need, Free: free, What: fmt.Sprintf("the %s of rank %d", of, r)}
			return fmt.Errorf("%w; or start more ranks, so that each has less", err)
		}
	}
	return nil
}

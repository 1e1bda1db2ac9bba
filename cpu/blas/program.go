package blas

import (
	"sync/atomic"

	"gpfit/internal/team"
)

// A job is one running call: a program, its packing buffers and the counters from
// which threads take the items of the program.
type job struct {
	threads int  // largest number that may take part
	pooled  bool // uses the team
	e       *engine

	products []product
	solves   []solve
	phases   []phase
	tickets  int64 // items in all phases

	a, b    [2]buffer // packed left and right operands
	t       buffer    // packed triangle
	scratch []buffer  // of each thread; see solvePanels

	_    [64]byte
	next atomic.Int64 // items taken
	_    [64]byte
	// minor is the order of the leading minor that is not positive (see
	// addCholesky), or 0. If it is set, the rest of the program is skipped.
	minor atomic.Int64
	// broken is set after a panic in an item: that item will never finish. The rest
	// of the program is skipped.
	broken atomic.Bool
}

// A phase is a set of independent items. It starts when the phases in follows have
// finished, by default the previous one.
type phase struct {
	kind    phaseKind
	op      int    // index of the product or solve
	follows [2]int // phases, by index
	first   int64  // items in earlier phases of the program
	items   int
	done    int32 // items finished; atomic

	// The part of the product: rows [i0, i1) and columns [j0, j1) of C,
	// columns [p0, p1) of A. The packed operands begin at row ia and column
	// jb of C.
	i0, i1, j0, j1, p0, p1 int
	ia, jb                 int
	buf                    int // which of the packing buffers
	// pack: panels of A and of B in an item, and the number of items for A (the
	// rest are for B). multiply: rows and columns of C in an item, and the number
	// of row chunks. solve: see there.
	x, y, z int
	beta    float64
}

type phaseKind uint8

const (
	packPhase phaseKind = iota
	multiplyPhase
	trianglePhase
	solvePhase
	factorPhase
)

// add appends a phase that follows the previous one.
func (j *job) add(ph phase) {
	last := len(j.phases) - 1
	j.addAfter(ph, last, last)
}

// addAfter appends a phase that follows two others; a negative index means none. It
// returns the index of the phase, or −1 if the phase has no items and is omitted.
func (j *job) addAfter(ph phase, p, q int) int {
	if ph.items == 0 {
		return -1
	}
	ph.follows = [2]int{p, q}
	ph.first = j.tickets
	j.tickets += int64(ph.items)
	j.phases = append(j.phases, ph)
	return len(j.phases) - 1
}

// Work executes items until none are left. Threads take items in the order of the
// program, and phases follow only earlier ones, so a thread that waits for a phase
// waits for items that some thread is executing.
func (j *job) Work(worker int) {
	whole := false
	defer func() {
		if !whole {
			j.broken.Store(true)
		}
	}()
	current := 0
	for {
		ticket := j.next.Add(1) - 1
		if ticket >= j.tickets {
			whole = true
			return
		}
		for ticket >= j.phases[current].first+int64(j.phases[current].items) {
			current++
		}
		ph := &j.phases[current]
		j.await(ph.follows[0])
		j.await(ph.follows[1])
		item := int(ticket - ph.first)
		switch {
		case j.minor.Load() != 0, j.broken.Load():
			// Nothing is left to do.
		case ph.kind == packPhase:
			j.pack(ph, item)
		case ph.kind == multiplyPhase:
			j.multiply(ph, item)
		case ph.kind == trianglePhase:
			j.packTriangle(ph, item)
		case ph.kind == solvePhase:
			j.solvePanels(worker, ph, item)
		case ph.kind == factorPhase:
			j.factor(ph)
		}
		atomic.AddInt32(&ph.done, 1)
	}
}

// await waits until a phase has finished, or the job is broken.
func (j *job) await(p int) {
	if p < 0 {
		return
	}
	ph := &j.phases[p]
	for i := 0; atomic.LoadInt32(&ph.done) < int32(ph.items) && !j.broken.Load(); i++ {
		team.Relax(i)
	}
}

// reset drops the caller's matrices and keeps the buffers.
func (j *job) reset() {
	clear(j.products)
	clear(j.solves)
	j.products = j.products[:0]
	j.solves = j.solves[:0]
	j.phases = j.phases[:0]
	j.tickets = 0
	j.e = nil // the pool must not keep the engine alive
}

// A buffer is reusable memory aligned to 64 bytes, the length of a cache line and
// of the widest vector.
type buffer struct{ mem []float64 }

// get makes the buffer at least n elements long. Its contents are arbitrary.
func (b *buffer) get(n int) {
	if len(b.mem) < n {
		b.mem = aligned(n + n/8)
	}
}

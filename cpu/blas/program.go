package blas

import "sync/atomic"

// A job is one call at work: a program, its packing buffers and the counters
// by which threads draw the items of the program.
type job struct {
	threads int  // that may take part
	pooled  bool // has the workers
	e       *engine

	products []product
	solves   []solve
	phases   []phase
	tickets  int64 // items in all phases

	a, b, t buffer // packed left and right operands, packed triangle
	self    worker // of the calling goroutine

	_    [64]byte
	next atomic.Int64 // items drawn
	_    [64]byte
	done atomic.Int64 // items finished
	_    [64]byte
}

// A phase is a number of independent items. It starts when all phases before
// it have finished.
type phase struct {
	kind  phaseKind
	op    int   // index of the product or solve
	first int64 // items of the phases before
	items int

	// The part of the product: rows [i0, i1) and columns [j0, j1) of C,
	// columns [p0, p1) of A.
	i0, i1, j0, j1, p0, p1 int
	// pack: panels of A and B in an item, and the items that are A's (the
	// rest are B's). multiply: rows and columns of C in an item, and the
	// number of row chunks. solve: see there.
	x, y, z int
	beta    float64
}

type phaseKind uint8

const (
	packPhase phaseKind = iota
	multiplyPhase
	trianglePhase
	solvePhase
)

// add appends a phase.
func (j *job) add(ph phase) {
	if ph.items == 0 {
		return
	}
	ph.first = j.tickets
	j.tickets += int64(ph.items)
	j.phases = append(j.phases, ph)
}

// work draws items until there are none left. Items are drawn in the order of
// the program, so that whoever waits for a phase waits for items that some
// thread has in hand.
func (j *job) work(w *worker) {
	current := 0
	for {
		ticket := j.next.Add(1) - 1
		if ticket >= j.tickets {
			return
		}
		for ticket >= j.phases[current].first+int64(j.phases[current].items) {
			current++
		}
		ph := &j.phases[current]
		j.await(ph.first)
		item := int(ticket - ph.first)
		switch ph.kind {
		case packPhase:
			j.pack(ph, item)
		case multiplyPhase:
			j.multiply(ph, item)
		case trianglePhase:
			j.packTriangle(ph, item)
		case solvePhase:
			j.solvePanels(w, ph, item)
		}
		j.done.Add(1)
	}
}

// await waits until n items are finished.
func (j *job) await(n int64) {
	for i := 0; j.done.Load() < n; i++ {
		relax(i)
	}
}

// reset forgets the caller's matrices and keeps the buffers.
func (j *job) reset() {
	clear(j.products)
	clear(j.solves)
	j.products = j.products[:0]
	j.solves = j.solves[:0]
	j.phases = j.phases[:0]
	j.tickets = 0
	j.e = nil // the pool must not keep the engine alive
}

// A buffer is reusable memory that begins at a multiple of 64 bytes, the
// length of a cache line and of the widest vector.
type buffer struct{ mem []float64 }

// get makes the buffer at least n elements long. Its content is arbitrary.
func (b *buffer) get(n int) {
	if len(b.mem) < n {
		b.mem = aligned(n + n/8)
	}
}

package tiles

import (
	"errors"
	"sync/atomic"

	"gpfit/device/tiling"
	"gpfit/internal/workers"
)

// Versions of a tile. Tasks wait for the version that they need.
const (
	versionNone    int32 = iota
	versionFactor        // L_ij
	versionInverse       // U_ji
)

// errStopped is the error of a worker whose pass another one has stopped, errMinor of one that found a leading minor that is not
// positive.
var (
	errStopped = errors.New("tiles: stopped")
	errMinor   = errors.New("tiles: not positive definite")
)

// host is the bank of a tile that is at home in the host's memory, beside banks of accelerators.
const host = -1

// home is where a tile is stored: a slot of a bank, or a place in the host's memory.
type home struct{ bank, slot int }

// matrix is Σ in tiles.
type matrix struct {
	layout
	banks []tiling.Bank
	// numbers is the size of a tile, and store the memory of the tiles at home on the host.
	numbers int
	store   []float64
	homes   []home
	// versions are the versions of the tiles, and steps how many products of the current version's row or column a task
	// has finished.
	versions, steps []atomic.Int32
	stopped         atomic.Bool
	// strips is the number of workers that have a row of tiles for predictions.
	strips int
	// minor is the order of the leading minor that is not positive, after errMinor.
	minor int
}

func newCounters(n int) []atomic.Int32 { return make([]atomic.Int32, n) }

func reset(counters []atomic.Int32) {
	for i := range counters {
		counters[i].Store(0)
	}
}

// bankOf returns the bank whose worker computes the tiles of a row.
func (m *matrix) bankOf(i int) int { return m.owner(i, len(m.banks)) }

// hosted returns the memory of a tile that is at home on the host.
func (m *matrix) hosted(h home) []float64 { return m.store[h.slot*m.numbers:][:m.numbers] }

// await waits until a counter has reached a number. It returns false if the pass has stopped.
func (m *matrix) await(counter *atomic.Int32, least int32) bool {
	for spin := 0; counter.Load() < least; spin++ {
		if m.stopped.Load() {
			return false
		}
		workers.Relax(spin)
	}
	return !m.stopped.Load()
}

// worker executes tasks on a lane of a bank.
type worker struct {
	*matrix
	tiling.Bank
	number     int
	bank, lane int
	// spare is the slot of the next result.
	spare int
	// cache is nil if all tiles are at home in the bank.
	cache *cache
	// recorded, if not nil, takes the accesses of a trial in which nothing is computed.
	recorded *[]use
	// flops counts the operations since the last report; all counts them since the start.
	flops  atomic.Int64
	copies copies
	err    error
}

// copies counts what a worker has copied between homes.
type copies struct{ Loads, Peers, Stores int64 }

// lookAhead is the number of accesses after the current one for which tiles are fetched in advance.
const lookAhead = 3

// operand returns the slot of the worker's bank that has a version of a tile. It waits until the tile has it, and
// fails if the pass has stopped.
func (w *worker) operand(tile int, version int32) int {
	if w.recorded != nil {
		if w.cache != nil && w.homes[tile].bank != w.bank {
			*w.recorded = append(*w.recorded, use{tile: int32(tile), version: version})
		}
		return 0
	}
	if w.err != nil || !w.await(&w.versions[tile], version) {
		w.fail(errStopped)
		return 0
	}
	if h := w.homes[tile]; h.bank == w.bank {
		return h.slot
	}
	number, held := w.cache.take()
	if !held {
		w.fetch(tile, number)
	}
	return number
}

// fetch copies a tile from its home.
func (w *worker) fetch(tile, number int) {
	if h := w.homes[tile]; h.bank == host {
		w.copies.Loads++
		w.fail(w.Load(w.lane, number, w.hosted(h)))
	} else {
		w.copies.Peers++
		w.fail(w.Copy(w.lane, number, w.banks[h.bank], h.slot))
	}
}

// prefetch fetches tiles for the next accesses, as far as they are ready.
func (w *worker) prefetch() {
	if w.cache == nil || w.recorded != nil || w.err != nil {
		return
	}
	for p := w.cache.at; p < min(w.cache.at+lookAhead, int32(len(w.cache.uses))); p++ {
		u := w.cache.uses[p]
		if u.made || w.versions[u.tile].Load() < u.version {
			return
		}
		if number, ok := w.cache.ahead(p); ok {
			w.fetch(int(u.tile), number)
		}
	}
}

// multiply computes a product.
func (w *worker) multiply(p tiling.Product) {
	if w.recorded != nil || w.err != nil {
		return
	}
	w.fail(w.Multiply(w.lane, p))
	w.count(tiling.Flops(p, w.order))
	w.prefetch()
}

// do makes another call of the bank, which takes flops operations.
func (w *worker) do(flops float64, call func() error) {
	if w.recorded == nil && w.err == nil {
		w.fail(call())
		w.count(flops)
	}
}

func (w *worker) count(flops float64) { w.flops.Add(int64(flops)) }

// publish stores the result in the spare slot at a tile's home, as a version that others can use.
func (w *worker) publish(tile int, version int32) {
	h := w.homes[tile]
	switch {
	case w.recorded != nil:
		if w.cache != nil && h.bank != w.bank {
			*w.recorded = append(*w.recorded, use{tile: int32(tile), made: true, version: version})
		}
		return
	case w.err != nil:
		return
	case h.bank == host:
		w.copies.Stores++
		w.fail(w.Store(w.lane, w.spare, w.hosted(h)))
	}
	if w.fail(w.Wait(w.lane)); w.err != nil {
		return
	}
	if h.bank == w.bank {
		w.homes[tile].slot, w.spare = w.spare, h.slot
	} else {
		w.spare = w.cache.keep(w.spare)
	}
	w.versions[tile].Store(version)
}

// fail records the first error, and stops the pass.
func (w *worker) fail(err error) {
	if err != nil && w.err == nil {
		w.err = err
		w.stopped.Store(true)
	}
}

package emulator

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"testing"
	"time"
)

// A Clock estimates how long a card takes for calls that a dry device has recorded. It is a model, not a measurement:
// the block of a kernel takes what csrc/ptx_clock.cpp says, a product by cuBLAS pays whole waves of tiles at the rate
// of dgemm, and the other routines take what was measured on an H100. The host makes one call after the other, and work
// starts as streams, their priorities, events and the connections to the card allow.
type Clock struct {
	// Multiprocessors run at Hertz. Rate is the rate of dgemm, in operations per second.
	Multiprocessors int64
	Hertz, Rate     float64
	// Connections is the number of queues to which the driver assigns the streams (CUDA_DEVICE_MAX_CONNECTIONS).
	Connections int
}

// H100 is a card of 132 multiprocessors at the rate that it keeps up for products of matrices of order n.
func H100(n int) Clock {
	rate := 60.8e12
	if n >= 20_000 {
		rate = 57.1e12 // at the limit of its power
	}
	return Clock{132, 1.755e9, rate, Connections()}
}

// Work lists the calls that a dry device has recorded.
type Work []noted

// The kinds of calls; see emu.h.
const (
	libraryCall = iota
	launch
	copied
	set
	recorded
	waited
	synchronized
)

// Dry makes the devices dry until the end of the test: they record calls and compute nothing, except for a block of each
// kernel, so that a [Clock] can tell how long a card would take for matrices of any order. Memory contains zeros.
func Dry(t testing.TB) {
	t.Helper()
	Need(t)
	control("gpfit_emu_dry", 1)
	t.Cleanup(func() { control("gpfit_emu_dry", 0) })
}

// Trace returns what f makes a dry device do.
func Trace(t testing.TB, f func()) Work {
	t.Helper()
	return record(t, f)
}

// Counts returns how often work is started and waited for, and the bytes that pass between the host and the card.
func (w Work) Counts() (starts, waits, bytes int64) {
	for _, c := range w {
		switch c.kind {
		case libraryCall, launch, set:
			starts++
		case synchronized:
			waits++
		case copied:
			bytes += c.size[0] * c.size[1]
		}
	}
	return starts, waits, bytes
}

// Cycles returns the cycles of a block in the first launch of a kernel, 0 if there is none.
func (w Work) Cycles(kernel string) int64 {
	i := slices.IndexFunc(w, func(c noted) bool { return c.kind == launch && c.name() == kernel })
	if i < 0 {
		return 0
	}
	return w[i].ld[0]
}

// These are the times in seconds of calls of the host, and of what passes between two operations of a device.
const (
	hostLaunch, hostLibrary, hostEvent, hostCopy, hostWait = 2e-6, 3e-6, 0.7e-6, 2.5e-6, 5e-6
	gap                                                    = 2e-6 // from the end of a kernel to the next in its stream
	copyLatency, copyRate, setRate, storeRate              = 8e-6, 2.5e10, 2.5e12, 2.8e12
)

// share is the resource of a multiprocessor: its blocks take equal parts of it.
const share = 24

// residents are the numbers of blocks of kernels on a multiprocessor, by their registers and shared memory for sm_90; others have two.
var residents = map[string]int64{"gpfit_batch_below": 3, "gpfit_batch_above": 3, "gpfit_batch_forward": 3, "gpfit_batch_backward": 4}

// operation is work of a stream.
type operation struct {
	*noted
	order         int
	issued, ready float64 // when the host has made the call; when the stream is there
	tiles, part   int64   // tiles to start, and the share that each takes
	left          int64   // tiles that have not ended
	each          float64 // the time of a tile
	after         *operation
	started       bool
	ended         float64 // NaN before
}

// group is tiles that began together.
type group struct {
	end   float64
	of    *operation
	tiles int64
}

// card is a device at work.
type card struct {
	Clock
	now, host float64
	free      int64
	streams   []int64
	queues    map[int64][]*operation // of streams
	last      map[int64]*operation   // of streams, and records of events
	running   []group
	waiting   []*operation // have begun, with tiles to start
	busy      float64      // multiprocessor-seconds
}

// Time returns the time from the first call until the host has made the last, and the share of it in which the
// multiprocessors have tiles.
func (c Clock) Time(w Work) (took time.Duration, busy float64) {
	d := &card{Clock: c, free: c.Multiprocessors * share, queues: map[int64][]*operation{}, last: map[int64]*operation{}}
	for i := 0; i < len(w); i++ {
		if w[i].kind == synchronized {
			d.wait(d.last[cmp.Or(w[i].event, w[i].stream)])
			continue
		}
		count := 1
		for w[i].name() == "gemmbatched" && i+count < len(w) && w[i+count].name() == "gemmbatched" && w[i+count].size == w[i].size {
			count++
		}
		d.issue(&w[i], i, int64(count))
		i += count - 1
	}
	for _, s := range d.streams {
		d.wait(d.last[s])
	}
	return time.Duration(d.host * 1e9), d.busy / d.host / float64(c.Multiprocessors)
}

// issue makes a call, or the call of a product of count pairs of matrices.
func (d *card) issue(n *noted, order int, count int64) {
	o := &operation{noted: n, order: order, ended: math.NaN(), part: share}
	d.host += map[int64]float64{libraryCall: hostLibrary, launch: hostLaunch, copied: hostCopy, set: hostLaunch, recorded: hostEvent, waited: hostEvent}[n.kind]
	o.issued = d.host
	d.price(o, count)
	o.left = o.tiles
	if n.kind == waited {
		o.after = d.last[n.event]
	}
	if !slices.Contains(d.streams, n.stream) {
		d.streams = append(d.streams, n.stream)
	}
	d.queues[n.stream] = append(d.queues[n.stream], o)
	d.last[n.stream] = o
	if n.kind == recorded {
		d.last[n.event] = o
	}
}

func ceil(a, b int64) int64 { return (a + b - 1) / b }

// price sets the tiles of an operation and their time.
func (d *card) price(o *operation, count int64) {
	m, n, k := o.size[0], o.size[1], o.size[2]
	whole := func(seconds float64) { o.tiles, o.each = d.Multiprocessors, seconds }
	switch o.kind {
	case launch:
		most := cmp.Or(residents[o.name()], 2)
		o.tiles, o.part = m, share/most
		per := min(most, ceil(m, d.Multiprocessors))
		cycles, issue, stored := float64(o.ld[0]), float64(o.ld[1]), float64(o.ld[2])
		o.each = max(cycles/d.Hertz, float64(per)*issue/4/d.Hertz, float64(per*d.Multiprocessors)*stored/storeRate)
	case copied:
		o.tiles, o.part, o.each = 1, 0, copyLatency+float64(m)/copyRate
	case set:
		whole(float64(m) / setRate)
	case libraryCall:
		switch o.name() {
		case "potrf":
			whole(factorization(float64(n)))
		case "trsm":
			whole(1e-5 + 9.1e-8*float64(k)*float64(ceil(min(m, n), 32)))
		default:
			o.tiles, o.each = d.product(m, n, k, count)
		}
	}
}

// product returns the tiles of a product, and their time: of 128×128 elements, or of half as many if that still leaves
// multiprocessors idle.
func (d *card) product(m, n, k, count int64) (tiles int64, each float64) {
	const tile, least = 128, 32
	side := func(n int64) int64 { return min(tile, ceil(n, least)*least) }
	rows, cols := side(m), side(n)
	for count*ceil(m, rows)*ceil(n, cols)*2 <= d.Multiprocessors && cols > least {
		cols /= 2
	}
	return count * ceil(m, rows) * ceil(n, cols), 2 * float64(rows*cols*max(k, least)) * float64(d.Multiprocessors) / d.Rate
}

// factorization returns the seconds that cuSOLVER took on an H100 for a matrix of order n.
func factorization(n float64) float64 {
	measured := [][2]float64{{1, 1e-5}, {2000, 9.9e-4}, {5000, 3.19e-3}, {10_000, 1.15e-2}, {20_000, 6.65e-2}, {35_000, 0.327}}
	if n <= measured[1][0] {
		return max(1e-5, n*measured[1][1]/measured[1][0]) // a chain of columns
	}
	i := 1
	for i < len(measured)-2 && n > measured[i+1][0] {
		i++
	}
	a, b := measured[i], measured[i+1]
	return a[1] * math.Exp(math.Log(n/a[0])/math.Log(b[0]/a[0])*math.Log(b[1]/a[1]))
}

// wait lets the host wait for an operation.
func (d *card) wait(o *operation) {
	if o == nil {
		return
	}
	for math.IsNaN(o.ended) {
		d.step()
	}
	d.host = max(d.host, o.ended) + hostWait
}

// step begins what can begin, and goes on to the next time at which anything changes.
func (d *card) step() {
	next, began := math.Inf(1), false
	heads := d.heads()
	for again := true; again; {
		again = false
		for _, o := range heads {
			if o.started {
				continue
			}
			if at := d.begins(o); at > d.now {
				next = min(next, at)
				continue
			}
			o.started, again, began = true, true, true
			if o.tiles == 0 {
				d.end(o)
			} else {
				d.waiting = append(d.waiting, o)
			}
		}
		if again {
			heads, next = d.heads(), math.Inf(1)
		}
	}
	d.place()
	for _, g := range d.running {
		next = min(next, g.end)
	}
	if math.IsInf(next, 1) {
		if began {
			return
		}
		panic("emulator: streams wait for each other")
	}
	d.now = max(d.now, next)
	running := d.running
	d.running = slices.DeleteFunc(slices.Clone(running), func(g group) bool { return g.end <= d.now })
	for _, g := range running {
		if g.end <= d.now {
			d.free += g.tiles * g.of.part
			if g.of.left -= g.tiles; g.of.left == 0 {
				d.end(g.of)
			}
		}
	}
}

// heads returns the first operation of each stream, unless an earlier one in its connection has not begun.
func (d *card) heads() (all []*operation) {
	first := map[int]*operation{}
	for i, s := range d.streams {
		if q, c := d.queues[s], i%d.Connections; len(q) > 0 && !q[0].started && (first[c] == nil || q[0].order < first[c].order) {
			first[c] = q[0]
		}
	}
	return slices.SortedFunc(maps.Values(first), func(a, b *operation) int { return cmp.Compare(a.order, b.order) })
}

// begins returns when an operation can begin, as far as that is known.
func (d *card) begins(o *operation) float64 {
	switch {
	case o.after == nil:
		return max(o.issued, o.ready)
	case math.IsNaN(o.after.ended):
		return math.Inf(1)
	}
	return max(o.issued, o.ready, o.after.ended)
}

func (d *card) end(o *operation) {
	o.ended = d.now
	q := d.queues[o.stream][1:]
	if d.queues[o.stream] = q; len(q) > 0 {
		q[0].ready = d.now
		if q[0].tiles > 0 {
			q[0].ready += gap
		}
	}
}

// place gives the free multiprocessors to tiles, by the priority of their streams.
func (d *card) place() {
	slices.SortStableFunc(d.waiting, func(a, b *operation) int { return cmp.Compare(a.priority, b.priority) })
	kept := d.waiting[:0]
	for _, o := range d.waiting {
		count := o.tiles
		if o.part > 0 {
			count = min(o.tiles, d.free/o.part)
		}
		if count > 0 {
			d.running = append(d.running, group{d.now + o.each, o, count})
			d.free -= count * o.part
			d.busy += float64(count*o.part) / share * o.each
			o.tiles -= count
		}
		if o.tiles > 0 {
			kept = append(kept, o)
		}
	}
	d.waiting = kept
}

package cuda

import (
	"slices"
	"sync"

	"gpfit/internal/cuda/driver"
)

// tileSlot is the memory of a tile and the order of the work on it.
type tileSlot struct {
	buffer
	// marks are the ends of the work on the slot, by streams.
	marks [tileStreams]tileMark
	// copies are the ends of copies of the slot by other banks since the slot was written.
	copies []*driver.Event
}

// tileMark is the end of the last work on a slot in a stream.
type tileMark struct {
	event *driver.Event // nil before the first work
	// set says that there was work since another stream wrote the slot. wrote says that some of it wrote the slot.
	set, wrote bool
	// seen are the streams that wait for it.
	seen [tileStreams]bool
}

// tileUse is a use of a slot.
type tileUse struct {
	slot  int
	write bool
}

// slotOrder guards the marks and copies of all banks, because a bank that copies from another one reads and sets the
// other's. Nothing waits for a device while it is locked.
var slotOrder sync.Mutex

// work queues work on slots in a stream, after the earlier work on them that it must not overtake.
func (b *tileBank) work(stream int, uses []tileUse, call func()) error {
	return b.do(func() {
		for _, u := range uses {
			if u.slot < 0 || u.slot >= len(b.slots) {
				b.fail(argumentf("slot %d of %d", u.slot, len(b.slots)))
			}
		}
		if b.then(func() error { return b.await(stream, uses) }); b.err != nil {
			return
		}
		call()
		if err := b.mark(stream, uses); err != nil { // also after an error: a part of the work may be queued
			_ = b.streams[stream].Synchronize() // nothing else orders what comes after it
			b.fail(err)
		}
	})
}

// await makes a stream wait for the work on slots in other streams: for what wrote them, and before a write for all.
func (b *tileBank) await(stream int, uses []tileUse) error {
	slotOrder.Lock()
	defer slotOrder.Unlock()
	on := b.streams[stream]
	for _, u := range uses {
		s := &b.slots[u.slot]
		for other := range s.marks {
			m := &s.marks[other]
			if other == stream || !m.set || m.seen[stream] || !(u.write || m.wrote) {
				continue
			}
			if err := on.Wait(m.event); err != nil {
				return err
			}
			m.seen[stream] = true
		}
		if !u.write {
			continue
		}
		for _, e := range s.copies {
			if err := on.Wait(e); err != nil && b.gpu.dev.Err() != nil { // otherwise the other device is dead, and copies no more
				return err
			}
		}
		s.copies = nil
	}
	return nil
}

// mark records the end of work on slots in a stream.
func (b *tileBank) mark(stream int, uses []tileUse) error {
	slotOrder.Lock()
	defer slotOrder.Unlock()
	for _, u := range uses {
		s := &b.slots[u.slot]
		m := &s.marks[stream]
		e, err := b.event(u.slot, stream)
		if err != nil {
			return err
		}
		if err := e.Record(b.streams[stream]); err != nil {
			return err
		}
		m.set, m.wrote, m.seen = true, m.wrote || u.write, [tileStreams]bool{}
		if !u.write {
			continue
		}
		for other := range s.marks { // what comes after this write comes after them
			if other != stream {
				s.marks[other].set, s.marks[other].wrote = false, false
			}
		}
	}
	return nil
}

// event returns the event of a slot's mark in a stream.
func (b *tileBank) event(slot, stream int) (*driver.Event, error) {
	m := &b.slots[slot].marks[stream]
	if m.event != nil {
		return m.event, nil
	}
	var err error
	m.event, err = b.gpu.dev.NewEvent()
	return m.event, err
}

// copyFrom queues a copy of a slot of another bank, after the work that wrote it. Later writes there wait for the copy.
func (b *tileBank) copyFrom(dst int, other *tileBank, src int, bytes int64) error {
	slotOrder.Lock()
	defer slotOrder.Unlock()
	if src < 0 || src >= len(other.slots) {
		return argumentf("slot %d of %d", src, len(other.slots))
	}
	on, from := b.streams[loading], &other.slots[src]
	for i := range from.marks {
		if m := &from.marks[i]; m.set && m.wrote {
			if err := on.Wait(m.event); err != nil {
				return err
			}
		}
	}
	e, err := b.event(dst, loading) // which marks the end of this call
	if err != nil {
		return err
	}
	if !slices.Contains(from.copies, e) {
		from.copies = append(from.copies, e)
	}
	return on.QueueFrom(b.slots[dst].at, other.gpu.dev, from.at, bytes)
}

// forget destroys the events. Other banks may hold some, which have passed.
func (b *tileBank) forget() (err error) {
	slotOrder.Lock()
	defer slotOrder.Unlock()
	for i := range b.slots {
		for k := range b.slots[i].marks {
			if closing := b.slots[i].marks[k].event.Destroy(); err == nil {
				err = closing
			}
		}
	}
	b.slots = nil
	return err
}

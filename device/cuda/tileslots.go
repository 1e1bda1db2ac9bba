package cuda

import (
	"errors"
	"slices"
	"sync"

	"gpfit/device/cuda/driver"
)

// These are the numbers of the streams of a bank.
const (
	computing = iota
	loading
	storing
	tileStreams
)

// tileSlots are the slots of a bank, and the order of the work on them in its streams.
type tileSlots struct {
	dev     *driver.Device
	streams [tileStreams]*driver.Stream
	slots   []tileSlot
}

// tileSlot is the memory of a tile and the work on it.
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

// await makes a stream wait for the work on slots in other streams: for what wrote them, and before a write for all.
func (t *tileSlots) await(stream int, uses []tileUse) error {
	slotOrder.Lock()
	defer slotOrder.Unlock()
	on := t.streams[stream]
	for _, u := range uses {
		s := &t.slots[u.slot]
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
			if err := on.Wait(e); err != nil && t.dev.Err() != nil { // otherwise the other device is dead, and copies no more
				return err
			}
		}
		s.copies = nil
	}
	return nil
}

// mark records the end of work on slots in a stream.
func (t *tileSlots) mark(stream int, uses []tileUse) error {
	slotOrder.Lock()
	defer slotOrder.Unlock()
	for _, u := range uses {
		s := &t.slots[u.slot]
		m := &s.marks[stream]
		e, err := t.event(u.slot, stream)
		if err != nil {
			return err
		}
		if err := e.Record(t.streams[stream]); err != nil {
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
func (t *tileSlots) event(slot, stream int) (*driver.Event, error) {
	m := &t.slots[slot].marks[stream]
	if m.event != nil {
		return m.event, nil
	}
	var err error
	m.event, err = t.dev.NewEvent()
	return m.event, err
}

// copyFrom queues a copy of a slot of another bank, after the work that wrote it. Later writes there wait for the copy.
func (t *tileSlots) copyFrom(dst int, other *tileSlots, src int, bytes int64) error {
	slotOrder.Lock()
	defer slotOrder.Unlock()
	if src < 0 || src >= len(other.slots) {
		return argumentf("slot %d of %d", src, len(other.slots))
	}
	on, from := t.streams[loading], &other.slots[src]
	for i := range from.marks {
		if m := &from.marks[i]; m.set && m.wrote {
			if err := on.Wait(m.event); err != nil {
				return err
			}
		}
	}
	e, err := t.event(dst, loading) // which marks the end of this call
	if err != nil {
		return err
	}
	if !slices.Contains(from.copies, e) {
		from.copies = append(from.copies, e)
	}
	return on.QueueFrom(t.slots[dst].at, other.dev, from.at, bytes)
}

// forget destroys the events, on the thread of the device: others on this thread may want slotOrder. Other banks may hold
// some events, which have passed.
func (t *tileSlots) forget() error {
	err := t.dev.Do(t.destroy)
	if errors.Is(err, driver.ErrClosed) {
		return t.destroy()
	}
	return err
}

func (t *tileSlots) destroy() (err error) {
	slotOrder.Lock()
	defer slotOrder.Unlock()
	for i := range t.slots {
		for k := range t.slots[i].marks {
			if closing := t.slots[i].marks[k].event.Destroy(); err == nil {
				err = closing
			}
		}
	}
	t.slots = nil
	return err
}

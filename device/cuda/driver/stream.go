package driver

import (
	"time"
	"unsafe"
)

// Stream is a queue of work on a device. Copies and launches of one stream run in order.
type Stream struct {
	dev    *Device
	handle uintptr
}

// NewStream creates a stream (cuStreamCreateWithPriority). As CUDA's streams do by default, it
// waits for work on the default stream and the default stream waits for it, because
// some library functions use the default stream.
func (d *Device) NewStream() (*Stream, error) { return d.newStream(0) }

// NewFirstStream creates a stream whose work comes before the work of other streams.
func (d *Device) NewFirstStream() (*Stream, error) {
	const first = -5 // the device takes the nearest priority that it has
	return d.newStream(first)
}

func (d *Device) newStream(priority int32) (*Stream, error) {
	s := &Stream{dev: d}
	err := d.do(func() error {
		return d.run(streamCreate, uintptr(unsafe.Pointer(&s.handle)), 0, uintptr(uint32(priority)))
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Device returns the device of the stream.
func (s *Stream) Device() *Device { return s.dev }

// Handle returns CUDA's CUstream, for libraries that take one.
func (s *Stream) Handle() uintptr { return s.handle }

// Synchronize waits for the work of the stream (cuStreamSynchronize) and returns its error.
func (s *Stream) Synchronize() error {
	return s.dev.do(func() error { return s.dev.run(streamSynchronize, s.handle) })
}

// Destroy destroys the stream after its work is done (cuStreamDestroy). Calling it
// twice is allowed.
func (s *Stream) Destroy() error {
	if s == nil {
		return nil
	}
	return s.dev.release(streamDestroy, &s.handle)
}

// Event marks a point in a stream.
type Event struct {
	dev    *Device
	handle uintptr
}

// NewEvent creates an event that records times (cuEventCreate).
func (d *Device) NewEvent() (*Event, error) {
	e := &Event{dev: d}
	if err := d.create(eventCreate, &e.handle); err != nil {
		return nil, err
	}
	return e, nil
}

// Record places the event after the work that is now in the stream (cuEventRecord).
func (e *Event) Record(s *Stream) error {
	return e.dev.do(func() error { return e.dev.run(eventRecord, e.handle, s.handle) })
}

// Wait makes the work that comes into the stream from now on wait for what the event marks now (cuStreamWaitEvent). The
// event may belong to another device. A destroyed one marks nothing.
func (s *Stream) Wait(e *Event) error {
	if e.handle == 0 {
		return nil
	}
	return s.dev.do(func() error {
		return s.dev.checkWith(e.dev, streamWaitEvent, s.dev.api.call(streamWaitEvent, s.handle, e.handle, 0), "")
	})
}

// Synchronize waits for the event (cuEventSynchronize).
func (e *Event) Synchronize() error {
	return e.dev.do(func() error { return e.dev.run(eventSynchronize, e.handle) })
}

// Since returns the time from an earlier event to this one (cuEventElapsedTime, with a
// resolution of about half a microsecond). Both events must have passed.
func (e *Event) Since(start *Event) (elapsed time.Duration, err error) {
	var ms float32
	err = e.dev.do(func() error {
		return e.dev.run(eventElapsedTime, uintptr(unsafe.Pointer(&ms)), start.handle, e.handle)
	})
	return time.Duration(float64(ms) * float64(time.Millisecond)), err
}

// Destroy destroys the event (cuEventDestroy). Calling it twice is allowed.
func (e *Event) Destroy() error {
	if e == nil {
		return nil
	}
	return e.dev.release(eventDestroy, &e.handle)
}

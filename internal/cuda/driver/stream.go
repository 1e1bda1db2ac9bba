package driver

import "time"

// Stream is a queue of work on a device. Copies and launches of one stream run
// in order.
type Stream struct {
	dev    *Device
	handle uintptr
}

// NewStream creates a stream (cuStreamCreate). As CUDA's streams do by default, it
// waits for work on the default stream and the default stream waits for it, because
// some library functions use the default stream.
func (d *Device) NewStream() (*Stream, error) {
	s := &Stream{dev: d}
	if err := d.create("cuStreamCreate", &s.handle, d.api.streamCreate); err != nil {
		return nil, err
	}
	return s, nil
}

// Device returns the device of the stream.
func (s *Stream) Device() *Device { return s.dev }

// Handle returns CUDA's CUstream, for libraries that take one.
func (s *Stream) Handle() uintptr { return s.handle }

// Synchronize waits for the work of the stream (cuStreamSynchronize) and
// returns its error.
func (s *Stream) Synchronize() error {
	return s.dev.do(func() error { return s.dev.check("cuStreamSynchronize", s.dev.api.streamSync(s.handle)) })
}

// Destroy destroys the stream after its work is done (cuStreamDestroy). Calling it
// twice is allowed.
func (s *Stream) Destroy() error {
	if s == nil {
		return nil
	}
	return s.dev.release("cuStreamDestroy", &s.handle, s.dev.api.streamDestroy)
}

// Event marks a point in a stream.
type Event struct {
	dev    *Device
	handle uintptr
}

// NewEvent creates an event that records times (cuEventCreate).
func (d *Device) NewEvent() (*Event, error) {
	e := &Event{dev: d}
	if err := d.create("cuEventCreate", &e.handle, d.api.eventCreate); err != nil {
		return nil, err
	}
	return e, nil
}

// Record places the event after the work that is now in the stream (cuEventRecord).
func (e *Event) Record(s *Stream) error {
	return e.dev.do(func() error { return e.dev.check("cuEventRecord", e.dev.api.eventRecord(e.handle, s.handle)) })
}

// Synchronize waits for the event (cuEventSynchronize).
func (e *Event) Synchronize() error {
	return e.dev.do(func() error { return e.dev.check("cuEventSynchronize", e.dev.api.eventSync(e.handle)) })
}

// Since returns the time from an earlier event to this one (cuEventElapsedTime, with a
// resolution of about half a microsecond). Both events must have passed.
func (e *Event) Since(start *Event) (elapsed time.Duration, err error) {
	err = e.dev.do(func() error {
		ms, c := e.dev.api.eventMs(start.handle, e.handle)
		elapsed = time.Duration(ms * float64(time.Millisecond))
		return e.dev.check("cuEventElapsedTime", c)
	})
	return elapsed, err
}

// Destroy destroys the event (cuEventDestroy). Calling it twice is allowed.
func (e *Event) Destroy() error {
	if e == nil {
		return nil
	}
	return e.dev.release("cuEventDestroy", &e.handle, e.dev.api.eventDestroy)
}

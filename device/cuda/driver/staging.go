package driver

import (
	"unsafe"
)

// Staging is page-locked memory of the host through which small copies pass, in the order of a
// stream, without a wait for each.
type Staging struct {
	stream *Stream
	bytes  []byte
	used   int
	// received copies what has arrived to where it belongs.
	received []func()
}

// NewStaging allocates page-locked memory (cuMemHostAlloc).
func (s *Stream) NewStaging(bytes int) (*Staging, error) {
	var at uintptr
	if err := s.dev.do(func() error { return s.dev.run(memHostAlloc, uintptr(unsafe.Pointer(&at)), uintptr(bytes), 0) }); err != nil {
		return nil, err
	}
	return &Staging{stream: s, bytes: pinned(&at, bytes)}, nil
}

// pinned returns the memory at an address that C returned.
//
//go:noinline
func pinned(at *uintptr, bytes int) []byte {
	return unsafe.Slice(*(**byte)(unsafe.Pointer(at)), bytes)
}

// bytesOf returns the memory of a slice.
func bytesOf[T Element](v []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(&v[0])), len(v)*int(unsafe.Sizeof(v[0])))
}

// take returns unused memory, after a wait for the stream if there is none.
func (g *Staging) take(count int) ([]byte, error) {
	if g.used+count > len(g.bytes) {
		if err := g.Synchronize(); err != nil {
			return nil, err
		}
	}
	part := g.bytes[g.used : g.used+count]
	g.used += (count + 7) &^ 7
	return part, nil
}

// Send queues a copy of src to dst (cuMemcpyHtoDAsync). The caller may change src at once. An array
// that is too large for the staging is copied as [CopyToDevice] does.
func Send[T Element](g *Staging, dst Ptr, src []T) error {
	if len(src) == 0 {
		return nil
	}
	from := bytesOf(src)
	if len(from) > len(g.bytes)/4 {
		return CopyToDevice(g.stream, dst, src)
	}
	return g.stream.dev.do(func() error {
		part, err := g.take(len(from))
		if err != nil {
			return err
		}
		copy(part, from)
		d := g.stream.dev
		return d.check(memcpyHtoD, d.api.call(memcpyHtoD, uintptr(dst), uintptr(unsafe.Pointer(&part[0])), uintptr(len(part)), g.stream.handle), "%d bytes", len(part))
	})
}

// Receive queues a copy from src (cuMemcpyDtoHAsync), which is in dst after [Staging.Synchronize]. A
// larger array is copied as [CopyToHost] does.
func Receive[T Element](g *Staging, dst []T, src Ptr) error {
	if len(dst) == 0 {
		return nil
	}
	to := bytesOf(dst)
	if len(to) > len(g.bytes)/4 {
		return CopyToHost(g.stream, dst, src)
	}
	return g.stream.dev.do(func() error {
		part, err := g.take(len(to))
		if err != nil {
			return err
		}
		g.received = append(g.received, func() { copy(to, part) })
		d := g.stream.dev
		return d.check(memcpyDtoH, d.api.call(memcpyDtoH, uintptr(unsafe.Pointer(&part[0])), uintptr(src), uintptr(len(part)), g.stream.handle), "%d bytes", len(part))
	})
}

// Synchronize waits for the stream. All copies have ended then, and the staging is empty.
func (g *Staging) Synchronize() error {
	return g.stream.dev.do(func() error {
		received := g.received
		g.used, g.received = 0, nil
		if err := g.stream.Synchronize(); err != nil {
			return err
		}
		for _, put := range received {
			put()
		}
		return nil
	})
}

// Forget gives up what [Receive] has queued since the last [Staging.Synchronize]: the destinations stay as they are.
func (g *Staging) Forget() { g.received = nil }

// Free frees the memory after the work of the stream (cuMemFreeHost). Calling it twice is allowed.
func (g *Staging) Free() error {
	if g == nil || g.bytes == nil {
		return nil
	}
	memory := unsafe.Pointer(&g.bytes[0])
	g.bytes, g.received = nil, nil
	return g.stream.dev.undo(func() error { return g.stream.dev.run(memFreeHost, uintptr(memory)) })
}

package driver

import (
	"sync"
	"unsafe"
)

// QueueToDevice queues a copy of src to dst and does not wait for it (cuMemcpyHtoDAsync). src must not change before the
// stream has passed it. The copy overlaps with the work of other streams if [Device.LockHost] has locked src.
func QueueToDevice(s *Stream, dst Ptr, src []float64) error {
	return s.dev.do(func() error {
		n := 8 * len(src)
		c := s.dev.api.call(memcpyHtoD, uintptr(dst), uintptr(unsafe.Pointer(unsafe.SliceData(src))), uintptr(n), s.handle)
		return s.dev.check(memcpyHtoD, c, "%d bytes", n)
	})
}

// QueueToHost is the inverse of [QueueToDevice] (cuMemcpyDtoHAsync). dst must not be read before the stream has passed it.
func QueueToHost(s *Stream, dst []float64, src Ptr) error {
	return s.dev.do(func() error {
		n := 8 * len(dst)
		c := s.dev.api.call(memcpyDtoH, uintptr(unsafe.Pointer(unsafe.SliceData(dst))), uintptr(src), uintptr(n), s.handle)
		return s.dev.check(memcpyDtoH, c, "%d bytes", n)
	})
}

// QueueFrom queues a copy of n bytes from memory of another device, or of the same one (cuMemcpyPeerAsync,
// cuMemcpyDtoDAsync).
func (s *Stream) QueueFrom(dst Ptr, from *Device, src Ptr, n int64) error {
	return s.dev.do(func() error {
		d := s.dev
		if from.info.Index == d.info.Index {
			return d.check(memcpyDtoD, d.api.call(memcpyDtoD, uintptr(dst), uintptr(src), uintptr(n), s.handle), "%d bytes", n)
		}
		c := d.api.call(memcpyPeer, uintptr(dst), d.context, uintptr(src), from.context, uintptr(n), s.handle)
		return d.checkWith(from, memcpyPeer, c, "%d bytes from device %d", n, from.info.Index)
	})
}

// Reach lets copies from another device take the direct way between the two, and reports whether there is one
// (cuDeviceCanAccessPeer, cuCtxEnablePeerAccess). Otherwise they pass through memory of the host.
func (d *Device) Reach(other *Device) (direct bool, err error) {
	err = d.do(func() error {
		var can int32
		if d.api.call(deviceCanAccess, uintptr(unsafe.Pointer(&can)), uintptr(d.handle), uintptr(other.handle)) != Success || can == 0 {
			return nil
		}
		c := d.api.call(ctxEnablePeer, other.context, 0)
		direct = c == Success || c == CodePeerAccessEnabled
		if c.Sticky() {
			return d.checkWith(other, ctxEnablePeer, c, "device %d", other.info.Index)
		}
		return nil
	})
	return direct, err
}

// hostLocks counts the holders of memory that is locked, by its first element.
var hostLocks = struct {
	sync.Mutex
	holders map[*float64]int
}{holders: map[*float64]int{}}

// HostLock is a hold on memory of the host that is page-locked for all devices. The memory stays locked until all have freed
// their holds.
type HostLock struct{ first *float64 }

// LockHost locks memory of the host (cuMemHostRegister). Memory that others lock, not through this package, is left to them.
func (d *Device) LockHost(memory []float64) (l *HostLock, err error) {
	if len(memory) == 0 {
		return nil, nil
	}
	err = d.do(func() error {
		first := &memory[0]
		hostLocks.Lock()
		defer hostLocks.Unlock()
		if hostLocks.holders[first] == 0 {
			// The flag is CU_MEMHOSTREGISTER_PORTABLE.
			c := d.api.call(memHostRegister, uintptr(unsafe.Pointer(first)), uintptr(8*len(memory)), 1)
			if c == CodeHostMemoryRegistered {
				return nil
			}
			if err := d.check(memHostRegister, c, "%d bytes", 8*len(memory)); err != nil {
				return err
			}
		}
		hostLocks.holders[first]++
		l = &HostLock{first}
		return nil
	})
	return l, err
}

// Free gives up the hold, and the last one unlocks the memory (cuMemHostUnregister). The copies that use it must have ended.
// Calling it twice is allowed.
func (l *HostLock) Free(d *Device) error {
	if l == nil || l.first == nil {
		return nil
	}
	err := d.undo(func() error {
		hostLocks.Lock()
		defer hostLocks.Unlock()
		first := l.first
		if !l.drop() {
			return nil
		}
		return d.run(memHostUnregister, uintptr(unsafe.Pointer(first)))
	})
	if l.first != nil { // the device is dead or closed
		hostLocks.Lock()
		defer hostLocks.Unlock()
		l.drop()
	}
	return err
}

// drop gives up the hold and reports whether it was the last one.
func (l *HostLock) drop() bool {
	first := l.first
	l.first = nil
	if hostLocks.holders[first]--; hostLocks.holders[first] > 0 {
		return false
	}
	delete(hostLocks.holders, first)
	return true
}

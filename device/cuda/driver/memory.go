package driver

import (
	"fmt"
	"runtime"
	"unsafe"
)

// Ptr is an address in device memory; 0 is none.
type Ptr uintptr

// Offset returns the address so many bytes further.
func (p Ptr) Offset(bytes int64) Ptr { return p + Ptr(bytes) }

// Element is what arrays on the device are made of.
type Element interface {
	~float64 | ~float32 | ~int64 | ~uint64 | ~int32 | ~uint32 | ~uint8
}

// Alloc allocates device memory, not initialised (cuMemAlloc). The address is a
// multiple of 256. The error of a failed allocation satisfies [IsOutOfMemory].
func (d *Device) Alloc(bytes int64) (p Ptr, err error) {
	if bytes <= 0 {
		return 0, fmt.Errorf("cuda: allocation of %d bytes", bytes)
	}
	err = d.do(func() error {
		var c Code
		p, c = d.api.memAlloc(bytes)
		if c == CodeOutOfMemory {
			free, total, _ := d.api.memInfo()
			return d.checkf("cuMemAlloc", c, "%d bytes asked for, %d of %d free", bytes, free, total)
		}
		if err := d.checkf("cuMemAlloc", c, "%d bytes", bytes); err != nil {
			return err
		}
		d.sizes[p] = bytes
		d.memory.Add(bytes)
		return nil
	})
	if err != nil {
		return 0, err
	}
	return p, nil
}

// Free frees what Alloc returned (cuMemFree); it waits for the work that uses
// it. Free of 0, and on a dead device, does nothing.
func (d *Device) Free(p Ptr) error {
	if p == 0 {
		return nil
	}
	return d.Do(func() error {
		var err error
		if d.Err() == nil {
			err = d.check("cuMemFree", d.api.memFree(p))
		}
		if err == nil || d.Err() != nil {
			d.memory.Add(-d.sizes[p])
			delete(d.sizes, p)
		}
		return err
	})
}

// HostBuffer is pinned host memory, which asynchronous copies need.
type HostBuffer struct {
	dev  *Device
	p    unsafe.Pointer
	size int64
}

// AllocHost allocates pinned host memory (cuMemHostAlloc).
func (d *Device) AllocHost(bytes int64) (*HostBuffer, error) {
	if bytes <= 0 {
		return nil, fmt.Errorf("cuda: allocation of %d bytes", bytes)
	}
	b := &HostBuffer{dev: d, size: bytes}
	err := d.do(func() error {
		var c Code
		b.p, c = d.api.hostAlloc(bytes)
		return d.checkf("cuMemHostAlloc", c, "%d bytes", bytes)
	})
	if err != nil {
		return nil, err
	}
	return b, nil
}

// Len returns the number of bytes.
func (b *HostBuffer) Len() int64 { return b.size }

// HostSlice returns the buffer as a slice, which must not be used after Free.
func HostSlice[T Element](b *HostBuffer) []T {
	var t T
	return unsafe.Slice((*T)(b.p), b.size/int64(unsafe.Sizeof(t)))
}

// Free frees the buffer (cuMemFreeHost). It may be called twice.
func (b *HostBuffer) Free() error {
	if b == nil || b.p == nil {
		return nil
	}
	err := b.dev.undo(func() error { return b.dev.check("cuMemFreeHost", b.dev.api.hostFree(b.p)) })
	b.p, b.size = nil, 0
	return err
}

func (b *HostBuffer) at(offset, n int64) (unsafe.Pointer, error) {
	if offset < 0 || n < 0 || offset > b.size-n {
		return nil, fmt.Errorf("cuda: bytes %d to %d of a host buffer of %d", offset, offset+n, b.size)
	}
	return unsafe.Add(b.p, offset), nil
}

// CopyToDevice copies src to dst in the order of the stream and waits for it
// (cuMemcpyHtoDAsync, cuStreamSynchronize).
func CopyToDevice[T Element](s *Stream, dst Ptr, src []T) error {
	if len(src) == 0 {
		return nil
	}
	return s.upload(dst, unsafe.Pointer(&src[0]), int64(len(src))*int64(unsafe.Sizeof(src[0])))
}

// CopyToHost copies from src to dst in the order of the stream and waits for it
// (cuMemcpyDtoHAsync, cuStreamSynchronize).
func CopyToHost[T Element](s *Stream, dst []T, src Ptr) error {
	if len(dst) == 0 {
		return nil
	}
	return s.download(unsafe.Pointer(&dst[0]), src, int64(len(dst))*int64(unsafe.Sizeof(dst[0])))
}

func (s *Stream) upload(dst Ptr, src unsafe.Pointer, n int64) error {
	d := s.dev
	defer runtime.KeepAlive(src)
	return d.do(func() error {
		if err := d.checkf("cuMemcpyHtoDAsync", d.api.copyHtoD(dst, src, n, s.handle), "%d bytes", n); err != nil {
			return err
		}
		return d.check("cuStreamSynchronize", d.api.streamSync(s.handle))
	})
}

func (s *Stream) download(dst unsafe.Pointer, src Ptr, n int64) error {
	d := s.dev
	defer runtime.KeepAlive(dst)
	return d.do(func() error {
		if err := d.checkf("cuMemcpyDtoHAsync", d.api.copyDtoH(dst, src, n, s.handle), "%d bytes", n); err != nil {
			return err
		}
		return d.check("cuStreamSynchronize", d.api.streamSync(s.handle))
	})
}

// UploadAsync copies n bytes of pinned memory at an offset to dst and returns
// at once (cuMemcpyHtoDAsync). The buffer must not change until the stream has
// passed the copy.
func (s *Stream) UploadAsync(dst Ptr, src *HostBuffer, offset, n int64) error {
	p, err := src.at(offset, n)
	if err != nil || n == 0 {
		return err
	}
	return s.dev.do(func() error {
		return s.dev.checkf("cuMemcpyHtoDAsync", s.dev.api.copyHtoD(dst, p, n, s.handle), "%d bytes", n)
	})
}

// DownloadAsync copies n bytes from src to pinned memory at an offset and
// returns at once (cuMemcpyDtoHAsync).
func (s *Stream) DownloadAsync(dst *HostBuffer, offset int64, src Ptr, n int64) error {
	p, err := dst.at(offset, n)
	if err != nil || n == 0 {
		return err
	}
	return s.dev.do(func() error {
		return s.dev.checkf("cuMemcpyDtoHAsync", s.dev.api.copyDtoH(p, src, n, s.handle), "%d bytes", n)
	})
}

// Copy copies n bytes on the device, in the order of the stream
// (cuMemcpyDtoDAsync).
func (s *Stream) Copy(dst, src Ptr, n int64) error {
	return s.dev.do(func() error {
		return s.dev.checkf("cuMemcpyDtoDAsync", s.dev.api.copyDtoD(dst, src, n, s.handle), "%d bytes", n)
	})
}

// Memset sets n bytes, in the order of the stream (cuMemsetD8Async).
func (s *Stream) Memset(dst Ptr, value byte, n int64) error {
	return s.dev.do(func() error {
		return s.dev.checkf("cuMemsetD8Async", s.dev.api.memset(dst, value, n, s.handle), "%d bytes", n)
	})
}

// CopyBlock copies a block of rows × cols elements of size bytes between
// column-major matrices on the device with leading dimensions ldd and lds, in
// the order of the stream (cuMemcpy2DAsync). The blocks must not overlap.
func (s *Stream) CopyBlock(dst Ptr, ldd int64, src Ptr, lds, rows, cols, size int64) error {
	return s.copyBlock(&memcpy2D{srcType: memoryDevice, srcDevice: src, dstType: memoryDevice, dstDevice: dst}, ldd, lds, rows, cols, size)
}

// CopyBlockToHost copies a block of a column-major matrix on the device to one
// on the host and waits for it (cuMemcpy2DAsync, cuStreamSynchronize).
func CopyBlockToHost[T Element](s *Stream, dst []T, ldd int64, src Ptr, lds, rows, cols int64) error {
	if rows <= 0 || cols <= 0 {
		return nil
	}
	if int64(len(dst)) < (cols-1)*ldd+rows {
		return fmt.Errorf("cuda: block of %d×%d with leading dimension %d in a slice of %d", rows, cols, ldd, len(dst))
	}
	p := &memcpy2D{srcType: memoryDevice, srcDevice: src, dstType: memoryHost, dstHost: unsafe.Pointer(&dst[0])}
	return s.copyBlockAndWait(p, ldd, lds, rows, cols, int64(unsafe.Sizeof(dst[0])))
}

// CopyBlockToDevice is the inverse of [CopyBlockToHost].
func CopyBlockToDevice[T Element](s *Stream, dst Ptr, ldd int64, src []T, lds, rows, cols int64) error {
	if rows <= 0 || cols <= 0 {
		return nil
	}
	if int64(len(src)) < (cols-1)*lds+rows {
		return fmt.Errorf("cuda: block of %d×%d with leading dimension %d in a slice of %d", rows, cols, lds, len(src))
	}
	p := &memcpy2D{srcType: memoryHost, srcHost: unsafe.Pointer(&src[0]), dstType: memoryDevice, dstDevice: dst}
	return s.copyBlockAndWait(p, ldd, lds, rows, cols, int64(unsafe.Sizeof(src[0])))
}

func (s *Stream) copyBlockAndWait(p *memcpy2D, ldd, lds, rows, cols, size int64) error {
	var pin runtime.Pinner // p is passed to C and holds a Go pointer
	defer pin.Unpin()
	for _, host := range []unsafe.Pointer{p.srcHost, p.dstHost} {
		if host != nil {
			pin.Pin(host)
		}
	}
	return s.dev.Do(func() error {
		if err := s.copyBlock(p, ldd, lds, rows, cols, size); err != nil {
			return err
		}
		return s.Synchronize()
	})
}

func (s *Stream) copyBlock(p *memcpy2D, ldd, lds, rows, cols, size int64) error {
	if rows <= 0 || cols <= 0 {
		return nil
	}
	p.srcPitch, p.dstPitch = uintptr(lds*size), uintptr(ldd*size)
	p.width, p.height = uintptr(rows*size), uintptr(cols)
	return s.dev.do(func() error {
		return s.dev.checkf("cuMemcpy2DAsync", s.dev.api.copy2D(p, s.handle), "%d×%d elements", rows, cols)
	})
}

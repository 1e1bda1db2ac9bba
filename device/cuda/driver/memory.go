package driver

import (
	"fmt"
	"runtime"
	"unsafe"
)

// Ptr is an address in device memory; 0 is none.
type Ptr uint64

// Offset returns the address the given number of bytes after p.
func (p Ptr) Offset(bytes int64) Ptr { return p + Ptr(bytes) }

// Matrix is a column-major matrix in device memory, or a block of one: element
// (i, j) is the float64 at A + 8·(i + j·LD).
type Matrix struct {
	A  Ptr
	LD int64
}

// At returns the block of m that begins at (i, j).
func (m Matrix) At(i, j int64) Matrix { return Matrix{m.A.Offset(8 * (i + j*m.LD)), m.LD} }

// memcpy2D is CUDA_MEMCPY2D of cuda.h, restricted to linear memory.
type memcpy2D struct {
	_, _          uintptr // srcXInBytes, srcY
	srcType       uint32
	srcHost       unsafe.Pointer
	srcDevice     Ptr
	_             uintptr // srcArray
	srcPitch      uintptr
	_, _          uintptr // dstXInBytes, dstY
	dstType       uint32
	dstHost       unsafe.Pointer
	dstDevice     Ptr
	_             uintptr // dstArray
	dstPitch      uintptr
	width, height uintptr
}

// These are values of CUmemorytype.
const (
	memoryHost   = 1
	memoryDevice = 2
)

// Element is the type of the elements of arrays on the device.
type Element interface{ float64 | int64 | int32 }

// Alloc allocates uninitialized device memory (cuMemAlloc). The address is a multiple
// of 256. The error of a failed allocation satisfies [IsOutOfMemory].
func (d *Device) Alloc(bytes int64) (p Ptr, err error) {
	if bytes <= 0 {
		return 0, fmt.Errorf("cuda: cannot allocate %d bytes", bytes)
	}
	err = d.do(func() error {
		c := d.api.call(memAlloc, uintptr(unsafe.Pointer(&p)), uintptr(bytes))
		if c == CodeOutOfMemory {
			free, total, _ := d.MemInfo()
			return d.check(memAlloc, c, "%d bytes requested, %d of %d free", bytes, free, total)
		}
		return d.check(memAlloc, c, "%d bytes", bytes)
	})
	if err != nil {
		return 0, err
	}
	return p, nil
}

// Free frees memory from Alloc (cuMemFree) and waits for the work that uses it. Freeing
// 0, or on a dead device, does nothing.
func (d *Device) Free(p Ptr) error {
	if p == 0 {
		return nil
	}
	return d.undo(func() error { return d.run(memFree, uintptr(p)) })
}

// CopyToDevice copies src to dst in the order of the stream and waits for it
// (cuMemcpyHtoDAsync, cuStreamSynchronize).
func CopyToDevice[T Element](s *Stream, dst Ptr, src []T) error {
	if len(src) == 0 {
		return nil
	}
	host, n := unsafe.Pointer(&src[0]), int64(len(src))*int64(unsafe.Sizeof(src[0]))
	return s.transfer(memcpyHtoD, func() Code {
		return s.dev.api.call(memcpyHtoD, uintptr(dst), uintptr(host), uintptr(n), s.handle)
	}, "%d bytes", n)
}

// CopyToHost copies from src to dst in the order of the stream and waits for it
// (cuMemcpyDtoHAsync, cuStreamSynchronize).
func CopyToHost[T Element](s *Stream, dst []T, src Ptr) error {
	if len(dst) == 0 {
		return nil
	}
	host, n := unsafe.Pointer(&dst[0]), int64(len(dst))*int64(unsafe.Sizeof(dst[0]))
	return s.transfer(memcpyDtoH, func() Code {
		return s.dev.api.call(memcpyDtoH, uintptr(host), uintptr(src), uintptr(n), s.handle)
	}, "%d bytes", n)
}

// transfer queues a copy and waits for it, while the host's memory is alive because the
// function that queues it refers to it.
func (s *Stream) transfer(f function, queue func() Code, format string, args ...any) error {
	defer runtime.KeepAlive(queue)
	return s.dev.do(func() error {
		if err := s.dev.check(f, queue(), format, args...); err != nil {
			return err
		}
		return s.Synchronize()
	})
}

// Memset sets n bytes, in the order of the stream (cuMemsetD8Async).
func (s *Stream) Memset(dst Ptr, value byte, n int64) error {
	return s.dev.do(func() error {
		return s.dev.check(memsetD8, s.dev.api.call(memsetD8, uintptr(dst), uintptr(value), uintptr(n), s.handle), "%d bytes", n)
	})
}

// CopyBlockToHost copies a block of rows×cols numbers from src to one on the host with leading
// dimension ldd and waits for it (cuMemcpy2DAsync, cuStreamSynchronize).
func CopyBlockToHost(s *Stream, dst []float64, ldd int64, src Matrix, rows, cols int64) error {
	p := &memcpy2D{srcType: memoryDevice, srcDevice: src.A, srcPitch: uintptr(8 * src.LD), dstType: memoryHost, dstPitch: uintptr(8 * ldd)}
	return s.copyBlock(p, &p.dstHost, dst, ldd, rows, cols)
}

// CopyBlockToDevice is the inverse of [CopyBlockToHost].
func CopyBlockToDevice(s *Stream, dst Matrix, src []float64, lds, rows, cols int64) error {
	p := &memcpy2D{srcType: memoryHost, srcPitch: uintptr(8 * lds), dstType: memoryDevice, dstDevice: dst.A, dstPitch: uintptr(8 * dst.LD)}
	return s.copyBlock(p, &p.srcHost, src, lds, rows, cols)
}

// copyBlock completes p with its size and the host's address at, copies from or to
// host, and waits for the copy.
func (s *Stream) copyBlock(p *memcpy2D, at *unsafe.Pointer, host []float64, ld, rows, cols int64) error {
	if rows <= 0 || cols <= 0 {
		return nil
	}
	if int64(len(host)) < (cols-1)*ld+rows {
		return fmt.Errorf("cuda: a block of %d×%d with leading dimension %d does not fit a slice of %d", rows, cols, ld, len(host))
	}
	var pin runtime.Pinner // p is passed to C and holds a Go pointer
	defer pin.Unpin()
	pin.Pin(&host[0])
	*at = unsafe.Pointer(&host[0])
	p.width, p.height = uintptr(8*rows), uintptr(cols)
	return s.transfer(memcpy2DAsync, func() Code {
		return s.dev.api.call(memcpy2DAsync, uintptr(unsafe.Pointer(p)), s.handle)
	}, "%d×%d elements", rows, cols)
}

package mathlib

import (
	"errors"
	"unsafe"

	"gpfit/internal/cuda/driver"
)

// Handle is cuBLAS and cuSOLVER on one stream of a device. Its calls are safe
// for concurrent use and run one after the other.
type Handle struct {
	lib    *Library
	dev    *driver.Device
	stream *driver.Stream
	blas   uintptr
	solver uintptr
	params uintptr
	info   driver.Ptr
	// work and host are the workspaces of cuSOLVER; work has size bytes.
	work driver.Ptr
	size int64
	host []byte
	// emulation is the setting of cuBLAS.
	emulation Emulation
}

// infoBytes is the size of the allocation for cuSOLVER's info.
const infoBytes = 256

// New creates handles that work on the stream (cublasCreate, cublasSetStream,
// cusolverDnCreate, cusolverDnSetStream, cusolverDnCreateParams), and asks cuSOLVER for
// reproducible results (cusolverDnSetDeterministicMode), its default. cuBLAS is
// reproducible on one stream by default. New sets the math modes of both
// (cublasSetMathMode, cusolverDnSetMathMode) and reads them back. The emulation of
// float64 numbers is off unless requested, and if the libraries cannot emulate;
// [Handle.Emulation] returns the setting.
func (l *Library) New(s *driver.Stream, emulation Emulation) (*Handle, error) {
	h := &Handle{lib: l, dev: s.Device(), stream: s, host: make([]byte, 1)}
	err := h.dev.Do(func() (err error) {
		if err = h.run(blasCreate, uintptr(unsafe.Pointer(&h.blas))); err != nil {
			return err
		}
		if err = h.run(solverCreate, uintptr(unsafe.Pointer(&h.solver))); err != nil {
			return err
		}
		if err = h.run(solverCreateParams, uintptr(unsafe.Pointer(&h.params))); err != nil {
			return err
		}
		if l.fn[solverSetDeterministic] != 0 {
			const deterministicResults = 1
			if err = h.run(solverSetDeterministic, h.solver, deterministicResults); err != nil {
				return err
			}
		}
		if err = h.setMathMode(emulation); err != nil {
			return err
		}
		if err = h.run(blasSetStream, h.blas, s.Handle()); err != nil {
			return err
		}
		if err = h.run(solverSetStream, h.solver, s.Handle()); err != nil {
			return err
		}
		h.info, err = h.dev.Alloc(infoBytes)
		return err
	})
	if err != nil {
		h.Close()
		return nil, err
	}
	return h, nil
}

// run calls a function; it must be on the thread of the device.
//
//go:uintptrescapes
func (h *Handle) run(fn int, args ...uintptr) error {
	if err := h.dev.Err(); err != nil {
		return err
	}
	if status := call(h.lib.fn[fn], args...); status != 0 {
		return failure(h.dev, symbols[fn], status)
	}
	return nil
}

// Close destroys the handles (cublasDestroy, cusolverDnDestroy,
// cusolverDnDestroyParams). On a dead device it does nothing. Calling it twice is
// allowed.
func (h *Handle) Close() error {
	return h.dev.Do(func() error {
		var first error
		destroy := func(fn int, handle *uintptr) {
			if *handle != 0 && h.dev.Err() == nil {
				if err := h.run(fn, *handle); err != nil && first == nil && !driver.IsSticky(err) {
					first = err
				}
			}
			*handle = 0
		}
		destroy(solverDestroyParams, &h.params)
		destroy(solverDestroy, &h.solver)
		destroy(blasDestroy, &h.blas)
		err := errors.Join(first, h.dev.Free(h.info), h.dev.Free(h.work))
		h.info, h.work, h.size = 0, 0, 0
		return err
	})
}

package mathlib

import (
	"errors"
	"fmt"
	"unsafe"

	"gpfit/device/cuda/driver"
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

// New creates a handle of cuBLAS that works on the stream (cublasCreate, cublasSetStream). The first factorization creates
// the handles of cuSOLVER (cusolverDnCreate, cusolverDnSetStream, cusolverDnCreateParams), and asks it for reproducible results
// (cusolverDnSetDeterministicMode), its default. cuBLAS is reproducible on one stream by default.
// The math modes of both are set (cublasSetMathMode, cusolverDnSetMathMode) and read back.
// The emulation of float64 numbers is off unless requested, and if the libraries cannot emulate;
// [Handle.Emulation] returns the setting.
func (l *Library) New(s *driver.Stream, emulation Emulation) (*Handle, error) {
	h := &Handle{lib: l, dev: s.Device(), stream: s, host: make([]byte, 1)}
	err := h.dev.Do(func() (err error) {
		for _, step := range []func() error{
			func() error { return h.run(blasCreate, uintptr(unsafe.Pointer(&h.blas))) },
			func() error { return h.setModes(emulation) },
			func() error { return h.run(blasSetStream, h.blas, s.Handle()) },
		} {
			if err := step(); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		h.Close()
		return nil, err
	}
	return h, nil
}

// openSolver opens cuSOLVER at its first use, on the thread of the device.
func (h *Handle) openSolver() (err error) {
	if h.info != 0 {
		return nil
	}
	for _, step := range []func() error{
		func() error { return h.create(solverCreate, &h.solver) },
		func() error { return h.create(solverCreateParams, &h.params) },
		func() error {
			if !h.lib.has(solverSetDeterministic) {
				return nil
			}
			const deterministicResults = 1
			return h.run(solverSetDeterministic, h.solver, deterministicResults)
		},
		func() error {
			if !h.lib.has(solverSetMathMode) {
				return nil
			}
			mode := int32(solverDefaultMath)
			if h.emulation != Native {
				mode = solverEmulatedMath
			}
			return h.setMode(solverSetMathMode, solverGetMathMode, h.solver, "cuSOLVER reports math mode %d after gpfit set mode %d", mode)
		},
		func() error { return h.run(solverSetStream, h.solver, h.stream.Handle()) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	h.info, err = h.dev.Alloc(infoBytes)
	return err
}

// create calls a function that writes a handle, unless it is there.
func (h *Handle) create(f function, handle *uintptr) error {
	if *handle != 0 {
		return nil
	}
	err := h.run(f, uintptr(unsafe.Pointer(handle)))
	if err != nil {
		*handle = 0
	}
	return err
}

// setModes sets the math mode of cuBLAS. Libraries before CUDA 13
// cannot emulate float64 and ignore a request. It must run on the thread of the device.
func (h *Handle) setModes(want Emulation) error {
	strategies := h.lib.Toolkit.Major >= 13 && h.lib.has(blasSetStrategy)
	if !strategies {
		want = Native
	}
	blas := int32(defaultMath)
	if want != Native {
		blas = emulatedMath
	}
	if err := h.setMode(blasSetMathMode, blasGetMathMode, h.blas, "cuBLAS reports math mode %d after gpfit set mode %d", blas); err != nil {
		return err
	}
	if strategies {
		if err := h.setMode(blasSetStrategy, blasGetStrategy, h.blas, "cuBLAS reports emulation strategy %d after gpfit set %d", int32(want)); err != nil {
			return err
		}
		h.emulation = want
	}
	return nil
}

// setMode sets a mode of a library and reads it back, so that it does not depend on a
// changed default or on another part of the process. report formats the error.
func (h *Handle) setMode(set, get function, handle uintptr, report string, want int32) error {
	if err := h.run(set, handle, uintptr(want)); err != nil {
		return err
	}
	var got int32
	if err := h.run(get, handle, uintptr(unsafe.Pointer(&got))); err != nil {
		return err
	}
	if got != want {
		return fmt.Errorf(report, got, want)
	}
	return nil
}

// Emulation returns the setting of the libraries.
func (h *Handle) Emulation() Emulation { return h.emulation }

// run calls a function; it must be on the thread of the device.
//
//go:uintptrescapes
func (h *Handle) run(f function, args ...uintptr) error {
	if err := h.dev.Err(); err != nil {
		return err
	}
	if status := h.lib.call(f, args...); status != 0 {
		return failure(h.dev, symbols[f], status)
	}
	return nil
}

// Close destroys the handles (cublasDestroy, cusolverDnDestroy, cusolverDnDestroyParams). On a dead
// device it does nothing. Calling it twice is allowed.
func (h *Handle) Close() error {
	return h.dev.Do(func() error {
		var first error
		destroy := func(f function, handle *uintptr) {
			if *handle != 0 && h.dev.Err() == nil {
				if err := h.run(f, *handle); err != nil && first == nil && !driver.IsSticky(err) {
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

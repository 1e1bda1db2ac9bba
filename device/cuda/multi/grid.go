package multi

import (
	"errors"
	"fmt"
	"unsafe"

	"gpfit/device/cuda/driver"
	"gpfit/device/cuda/mathlib"
)

// uniqueID is ncclUniqueId.
type uniqueID [128]byte

// ID returns a new identity of a grid, which one process makes and all get.
func (l *Library) ID() ([]byte, error) {
	id := new(uniqueID)
	if code := l.call(ncclID, uintptr(unsafe.Pointer(id))); code != 0 {
		return nil, &mathlib.Error{Op: symbols[ncclID], Status: code, Name: statusName(symbols[ncclID], code)}
	}
	return id[:], nil
}

// Grid is the cards of all processes in rows and columns, as one of them sees it: rank r is in row r/cols and column r%cols.
type Grid struct {
	lib                                      *Library
	dev                                      *driver.Device
	stream                                   *driver.Stream
	comm, blas, blasGrid, solver, solverGrid uintptr
	info                                     driver.Ptr
	// work and host are the workspaces of the routines; work has size bytes.
	work driver.Ptr
	size int64
	host []byte
}

// infoBytes is the size of the allocation for cuSOLVERMp's info.
const infoBytes = 256

// These are values of cublasMpGridLayout_t, cusolverMpGridMapping_t and cusolverMathMode_t.
const (
	rowsFirst         = 1
	solverRowsFirst   = 1
	solverDefaultMath = 1
)

// Join makes the stream's device the card of a rank in a grid of rows×cols. It is collective, with the same identity for all,
// and each rank has a card of its own.
func (l *Library) Join(s *driver.Stream, id []byte, rank, rows, cols int) (*Grid, error) {
	g := &Grid{lib: l, dev: s.Device(), stream: s, host: make([]byte, 1)}
	shared := new(uniqueID)
	copy(shared[:], id)
	var number int32
	err := g.dev.Do(func() (err error) {
		for _, step := range []func() error{
			func() error {
				return g.run(ncclInit, uintptr(unsafe.Pointer(&g.comm)), uintptr(rows*cols), uintptr(rank), 1, uintptr(unsafe.Pointer(shared)), 0)
			},
			func() error { return g.run(blasCreate, uintptr(unsafe.Pointer(&g.blas)), s.Handle()) },
			func() error {
				return g.run(solverCreate, uintptr(unsafe.Pointer(&g.solver)), uintptr(g.dev.Info().Index), s.Handle())
			},
			func() error { return g.run(solverVersion, g.solver, uintptr(unsafe.Pointer(&number))) },
			func() error { return g.setMathMode() },
			func() error {
				return g.run(blasGridCreate, uintptr(rows), uintptr(cols), rowsFirst, g.comm, uintptr(unsafe.Pointer(&g.blasGrid)))
			},
			func() error {
				return g.run(solverGridCreate, g.solver, uintptr(unsafe.Pointer(&g.solverGrid)), g.comm, uintptr(rows), uintptr(cols), solverRowsFirst)
			},
		} {
			if err := step(); err != nil {
				return err
			}
		}
		if number < minSolver {
			return fmt.Errorf("cuSOLVERMp %s is too old: %s", version(number), cure)
		}
		g.info, err = g.dev.Alloc(infoBytes)
		return err
	})
	if err != nil {
		return nil, errors.Join(err, g.Close())
	}
	return g, nil
}

// setMathMode asks cuSOLVERMp for float64 arithmetic where it could emulate it.
func (g *Grid) setMathMode() error {
	if !g.lib.has(solverSetMathMode) {
		return nil
	}
	if err := g.run(solverSetMathMode, g.solver, solverDefaultMath); err != nil {
		return err
	}
	var got int32
	if err := g.run(solverGetMathMode, g.solver, uintptr(unsafe.Pointer(&got))); err != nil {
		return err
	}
	if got != solverDefaultMath {
		return fmt.Errorf("cuSOLVERMp reports math mode %d after gpfit set mode %d", got, solverDefaultMath)
	}
	return nil
}

// run calls a function; it must be on the thread of the device.
//
//go:uintptrescapes
func (g *Grid) run(f function, args ...uintptr) error {
	if err := g.dev.Err(); err != nil {
		return err
	}
	if status := g.lib.call(f, args...); status != 0 {
		return failure(g.dev, symbols[f], status)
	}
	return nil
}

// Settle waits for the work of all routines and returns what NCCL reports of it.
func (g *Grid) Settle() error {
	return g.dev.Do(func() error {
		if err := g.stream.Synchronize(); err != nil {
			return err
		}
		var code int32
		if err := g.run(ncclAsyncError, g.comm, uintptr(unsafe.Pointer(&code))); err != nil {
			return err
		}
		if code != 0 {
			return failure(g.dev, symbols[ncclAsyncError], int(code))
		}
		return nil
	})
}

// Close leaves the grid. It is collective. On a dead device it does nothing.
func (g *Grid) Close() error {
	return g.dev.Do(func() error {
		var errs []error
		destroy := func(f function, handle *uintptr) {
			if *handle != 0 && g.dev.Err() == nil {
				errs = append(errs, g.run(f, *handle))
			}
			*handle = 0
		}
		destroy(solverGridDestroy, &g.solverGrid)
		destroy(blasGridDestroy, &g.blasGrid)
		destroy(solverDestroy, &g.solver)
		destroy(blasDestroy, &g.blas)
		destroy(ncclDestroy, &g.comm)
		errs = append(errs, g.dev.Free(g.info), g.dev.Free(g.work))
		g.info, g.work, g.size = 0, 0, 0
		return errors.Join(errs...)
	})
}

// reserve makes the workspaces at least as large as a routine requests, in bytes. The host's workspace is on Go's heap, which
// does not move. A workspace in use is not replaced before its work is done.
func (g *Grid) reserve(device, host int64) error {
	if (device > g.size || int64(len(g.host)) < host) && g.size > 0 {
		if err := g.stream.Synchronize(); err != nil {
			return err
		}
	}
	if int64(len(g.host)) < host {
		g.host = make([]byte, host)
	}
	if device <= g.size {
		return nil
	}
	if err := g.dev.Free(g.work); err != nil {
		return err
	}
	g.work, g.size = 0, 0
	p, err := g.dev.Alloc(device)
	if err != nil {
		return err
	}
	g.work, g.size = p, device
	return nil
}

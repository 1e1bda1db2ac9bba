package driver

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"gpfit/device/cuda/native"
)

// Device is an open GPU: its primary context on a dedicated thread. It is safe for
// concurrent use; calls run one after the other.
type Device struct {
	api    *api
	info   DeviceInfo
	handle int32
	// context is the primary context.
	context uintptr
	tasks   chan task
	closed  chan struct{}
	close   sync.Once
	thread  int
	dead    atomic.Pointer[Error]
}

type task struct {
	fn   func() error
	done chan<- outcome
}

// outcome is the result of a task or its panic.
type outcome struct {
	err      error
	panicked any
}

// Open retains the primary context of a device (cuDevicePrimaryCtxRetain) and makes it
// current on a new locked thread. Opening a device twice yields two threads with the
// same context. Errors are [*UnavailableError] or [*Error].
func Open(index int) (*Device, error) {
	l := load()
	if l.fail != nil {
		return nil, l.fail
	}
	n := l.api.devices()
	if index < 0 || index >= n {
		return nil, &UnavailableError{Status: NoDevices, Reason: fmt.Sprintf("there is no device %d: the driver lists %d", index, n)}
	}
	d := &Device{api: l.api, info: l.api.inspect(index), tasks: make(chan task), closed: make(chan struct{})}
	if d.info.Unusable != "" {
		return nil, &UnavailableError{Status: NoUsableDevice, Reason: d.info.Unusable}
	}
	started := make(chan struct{})
	go d.serve(started)
	<-started
	if err := d.Do(d.retain); err != nil {
		d.stop()
		return nil, err
	}
	return d, nil
}

// serve runs tasks on one locked thread until the device is closed.
func (d *Device) serve(started chan<- struct{}) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	d.thread = native.Thread()
	close(started)
	for {
		select {
		case t := <-d.tasks:
			t.done <- run(t.fn)
		case <-d.closed:
			return
		}
	}
}

func run(fn func() error) (o outcome) {
	defer func() {
		if p := recover(); p != nil {
			o.panicked = p
		}
	}()
	o.err = fn()
	return o
}

func (d *Device) retain() error {
	if err := d.run(deviceGet, uintptr(unsafe.Pointer(&d.handle)), uintptr(d.info.Index)); err != nil {
		return err
	}
	if err := d.run(primaryCtxRetain, uintptr(unsafe.Pointer(&d.context)), uintptr(d.handle)); err != nil {
		return err
	}
	if err := d.run(ctxSetCurrent, d.context); err != nil {
		d.api.call(primaryCtxRelease, uintptr(d.handle))
		return err
	}
	return nil
}

// Do runs fn on the thread of the device, where its context is current, and
// waits for it. Within fn every call on the device, and Do itself, runs at once.
// A panic in fn continues in the caller. After Close it returns [ErrClosed].
//
// Code that calls CUDA libraries other than through this package, such as mathlib, must
// do so within Do.
func (d *Device) Do(fn func() error) error {
	// A locked thread runs no other goroutine, so code on it runs within a task. After
	// Close the thread may serve other goroutines.
	if native.Thread() == d.thread {
		select {
		case <-d.closed:
			return ErrClosed
		default:
			return fn()
		}
	}
	done := make(chan outcome, 1)
	select {
	case d.tasks <- task{fn, done}:
	case <-d.closed:
		return ErrClosed
	}
	o := <-done
	if o.panicked != nil {
		panic(o.panicked)
	}
	return o.err
}

// do is Do for CUDA calls: on a dead device it returns the error that killed it.
func (d *Device) do(fn func() error) error {
	return d.Do(func() error {
		if err := d.Err(); err != nil {
			return err
		}
		return fn()
	})
}

// undo is do for calls that free something. On a dead device there is nothing left to
// free, and it returns nil.
func (d *Device) undo(fn func() error) error {
	return d.Do(func() error {
		if d.Err() != nil {
			return nil
		}
		return fn()
	})
}

// run calls a function on the thread of the device, and checks its code.
//
//go:uintptrescapes
func (d *Device) run(f function, args ...uintptr) error {
	return d.check(f, d.api.call(f, args...), "")
}

// create calls a function that writes a handle and takes flags, which are 0.
func (d *Device) create(f function, handle *uintptr) error {
	return d.do(func() error { return d.run(f, uintptr(unsafe.Pointer(handle)), 0) })
}

// release calls a function that frees what has the handle, unless it is freed already.
func (d *Device) release(f function, handle *uintptr) error {
	if *handle == 0 {
		return nil
	}
	err := d.undo(func() error { return d.run(f, *handle) })
	*handle = 0
	return err
}

// check converts a code to an error, with the details in the format, and remembers sticky errors.
func (d *Device) check(f function, c Code, format string, args ...any) error {
	if c == Success {
		return nil
	}
	err := d.api.describe(f, c, fmt.Sprintf(format, args...))
	if c.Sticky() {
		d.dead.CompareAndSwap(nil, err)
	}
	return err
}

// checkWith is check for a call that also uses another device: a sticky error is the other's if this one still works.
func (d *Device) checkWith(other *Device, f function, c Code, format string, args ...any) error {
	if c.Sticky() && other.info.Index != d.info.Index && d.api.call(ctxSynchronize) == Success {
		return other.check(f, c, format, args...)
	}
	return d.check(f, c, format, args...)
}

// Err returns the sticky error that made the device unusable, or nil. It does not call
// CUDA; an error of pending work appears at the next synchronization.
func (d *Device) Err() error {
	if e := d.dead.Load(); e != nil {
		return e
	}
	return nil
}

// Info returns the properties of the device.
func (d *Device) Info() DeviceInfo { return d.info }

// DriverVersion is the version in [Detection].
func (d *Device) DriverVersion() int { return load().version }

// MemInfo returns the free and the total memory in bytes (cuMemGetInfo).
func (d *Device) MemInfo() (free, total int64, err error) {
	err = d.do(func() error {
		return d.run(memGetInfo, uintptr(unsafe.Pointer(&free)), uintptr(unsafe.Pointer(&total)))
	})
	return free, total, err
}

// Synchronize waits for all work of the context (cuCtxSynchronize) and returns its error.
func (d *Device) Synchronize() error {
	return d.do(func() error { return d.run(ctxSynchronize) })
}

// Close releases the context (cuDevicePrimaryCtxRelease) and ends the thread. The last release in
// the process frees memory that was not freed. Calling Close twice is allowed.
func (d *Device) Close() error {
	err := d.undo(func() error {
		var none uintptr
		d.api.call(ctxSetCurrent, none)
		return d.run(primaryCtxRelease, uintptr(d.handle))
	})
	d.stop()
	if err == ErrClosed {
		return nil
	}
	return err
}

func (d *Device) stop() { d.close.Do(func() { close(d.closed) }) }

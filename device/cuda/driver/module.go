package driver

import (
	"fmt"
	"runtime"
	"unsafe"
)

// Module is code loaded onto a device.
type Module struct {
	dev    *Device
	handle uintptr
}

// LoadModule compiles PTX, or loads a cubin, for the device
// (cuModuleLoadDataEx). The error holds the compiler's log.
func (d *Device) LoadModule(image []byte) (*Module, error) {
	if len(image) == 0 {
		return nil, fmt.Errorf("cuda: the module is empty")
	}
	image = append(image[:len(image):len(image)], 0) // PTX ends in a zero byte
	m := &Module{dev: d}
	err := d.do(func() error {
		log := make([]byte, 8<<10)
		var pin runtime.Pinner
		defer pin.Unpin()
		pin.Pin(&log[0])
		options := [2]int32{errorLogBuffer, errorLogBufferSize}
		values := [2]uintptr{uintptr(unsafe.Pointer(&log[0])), uintptr(len(log))}
		c := d.api.call(moduleLoadData, uintptr(unsafe.Pointer(&m.handle)), uintptr(unsafe.Pointer(&image[0])),
			uintptr(len(options)), uintptr(unsafe.Pointer(&options)), uintptr(unsafe.Pointer(&values)))
		return d.check(moduleLoadData, c, "%s", text(log))
	})
	if err != nil {
		return nil, err
	}
	return m, nil
}

// These are values of CUjit_option.
const (
	errorLogBuffer     = 5
	errorLogBufferSize = 6
)

// Unload unloads the module (cuModuleUnload), which invalidates its functions. Calling
// it twice is allowed.
func (m *Module) Unload() error {
	if m == nil {
		return nil
	}
	return m.dev.release(moduleUnload, &m.handle)
}

// Function looks up a kernel by its name in the PTX (cuModuleGetFunction). The error
// for a missing kernel is an [*Error] with [CodeNotFound].
func (m *Module) Function(name string) (*Function, error) {
	f := &Function{dev: m.dev, name: name}
	err := m.dev.do(func() error {
		b := append([]byte(name), 0)
		c := m.dev.api.call(moduleGetFunction, uintptr(unsafe.Pointer(&f.handle)), m.handle, uintptr(unsafe.Pointer(&b[0])))
		return m.dev.check(moduleGetFunction, c, "kernel %q", name)
	})
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Function is a kernel.
type Function struct {
	dev    *Device
	name   string
	handle uintptr
}

// FunctionAttribute is a CUfunction_attribute.
type FunctionAttribute int

// These attributes can be read; cuda.h has more.
const (
	MaxThreadsPerBlock FunctionAttribute = 0
	StaticSharedBytes  FunctionAttribute = 1
	ConstantBytes      FunctionAttribute = 2
	LocalBytes         FunctionAttribute = 3 // per thread: spilled registers
	Registers          FunctionAttribute = 4 // per thread
)

// Attribute reads an attribute (cuFuncGetAttribute).
func (f *Function) Attribute(a FunctionAttribute) (value int, err error) {
	var v int32
	err = f.dev.do(func() error {
		c := f.dev.api.call(funcGetAttribute, uintptr(unsafe.Pointer(&v)), uintptr(a), f.handle)
		return f.dev.check(funcGetAttribute, c, "kernel %q", f.name)
	})
	return int(v), err
}

// maxParams limits the parameters of a kernel.
const maxParams = 64

// Launch starts the kernel on a stream, in the given number of blocks of threads
// (cuLaunchKernel). Every parameter takes 8 bytes: the bits of a float64, an address or
// a 64-bit integer. Launch copies the values at once.
func (f *Function) Launch(s *Stream, blocks, threads uint32, params ...uint64) error {
	if len(params) > maxParams {
		return fmt.Errorf("cuda: kernel %q has %d parameters; at most %d are possible", f.name, len(params), maxParams)
	}
	return f.dev.do(func() error {
		var addresses [maxParams]*uint64
		for i := range params {
			addresses[i] = &params[i]
		}
		c := f.dev.api.call(launchKernel, f.handle, uintptr(blocks), 1, 1, uintptr(threads), 1, 1, 0, s.handle,
			uintptr(unsafe.Pointer(&addresses)), 0)
		if c == Success {
			return nil
		}
		return f.dev.check(launchKernel, c, "kernel %q, %d blocks of %d threads", f.name, blocks, threads)
	})
}

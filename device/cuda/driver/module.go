package driver

import (
	"fmt"
	"math"
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
		return nil, fmt.Errorf("cuda: empty module")
	}
	m := &Module{dev: d}
	err := d.do(func() error {
		h, log, c := d.api.moduleLoad(append(image[:len(image):len(image)], 0)) // PTX ends in a zero byte
		m.handle = h
		return d.checkf("cuModuleLoadDataEx", c, "%s", log)
	})
	if err != nil {
		return nil, err
	}
	return m, nil
}

// Unload unloads the module (cuModuleUnload); its functions are gone with it.
// It may be called twice.
func (m *Module) Unload() error {
	if m == nil || m.handle == 0 {
		return nil
	}
	err := m.dev.undo(func() error { return m.dev.check("cuModuleUnload", m.dev.api.moduleUnload(m.handle)) })
	m.handle = 0
	return err
}

// Function looks a kernel up by its name in the PTX (cuModuleGetFunction). The
// error of a missing one is an [*Error] with NotFound.
func (m *Module) Function(name string) (*Function, error) {
	f := &Function{dev: m.dev, name: name}
	err := m.dev.do(func() error {
		var c Code
		f.handle, c = m.dev.api.moduleFunction(m.handle, name)
		return m.dev.checkf("cuModuleGetFunction", c, "kernel %q", name)
	})
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Global looks up a variable in device or constant memory
// (cuModuleGetGlobal).
func (m *Module) Global(name string) (p Ptr, bytes int64, err error) {
	err = m.dev.do(func() error {
		var c Code
		p, bytes, c = m.dev.api.moduleGlobal(m.handle, name)
		return m.dev.checkf("cuModuleGetGlobal", c, "variable %q", name)
	})
	return p, bytes, err
}

// Function is a kernel.
type Function struct {
	dev    *Device
	name   string
	handle uintptr
}

// Name returns the kernel's name.
func (f *Function) Name() string { return f.name }

// FunctionAttribute is a CUfunction_attribute.
type FunctionAttribute int

// Attributes that can be read (cuda.h has more).
const (
	MaxThreadsPerBlock FunctionAttribute = 0
	StaticSharedBytes  FunctionAttribute = 1
	ConstantBytes      FunctionAttribute = 2
	LocalBytes         FunctionAttribute = 3 // per thread: spilled registers
	Registers          FunctionAttribute = 4 // per thread
	MaxDynamicShared   FunctionAttribute = 8
)

// Attribute reads an attribute (cuFuncGetAttribute).
func (f *Function) Attribute(a FunctionAttribute) (value int, err error) {
	err = f.dev.do(func() error {
		var c Code
		value, c = f.dev.api.functionAttribute(f.handle, int(a))
		return f.dev.checkf("cuFuncGetAttribute", c, "kernel %q", f.name)
	})
	return value, err
}

// SetMaxDynamicShared allows launches with so many bytes of dynamic shared
// memory, needed above 48 KiB (cuFuncSetAttribute,
// MAX_DYNAMIC_SHARED_SIZE_BYTES). The device's limit is
// [DeviceInfo].SharedPerBlock.
func (f *Function) SetMaxDynamicShared(bytes int) error {
	return f.dev.do(func() error {
		c := f.dev.api.functionSetAttribute(f.handle, int(MaxDynamicShared), bytes)
		return f.dev.checkf("cuFuncSetAttribute", c, "kernel %q, %d bytes of shared memory", f.name, bytes)
	})
}

// Dim is the size of a grid in blocks or of a block in threads: x, y, z.
type Dim [3]uint32

// maxParams bounds the parameters of a kernel.
const maxParams = 64

// Launch starts the kernel on a stream with shared bytes of dynamic shared
// memory (cuLaunchKernel). Every parameter takes 8 bytes: a double by [F64], a
// pointer or an integer of 64 bits as it is, one of 32 bits too (the low half is
// read, byte order being little-endian). The values are copied at once.
func (f *Function) Launch(s *Stream, grid, block Dim, shared int, params ...uint64) error {
	if len(params) > maxParams {
		return fmt.Errorf("cuda: kernel %q with %d parameters, at most %d can be passed", f.name, len(params), maxParams)
	}
	return f.dev.do(func() error {
		c := f.dev.api.launch(f.handle, grid, block, shared, s.handle, params)
		if c == Success {
			return nil
		}
		return f.dev.checkf("cuLaunchKernel", c, "kernel %q, grid %v, block %v, %d bytes of shared memory", f.name, grid, block, shared)
	})
}

// F64 is a float64 as a parameter of [Function.Launch].
func F64(x float64) uint64 { return math.Float64bits(x) }

// I64 is an integer as a parameter of [Function.Launch].
func I64[T ~int | ~int64 | ~int32 | ~uint32](x T) uint64 { return uint64(int64(x)) }

// P64 is a device address as a parameter of [Function.Launch].
func P64(p Ptr) uint64 { return uint64(p) }

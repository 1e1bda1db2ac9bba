package driver

import "fmt"

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

// Unload unloads the module (cuModuleUnload), which invalidates its functions. Calling
// it twice is allowed.
func (m *Module) Unload() error {
	if m == nil {
		return nil
	}
	return m.dev.release("cuModuleUnload", &m.handle, m.dev.api.moduleUnload)
}

// Function looks up a kernel by its name in the PTX (cuModuleGetFunction). The error
// for a missing kernel is an [*Error] with [CodeNotFound].
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
	err = f.dev.do(func() error {
		var c Code
		value, c = f.dev.api.functionAttribute(f.handle, int(a))
		return f.dev.checkf("cuFuncGetAttribute", c, "kernel %q", f.name)
	})
	return value, err
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
		c := f.dev.api.launch(f.handle, blocks, threads, s.handle, params)
		if c == Success {
			return nil
		}
		return f.dev.checkf("cuLaunchKernel", c, "kernel %q, %d blocks of %d threads", f.name, blocks, threads)
	})
}

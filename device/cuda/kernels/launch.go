package kernels

import (
	"fmt"
	"math"

	"gpfit/device/cuda/driver"
	"gpfit/device/cuda/ptx"
)

// Ptr is an address in device memory, Matrix a column-major matrix there.
type (
	Ptr    = driver.Ptr
	Matrix = driver.Matrix
)

// Launch is one kernel launch, in blocks of [Threads].
type Launch struct {
	// Kernel is a name from [Table], or the name of an entry of Of.
	Kernel string
	// Of is the covariance function for which the kernel was generated, nil for a
	// kernel from [Table].
	Of *ptx.Kernel
	// Blocks may be 0, which means that there is nothing to do. A driver refuses such a launch.
	Blocks uint32
	// Args contains the 8 bytes of every parameter.
	Args  []uint64
	entry *ptx.Entry
}

// launchOf returns a launch of a kernel generated for f.
func launchOf(f Function, k *Kernel, blocks int64, args ...any) Launch {
	l := launch(k, blocks, append([]any{f.Uniforms}, args...)...)
	l.Of = f.Kernel
	return l
}

// launch checks args against the table. A mismatch is a mistake in this package.
func launch(k *Kernel, blocks int64, args ...any) Launch {
	name := k.Name
	if len(k.Params) != len(args) {
		panic("kernels: wrong number of arguments for " + name)
	}
	if blocks < 0 || blocks > math.MaxInt32 {
		panic(fmt.Sprintf("kernels: %s cannot run on %d blocks", name, blocks))
	}
	l := Launch{Kernel: name, Blocks: uint32(blocks), entry: k}
	for i, arg := range args {
		var kind ptx.ParamKind
		var bits uint64
		switch v := arg.(type) {
		case Ptr:
			kind, bits = ptx.Pointer, uint64(v)
		case int64:
			kind, bits = ptx.Int, uint64(v)
		case float64:
			kind, bits = ptx.Double, math.Float64bits(v)
		}
		if kind != k.Params[i].Kind {
			panic("kernels: wrong type of argument " + k.Params[i].Name + " of " + name)
		}
		l.Args = append(l.Args, bits)
	}
	return l
}

// Text returns the PTX of the covariance function's kernel for a device of the given
// compute capability.
func (l *Launch) Text(major, minor int) ([]byte, error) {
	target, err := ptx.Target(major, minor)
	if err != nil {
		return nil, err
	}
	return l.Of.Text(l.entry, target), nil
}

// require panics on sizes that are invalid for a kernel.
func require(ok bool, what string, values ...int64) {
	if !ok {
		panic(fmt.Sprintf("kernels: %s: %d", what, values))
	}
}

func tiles(n, size int64) int64 { return (n + size - 1) / size }

func flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// Vector is a sequence of N numbers in device memory.
type Vector struct {
	A Ptr
	N int64
}

// Points are N points, stored by column: coordinate c of point i is the float64
// at X + 8·(c·N + i). Their number of columns is the program's D.
type Points struct {
	X Ptr
	N int64
}

// Function is a covariance function, or its derivatives, with its uniform values in device memory.
type Function struct {
	*ptx.Kernel
	Uniforms Ptr
}

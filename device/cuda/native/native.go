//go:build linux && (amd64 || arm64) && !nogpu

// Package native opens shared libraries and calls their functions, without cgo. [Supported] reports
// whether this build can; if not, no library can be opened.
package native

import (
	"runtime"
	"sync/atomic"
	"syscall"
	"unsafe"

	"github.com/ebitengine/purego"
)

// Supported reports whether this build can use CUDA at all.
const Supported = true

// Open opens a library for good.
func Open(path string) (library uintptr, err error) {
	runtime.LockOSThread() // dlopen keeps its error message per thread
	defer runtime.UnlockOSThread()
	return purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_GLOBAL)
}

// Symbol returns the address of a function, 0 if the library lacks it.
func Symbol(library uintptr, name string) uintptr {
	address, err := purego.Dlsym(library, name)
	if err != nil {
		return 0
	}
	return address
}

// Call passes only integers and addresses, which is all that the functions in use here
// take. The directive keeps the memory behind the addresses alive and in place.
//
//go:uintptrescapes
func Call(function uintptr, args ...uintptr) uintptr {
	result, _, _ := purego.SyscallN(function, args...)
	return result
}

// Pass calls a function with integers by value, of type int or uintptr, and slices by the address of their first element,
// which stays in place.
func Pass(function uintptr, args ...any) uintptr {
	held.Store(&args) // what a global variable has held is not on a stack, which may move
	values := make([]uintptr, len(args))
	for i, arg := range args {
		switch arg := arg.(type) {
		case int:
			values[i] = uintptr(arg)
		case uintptr:
			values[i] = arg
		case []byte:
			values[i] = uintptr(unsafe.Pointer(unsafe.SliceData(arg)))
		case []int32:
			values[i] = uintptr(unsafe.Pointer(unsafe.SliceData(arg)))
		case []uintptr:
			values[i] = uintptr(unsafe.Pointer(unsafe.SliceData(arg)))
		case []float64:
			values[i] = uintptr(unsafe.Pointer(unsafe.SliceData(arg)))
		default:
			panic("native: an argument of this type has no address")
		}
	}
	result := Call(function, values...)
	runtime.KeepAlive(args)
	return result
}

// held is the arguments of the last call of Pass.
var held atomic.Pointer[[]any]

// Thread returns the number of the thread of the caller.
func Thread() int { return syscall.Gettid() }

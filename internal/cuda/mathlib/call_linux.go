//go:build linux && (amd64 || arm64) && !nogpu

package mathlib

import (
	"runtime"

	"github.com/ebitengine/purego"
)

// call passes only integers and addresses, which is all that the functions in use here
// take. The directive keeps the memory behind the addresses alive and in place.
//
//go:uintptrescapes
func call(fn uintptr, args ...uintptr) int {
	r, _, _ := purego.SyscallN(fn, args...)
	return int(int32(r))
}

func openLibrary(path string) (uintptr, error) {
	runtime.LockOSThread() // dlopen keeps its error message per thread
	defer runtime.UnlockOSThread()
	return purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_GLOBAL)
}

// symbol returns the address of a function, 0 if the library lacks it.
func symbol(library uintptr, name string) uintptr {
	address, err := purego.Dlsym(library, name)
	if err != nil {
		return 0
	}
	return address
}

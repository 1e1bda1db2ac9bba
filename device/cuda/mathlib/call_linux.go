//go:build linux && (amd64 || arm64) && !nogpu

package mathlib

import (
	"runtime"

	"github.com/ebitengine/purego"
)

// call passes integers and addresses only, which all functions in use here
// take. The directive keeps what the addresses point to alive and in place.
//
//go:uintptrescapes
func call(fn uintptr, args ...uintptr) int {
	r, _, _ := purego.SyscallN(fn, args...)
	return int(int32(r))
}

func openLibrary(path string) (uintptr, error) {
	runtime.LockOSThread() // dlopen's message belongs to the thread
	defer runtime.UnlockOSThread()
	return purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_GLOBAL)
}

// symbol returns 0 for a function that the library lacks.
func symbol(library uintptr, name string) uintptr {
	address, err := purego.Dlsym(library, name)
	if err != nil {
		return 0
	}
	return address
}

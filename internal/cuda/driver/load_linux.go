//go:build linux && (amd64 || arm64) && !nogpu

package driver

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"

	"github.com/ebitengine/purego"
)

// libraries are tried in this order: the loader's path, containers that mount the
// driver elsewhere, and the Windows Subsystem for Linux.
var libraries = []string{
	"libcuda.so.1",
	"/usr/local/nvidia/lib64/libcuda.so.1",
	"/usr/lib/wsl/lib/libcuda.so.1",
}

func threadID() int { return syscall.Gettid() }

// open finds libcuda, opens it for good (it is never closed), checks that it has every
// function that the package calls, and calls cuInit.
func open() (api, string, *UnavailableError) {
	handle, path, fail := openLibrary()
	if fail != nil {
		return nil, path, fail
	}
	var fn functions
	var missing []string
	for i, name := range symbols {
		address, err := purego.Dlsym(handle, name)
		if err != nil {
			missing = append(missing, name)
		}
		fn[i] = address
	}
	a := &dlopenAPI{dlopenSystem{&fn}, dlopenWork{&fn}}
	if version := fn[fnDriverGetVersion]; version != 0 && len(missing) > 0 {
		if v, c := a.driverVersion(); c == Success && v < MinDriver {
			return nil, path, tooOld(v)
		}
	}
	if len(missing) > 0 {
		return nil, path, &UnavailableError{Status: BadLibrary,
			Reason: fmt.Sprintf("%s is not a CUDA driver that gpfit can use: it lacks %s", path, strings.Join(missing, ", "))}
	}
	if c := a.init(); c != Success {
		return nil, path, initFailed(a, c)
	}
	return wrap(a, handle), path, nil
}

func openLibrary() (handle uintptr, path string, fail *UnavailableError) {
	names := libraries
	if own := os.Getenv(LibraryVariable); own != "" {
		names = []string{own}
	}
	// dlopen keeps its error message per thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var first error
	for _, name := range names {
		h, err := purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_GLOBAL)
		if err == nil {
			return h, name, nil
		}
		if _, statErr := os.Stat(name); first == nil || statErr == nil {
			first = err // prefer the error of a library that exists
		}
	}
	if own := os.Getenv(LibraryVariable); own != "" {
		return 0, own, &UnavailableError{Status: NoLibrary, Err: first,
			Reason: fmt.Sprintf("the library named by %s cannot be opened: %v", LibraryVariable, first)}
	}
	return 0, "", &UnavailableError{Status: NoLibrary, Err: first, Reason: noLibrary("/", first)}
}

// noLibrary explains why libcuda is missing, as far as the kernel driver's files show.
func noLibrary(root string, err error) string {
	version, readErr := os.ReadFile(root + "proc/driver/nvidia/version")
	if readErr != nil {
		return fmt.Sprintf("no NVIDIA driver: libcuda.so.1 cannot be opened (%v) and no kernel driver is loaded", err)
	}
	line, _, _ := strings.Cut(string(version), "\n")
	return fmt.Sprintf("the NVIDIA kernel driver is loaded (%s) but libcuda.so.1 cannot be opened (%v): in a container, start it with GPU access",
		strings.Join(strings.Fields(line), " "), err)
}

func initFailed(a api, c Code) *UnavailableError {
	err := describe(a, "cuInit", c, "")
	switch c {
	case CodeNoDevice:
		return &UnavailableError{Status: NoDevices, Err: err, Reason: "there is an NVIDIA driver but no GPU (or CUDA_VISIBLE_DEVICES hides it)"}
	case CodeStubLibrary:
		return &UnavailableError{Status: BadLibrary, Err: err, Reason: "the libcuda found is the stub of a CUDA toolkit, not a driver: remove its folder from LD_LIBRARY_PATH"}
	}
	return &UnavailableError{Status: InitFailed, Err: err, Reason: "the NVIDIA driver does not start: " + err.Error()}
}

package driver

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"unsafe"

	"gpfit/device/cuda/native"
)

// Supported reports whether this build can use CUDA at all.
const Supported = native.Supported

// gpfit needs a driver for CUDA 12.0 (the 64-bit entry points of cuBLAS) and an Ampere
// card or later (its kernels are compiled for sm_80).
const (
	MinDriver  = 12000
	MinCompute = 80 // compute capability, ten times the major plus the minor
)

// LibraryVariable is the environment variable that names a libcuda to open instead of
// the system's. Tests set it to the emulated one.
const LibraryVariable = "GPFIT_CUDA_DRIVER"

// libraries are tried in this order: the loader's path, containers that mount the
// driver elsewhere, and the Windows Subsystem for Linux.
var libraries = []string{
	"libcuda.so.1",
	"/usr/local/nvidia/lib64/libcuda.so.1",
	"/usr/lib/wsl/lib/libcuda.so.1",
}

// loaded is the driver of the process. There can be only one, because libcuda is never closed.
type loaded struct {
	api     *api // nil if there is no driver
	path    string
	version int
	fail    *UnavailableError
}

// load finds libcuda, opens it, checks that it has every function that the package calls,
// and calls cuInit.
var load = sync.OnceValue(func() (l loaded) {
	library, path, fail := openLibrary()
	l.path = path
	if l.fail = fail; fail != nil {
		return l
	}
	a := &api{name: "dlopen"}
	var missing []string
	for _, name := range symbols {
		a.addresses = append(a.addresses, native.Symbol(library, name))
		if a.addresses[len(a.addresses)-1] == 0 {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		if a.addresses[driverGetVersion] != 0 {
			if v, c := a.version(); c == Success && v < MinDriver {
				l.fail = tooOld(v)
				return l
			}
		}
		l.fail = &UnavailableError{Status: BadLibrary,
			Reason: fmt.Sprintf("%s is not a CUDA driver that gpfit can use: it lacks %s", path, strings.Join(missing, ", "))}
		return l
	}
	connect()
	if c := a.call(initialize, 0); c != Success {
		l.fail = a.initFailed(c)
		return l
	}
	a.replace(library)
	l.api = a
	var c Code
	switch l.version, c = a.version(); {
	case c != Success:
		l.fail = &UnavailableError{Status: InitFailed, Reason: "the driver does not report its version", Err: a.describe(driverGetVersion, c, "")}
	case l.version < MinDriver:
		l.fail = tooOld(l.version)
	}
	return l
})

// connectionsVariable tells libcuda, when it starts, how many queues a context has to the card. Streams beyond that
// share them, and then wait for one another.
const connectionsVariable = "CUDA_DEVICE_MAX_CONNECTIONS"

// connect asks for as many as there can be, so that the streams of several lanes do not wait for one another, unless the user has chosen.
func connect() {
	if _, set := os.LookupEnv(connectionsVariable); !set {
		os.Setenv(connectionsVariable, "32") // an error leaves the driver's default
	}
}

func (a *api) version() (int, Code) {
	var v int32
	c := a.call(driverGetVersion, uintptr(unsafe.Pointer(&v)))
	return int(v), c
}

func tooOld(v int) *UnavailableError {
	return &UnavailableError{Status: DriverTooOld, Reason: fmt.Sprintf(
		"the NVIDIA driver supports CUDA %s, but gpfit needs %s or later (driver 525 or later)", Version(v), Version(MinDriver))}
}

// Version formats a CUDA version number, such as 12040, as "12.4".
func Version(v int) string { return fmt.Sprintf("%d.%d", v/1000, v%1000/10) }

func openLibrary() (library uintptr, path string, fail *UnavailableError) {
	switch {
	case runtime.GOOS != "linux" || (runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64"):
		return 0, "", &UnavailableError{Status: Unsupported,
			Reason: "gpfit uses NVIDIA GPUs on Linux (amd64 and arm64) only, not on " + runtime.GOOS + "/" + runtime.GOARCH}
	case !Supported:
		return 0, "", &UnavailableError{Status: Unsupported, Reason: "this gpfit was built without GPU code (tag nogpu)"}
	}
	if own := os.Getenv(LibraryVariable); own != "" {
		library, err := native.Open(own)
		if err != nil {
			fail = &UnavailableError{Status: NoLibrary, Err: err,
				Reason: fmt.Sprintf("the library named by %s cannot be opened: %v", LibraryVariable, err)}
		}
		return library, own, fail
	}
	var first error
	for _, name := range libraries {
		library, err := native.Open(name)
		if err == nil {
			return library, name, nil
		}
		if _, statErr := os.Stat(name); first == nil || statErr == nil {
			first = err // prefer the error of a library that exists
		}
	}
	return 0, "", &UnavailableError{Status: NoLibrary, Err: first, Reason: noLibrary(first)}
}

// noLibrary explains why libcuda is missing, as far as the kernel driver's files show.
func noLibrary(err error) string {
	version, readErr := os.ReadFile("/proc/driver/nvidia/version")
	if readErr != nil {
		return fmt.Sprintf("no NVIDIA driver: libcuda.so.1 cannot be opened (%v) and no kernel driver is loaded", err)
	}
	line, _, _ := strings.Cut(string(version), "\n")
	return fmt.Sprintf("the NVIDIA kernel driver is loaded (%s) but libcuda.so.1 cannot be opened (%v): in a container, start it with GPU access",
		strings.Join(strings.Fields(line), " "), err)
}

func (a *api) initFailed(c Code) *UnavailableError {
	err := a.describe(initialize, c, "")
	switch c {
	case CodeNoDevice:
		return &UnavailableError{Status: NoDevices, Err: err, Reason: noDevice}
	case CodeStubLibrary:
		return &UnavailableError{Status: BadLibrary, Err: err, Reason: "the libcuda found is the stub of a CUDA toolkit, not a driver: remove its folder from LD_LIBRARY_PATH"}
	}
	return &UnavailableError{Status: InitFailed, Err: err, Reason: "the NVIDIA driver does not start: " + err.Error()}
}

const noDevice = "there is an NVIDIA driver but no GPU (or CUDA_VISIBLE_DEVICES hides it)"

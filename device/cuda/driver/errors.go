package driver

import (
	"errors"
	"fmt"
)

// Code is a CUresult of the CUDA driver API.
type Code int

// The package itself uses these codes; see cuda.h for the rest.
const (
	Success            Code = 0
	CodeInvalidValue   Code = 1
	CodeOutOfMemory    Code = 2
	CodeStubLibrary    Code = 34
	CodeNoDevice       Code = 100
	CodeNotFound       Code = 500
	CodeIllegalAddress Code = 700
	// These two say that a request is met already.
	CodePeerAccessEnabled    Code = 704
	CodeHostMemoryRegistered Code = 712
	CodeUnknown              Code = 999
)

// codes names the errors that users meet, for use if the driver cannot be asked.
var codes = map[Code][2]string{
	1:   {"CUDA_ERROR_INVALID_VALUE", "invalid argument"},
	2:   {"CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
	3:   {"CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
	4:   {"CUDA_ERROR_DEINITIALIZED", "driver shutting down"},
	34:  {"CUDA_ERROR_STUB_LIBRARY", "libcuda is the toolkit's stub, not the driver"},
	46:  {"CUDA_ERROR_DEVICE_UNAVAILABLE", "the device is busy or unavailable"},
	100: {"CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
	101: {"CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
	200: {"CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
	201: {"CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
	209: {"CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available for this device"},
	214: {"CUDA_ERROR_ECC_UNCORRECTABLE", "uncorrectable ECC error"},
	218: {"CUDA_ERROR_INVALID_PTX", "PTX compilation failed"},
	220: {"CUDA_ERROR_NVLINK_UNCORRECTABLE", "uncorrectable NVLink error"},
	221: {"CUDA_ERROR_JIT_COMPILER_NOT_FOUND", "PTX JIT compiler library not found"},
	222: {"CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "the PTX is newer than the driver"},
	226: {"CUDA_ERROR_CONTAINED", "an error that the device contained ended the context"},
	304: {"CUDA_ERROR_OPERATING_SYSTEM", "operating system call failed"},
	400: {"CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
	500: {"CUDA_ERROR_NOT_FOUND", "named symbol not found"},
	600: {"CUDA_ERROR_NOT_READY", "not ready"},
	700: {"CUDA_ERROR_ILLEGAL_ADDRESS", "illegal memory access"},
	701: {"CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch"},
	702: {"CUDA_ERROR_LAUNCH_TIMEOUT", "the launch timed out"},
	709: {"CUDA_ERROR_CONTEXT_IS_DESTROYED", "context is destroyed"},
	710: {"CUDA_ERROR_ASSERT", "device-side assert"},
	714: {"CUDA_ERROR_HARDWARE_STACK_ERROR", "hardware stack error"},
	715: {"CUDA_ERROR_ILLEGAL_INSTRUCTION", "illegal instruction"},
	716: {"CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address"},
	717: {"CUDA_ERROR_INVALID_ADDRESS_SPACE", "operation not supported on this address space"},
	718: {"CUDA_ERROR_INVALID_PC", "invalid program counter"},
	719: {"CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
	721: {"CUDA_ERROR_TENSOR_MEMORY_LEAK", "a kernel leaked tensor memory"},
	802: {"CUDA_ERROR_SYSTEM_NOT_READY", "system not yet initialized (is nvidia-fabricmanager running?)"},
	803: {"CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "kernel driver and libcuda have different versions (restart after an update)"},
	804: {"CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE", "the forward-compatibility libcuda does not support this device"},
	810: {"CUDA_ERROR_MPS_CLIENT_TERMINATED", "the server of MPS ended this process's work"},
	999: {"CUDA_ERROR_UNKNOWN", "unknown error"},
}

// Sticky reports whether the context is dead for every later call in this process after this code:
// uncorrectable memory and link errors (214, 220), a contained error (226), an illegal address (700), a timeout
// (702), a destroyed context (709), a device assertion (710), launch failures (714–719), leaked tensor memory (721) and the
// end of a client of MPS (810).
func (c Code) Sticky() bool {
	switch c {
	case 214, 220, 226, 700, 702, 709, 710, 721, 810:
		return true
	}
	return c >= 714 && c <= 719
}

// Error is a failed call of the CUDA driver API.
type Error struct {
	// Op is the CUDA function, for example "cuMemAlloc".
	Op string
	// Code is the code that it returned.
	Code Code
	// Name and Text are CUDA's name and text of the code, for example "CUDA_ERROR_OUT_OF_MEMORY"
	// and "out of memory" (cuGetErrorName, cuGetErrorString).
	Name, Text string
	// Detail adds facts such as the number of bytes or the compiler's log.
	Detail string
}

func (e *Error) Error() string {
	s := fmt.Sprintf("%s: %s (%s, code %d)", e.Op, e.Text, e.Name, int(e.Code))
	if e.Detail != "" {
		s += ": " + e.Detail
	}
	return s
}

// OutOfMemory reports whether the error is CUDA_ERROR_OUT_OF_MEMORY, after which the
// device stays usable.
func (e *Error) OutOfMemory() bool { return e.Code == CodeOutOfMemory }

// Sticky reports whether the device is dead for this process after the error.
func (e *Error) Sticky() bool { return e.Code.Sticky() }

// InvalidModule reports whether this driver or device cannot load a module: invalid
// image or PTX, no code for the device, PTX newer than the driver, no compiler.
func (e *Error) InvalidModule() bool {
	switch e.Code {
	case 200, 209, 218, 221, 222:
		return true
	}
	return false
}

// IsOutOfMemory reports whether err is, or wraps, an error of this package or of
// mathlib for exhausted device memory.
func IsOutOfMemory(err error) bool {
	var e interface {
		error
		OutOfMemory() bool
	}
	return errors.As(err, &e) && e.OutOfMemory()
}

// IsSticky reports whether err is, or wraps, an error of this package or of
// mathlib after which the device is dead for this process.
func IsSticky(err error) bool {
	var e interface {
		error
		Sticky() bool
	}
	return errors.As(err, &e) && e.Sticky()
}

// ErrClosed is the error of calls on a device after Close.
var ErrClosed = errors.New("cuda: the device is closed")

// Status classifies the reason that no device is usable.
type Status int

// The statuses are listed in the order in which they are checked.
const (
	OK             Status = iota
	Unsupported           // this build or platform has no GPU code
	NoLibrary             // libcuda does not exist
	BadLibrary            // the library is not a driver: it is a stub, or lacks functions
	InitFailed            // cuInit failed
	DriverTooOld          // older than MinDriver
	NoDevices             // there is a driver but no GPU
	NoUsableDevice        // every GPU is too old or not accessible to this process
)

// UnavailableError reports why CUDA, or one device, cannot be used.
type UnavailableError struct {
	Status Status
	// Reason is a sentence for the user.
	Reason string
	// Err is the error of the system or of CUDA, if any.
	Err error
}

func (e *UnavailableError) Error() string { return "cuda: " + e.Reason }

// Unwrap returns Err.
func (e *UnavailableError) Unwrap() error { return e.Err }

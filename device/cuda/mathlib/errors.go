package mathlib

import (
	"fmt"
	"strings"

	"gpfit/device/cuda/driver"
)

// Error is a failed call of cuBLAS or cuSOLVER.
type Error struct {
	// Op is the function, for example "cublasDgemm_v2_64".
	Op string
	// Status is the code that it returned, Name its name.
	Status int
	Name   string
	// Err is the driver's error behind it, if any.
	Err error
}

func (e *Error) Error() string {
	s := fmt.Sprintf("%s: %s (status %d)", e.Op, e.Name, e.Status)
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// OutOfMemory reports whether the library could not allocate memory; the device stays usable.
func (e *Error) OutOfMemory() bool {
	return e.Name == "CUBLAS_STATUS_ALLOC_FAILED" || e.Name == "CUSOLVER_STATUS_ALLOC_FAILED" || e.Name == "CUBLASMP_STATUS_ALLOCATION_FAILED" || driver.IsOutOfMemory(e.Err)
}

// Sticky reports whether the device is dead for this process.
func (e *Error) Sticky() bool { return driver.IsSticky(e.Err) }

// These tables name the values of cublasStatus_t and cusolverStatus_t.
var (
	cublasNames = map[int]string{
		1: "NOT_INITIALIZED", 3: "ALLOC_FAILED", 7: "INVALID_VALUE", 8: "ARCH_MISMATCH", 11: "MAPPING_ERROR",
		13: "EXECUTION_FAILED", 14: "INTERNAL_ERROR", 15: "NOT_SUPPORTED", 16: "LICENSE_ERROR",
	}
	cusolverNames = map[int]string{
		1: "NOT_INITIALIZED", 2: "ALLOC_FAILED", 3: "INVALID_VALUE", 4: "ARCH_MISMATCH", 5: "MAPPING_ERROR",
		6: "EXECUTION_FAILED", 7: "INTERNAL_ERROR", 8: "MATRIX_TYPE_NOT_SUPPORTED", 9: "NOT_SUPPORTED",
		10: "ZERO_PIVOT", 11: "INVALID_LICENSE", 31: "INVALID_WORKSPACE",
	}
)

// StatusName returns the name of a status of the function op.
func StatusName(op string, status int) string {
	prefix, names := "CUBLAS_STATUS_", cublasNames
	if strings.HasPrefix(op, "cusolver") {
		prefix, names = "CUSOLVER_STATUS_", cusolverNames
	}
	if name, ok := names[status]; ok {
		return prefix + name
	}
	return prefix + "UNKNOWN"
}

// unclear lists the statuses that hide an error of the driver.
var unclear = map[string]bool{"MAPPING_ERROR": true, "EXECUTION_FAILED": true, "INTERNAL_ERROR": true, "NOT_INITIALIZED": true}

// failure converts a status to an error. It must run on the thread of the device.
func failure(d *driver.Device, op string, status int) error {
	e := &Error{Op: op, Status: status, Name: StatusName(op, status)}
	if _, kind, _ := strings.Cut(e.Name, "_STATUS_"); unclear[kind] {
		e.Err = d.Synchronize()
	}
	return e
}

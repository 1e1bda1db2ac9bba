package multi

import (
	"cmp"
	"strings"

	"gpfit/device/cuda/driver"
	"gpfit/device/cuda/mathlib"
)

// These tables name the values of ncclResult_t and cublasMpStatus_t.
var (
	ncclNames = map[int]string{
		1: "UnhandledCudaError", 2: "SystemError", 3: "InternalError", 4: "InvalidArgument", 5: "InvalidUsage", 6: "RemoteError", 7: "InProgress", 8: "Timeout",
	}
	cublasMpNames = map[int]string{
		1: "NOT_INITIALIZED", 2: "ALLOCATION_FAILED", 3: "INVALID_VALUE", 4: "ARCHITECTURE_MISMATCH", 5: "EXECUTION_FAILED",
		6: "INTERNAL_ERROR", 7: "NOT_SUPPORTED",
	}
)

// statusName returns the name of a status of the function op.
func statusName(op string, status int) string {
	switch {
	case strings.HasPrefix(op, "cusolver"):
		return mathlib.StatusName(op, status)
	case strings.HasPrefix(op, "cublas"):
		return "CUBLASMP_STATUS_" + cmp.Or(cublasMpNames[status], "UNKNOWN")
	}
	return "nccl" + cmp.Or(ncclNames[status], "Unknown")
}

// failure converts a status to an error. It must run on the thread of the device.
func failure(d *driver.Device, op string, status int) error {
	return &mathlib.Error{Op: op, Status: status, Name: statusName(op, status), Err: d.Synchronize()}
}

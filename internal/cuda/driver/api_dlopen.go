//go:build linux && (amd64 || arm64) && !nogpu

package driver

import (
	"unsafe"

	"github.com/ebitengine/purego"
)

// Supported reports whether this build can use CUDA at all.
const Supported = true

// These are indices into functions.
const (
	fnInit = iota
	fnDriverGetVersion
	fnGetErrorName
	fnGetErrorString
	fnDeviceGetCount
	fnDeviceGet
	fnDeviceGetName
	fnDeviceTotalMem
	fnDeviceGetAttribute
	fnPrimaryCtxRetain
	fnPrimaryCtxRelease
	fnCtxSetCurrent
	fnCtxSynchronize
	fnMemGetInfo
	fnMemAlloc
	fnMemFree
	fnMemcpyHtoD
	fnMemcpyDtoH
	fnMemcpy2D
	fnMemsetD8
	fnStreamCreate
	fnStreamDestroy
	fnStreamSynchronize
	fnEventCreate
	fnEventDestroy
	fnEventRecord
	fnEventSynchronize
	fnEventElapsedTime
	fnModuleLoadDataEx
	fnModuleUnload
	fnModuleGetFunction
	fnFuncGetAttribute
	fnLaunchKernel
	fnCount
)

// symbols are the exported names. If cuda.h maps a name to a version, the list contains
// that version; every driver since CUDA 11.4 exports all of them.
var symbols = [fnCount]string{
	fnInit:               "cuInit",
	fnDriverGetVersion:   "cuDriverGetVersion",
	fnGetErrorName:       "cuGetErrorName",
	fnGetErrorString:     "cuGetErrorString",
	fnDeviceGetCount:     "cuDeviceGetCount",
	fnDeviceGet:          "cuDeviceGet",
	fnDeviceGetName:      "cuDeviceGetName",
	fnDeviceTotalMem:     "cuDeviceTotalMem_v2",
	fnDeviceGetAttribute: "cuDeviceGetAttribute",
	fnPrimaryCtxRetain:   "cuDevicePrimaryCtxRetain",
	fnPrimaryCtxRelease:  "cuDevicePrimaryCtxRelease_v2",
	fnCtxSetCurrent:      "cuCtxSetCurrent",
	fnCtxSynchronize:     "cuCtxSynchronize",
	fnMemGetInfo:         "cuMemGetInfo_v2",
	fnMemAlloc:           "cuMemAlloc_v2",
	fnMemFree:            "cuMemFree_v2",
	fnMemcpyHtoD:         "cuMemcpyHtoDAsync_v2",
	fnMemcpyDtoH:         "cuMemcpyDtoHAsync_v2",
	fnMemcpy2D:           "cuMemcpy2DAsync_v2",
	fnMemsetD8:           "cuMemsetD8Async",
	fnStreamCreate:       "cuStreamCreate",
	fnStreamDestroy:      "cuStreamDestroy_v2",
	fnStreamSynchronize:  "cuStreamSynchronize",
	fnEventCreate:        "cuEventCreate",
	fnEventDestroy:       "cuEventDestroy_v2",
	fnEventRecord:        "cuEventRecord",
	fnEventSynchronize:   "cuEventSynchronize",
	fnEventElapsedTime:   "cuEventElapsedTime",
	fnModuleLoadDataEx:   "cuModuleLoadDataEx",
	fnModuleUnload:       "cuModuleUnload",
	fnModuleGetFunction:  "cuModuleGetFunction",
	fnFuncGetAttribute:   "cuFuncGetAttribute",
	fnLaunchKernel:       "cuLaunchKernel",
}

// These are values of CUjit_option.
const (
	errorLogBuffer     = 5
	errorLogBufferSize = 6
)

// functions are the addresses of symbols.
type functions [fnCount]uintptr

// dlopenAPI calls libcuda through addresses found at run time.
type dlopenAPI struct {
	dlopenSystem
	dlopenWork
}

// dlopenSystem asks for the driver, devices and contexts, dlopenWork for all that needs a
// context.
type (
	dlopenSystem struct{ fn *functions }
	dlopenWork   struct{ fn *functions }
)

// call passes only integers and addresses, which is all that the functions of the
// driver API in use here take. The directive keeps the memory behind the addresses
// alive and in place.
//
//go:uintptrescapes
func call(fn uintptr, args ...uintptr) Code {
	r, _, _ := purego.SyscallN(fn, args...)
	return Code(int32(r))
}

func (a dlopenSystem) name() string { return "dlopen" }

func (a dlopenSystem) errorText(c Code) (name, text string) {
	return a.errorString(fnGetErrorName, c), a.errorString(fnGetErrorString, c)
}

func (a dlopenSystem) errorString(fn int, c Code) string {
	var p *byte
	if call(a.fn[fn], uintptr(c), uintptr(unsafe.Pointer(&p))) != Success || p == nil {
		return ""
	}
	const longest = 256
	return gostring(unsafe.Slice(p, textLength(p, longest)))
}

// textLength returns the length of a C string, at most limit.
func textLength(p *byte, limit int) int {
	n := 0
	for n < limit && *(*byte)(unsafe.Add(unsafe.Pointer(p), n)) != 0 {
		n++
	}
	return n
}

func (a dlopenSystem) init() Code { return call(a.fn[fnInit], 0) }

func (a dlopenSystem) driverVersion() (int, Code) {
	var v int32
	c := call(a.fn[fnDriverGetVersion], uintptr(unsafe.Pointer(&v)))
	return int(v), c
}

func (a dlopenSystem) deviceCount() (int, Code) {
	var n int32
	c := call(a.fn[fnDeviceGetCount], uintptr(unsafe.Pointer(&n)))
	return int(n), c
}

func (a dlopenSystem) device(index int) (int32, Code) {
	var dev int32
	c := call(a.fn[fnDeviceGet], uintptr(unsafe.Pointer(&dev)), uintptr(index))
	return dev, c
}

func (a dlopenSystem) deviceName(dev int32) (string, Code) {
	b := make([]byte, 256)
	c := call(a.fn[fnDeviceGetName], uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), uintptr(dev))
	return gostring(b), c
}

func (a dlopenSystem) deviceMemory(dev int32) (int64, Code) {
	var n int64
	c := call(a.fn[fnDeviceTotalMem], uintptr(unsafe.Pointer(&n)), uintptr(dev))
	return n, c
}

func (a dlopenSystem) deviceAttribute(dev int32, attribute int) (int, Code) {
	var v int32
	c := call(a.fn[fnDeviceGetAttribute], uintptr(unsafe.Pointer(&v)), uintptr(attribute), uintptr(dev))
	return int(v), c
}

func (a dlopenSystem) contextRetain(dev int32) (uintptr, Code) {
	var ctx uintptr
	c := call(a.fn[fnPrimaryCtxRetain], uintptr(unsafe.Pointer(&ctx)), uintptr(dev))
	return ctx, c
}

func (a dlopenSystem) contextRelease(dev int32) Code {
	return call(a.fn[fnPrimaryCtxRelease], uintptr(dev))
}

func (a dlopenSystem) contextCurrent(ctx uintptr) Code { return call(a.fn[fnCtxSetCurrent], ctx) }

func (a dlopenSystem) contextSync() Code { return call(a.fn[fnCtxSynchronize]) }

// cstring appends a zero byte to s.
func cstring(s string) []byte { return append([]byte(s), 0) }

// gostring returns the text before the first zero byte.
func gostring(b []byte) string {
	for i, c := range b {
		if c == 0 {
			return string(b[:i])
		}
	}
	return string(b)
}

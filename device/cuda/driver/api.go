package driver

import (
	"slices"
	"strings"
	"unsafe"

	"gpfit/device/cuda/native"
)

// function is the index of a function of the driver API in symbols.
type function int

// symbols are the exported names of the functions in use.
var symbols []string

func bind(symbol string) function {
	symbols = append(symbols, symbol)
	return function(len(symbols) - 1)
}

// These are the functions in use. If cuda.h maps a name to a version, it is that version;
// every driver since CUDA 11.4 exports all of them.
var (
	initialize         = bind("cuInit")
	driverGetVersion   = bind("cuDriverGetVersion")
	getErrorName       = bind("cuGetErrorName")
	getErrorString     = bind("cuGetErrorString")
	deviceGetCount     = bind("cuDeviceGetCount")
	deviceGet          = bind("cuDeviceGet")
	deviceGetName      = bind("cuDeviceGetName")
	deviceTotalMem     = bind("cuDeviceTotalMem_v2")
	deviceGetAttribute = bind("cuDeviceGetAttribute")
	deviceCanAccess    = bind("cuDeviceCanAccessPeer")
	primaryCtxRetain   = bind("cuDevicePrimaryCtxRetain")
	primaryCtxRelease  = bind("cuDevicePrimaryCtxRelease_v2")
	ctxSetCurrent      = bind("cuCtxSetCurrent")
	ctxSynchronize     = bind("cuCtxSynchronize")
	ctxEnablePeer      = bind("cuCtxEnablePeerAccess")
	memGetInfo         = bind("cuMemGetInfo_v2")
	memAlloc           = bind("cuMemAlloc_v2")
	memFree            = bind("cuMemFree_v2")
	memHostAlloc       = bind("cuMemHostAlloc")
	memFreeHost        = bind("cuMemFreeHost")
	memHostRegister    = bind("cuMemHostRegister_v2")
	memHostUnregister  = bind("cuMemHostUnregister")
	memcpyHtoD         = bind("cuMemcpyHtoDAsync_v2")
	memcpyDtoH         = bind("cuMemcpyDtoHAsync_v2")
	memcpyDtoD         = bind("cuMemcpyDtoDAsync_v2")
	memcpyPeer         = bind("cuMemcpyPeerAsync")
	memcpy2DAsync      = bind("cuMemcpy2DAsync_v2")
	memsetD8           = bind("cuMemsetD8Async")
	streamCreate       = bind("cuStreamCreateWithPriority")
	streamDestroy      = bind("cuStreamDestroy_v2")
	streamWaitEvent    = bind("cuStreamWaitEvent")
	streamSynchronize  = bind("cuStreamSynchronize")
	eventCreate        = bind("cuEventCreate")
	eventDestroy       = bind("cuEventDestroy_v2")
	eventRecord        = bind("cuEventRecord")
	eventSynchronize   = bind("cuEventSynchronize")
	eventElapsedTime   = bind("cuEventElapsedTime")
	moduleLoadData     = bind("cuModuleLoadDataEx")
	moduleUnload       = bind("cuModuleUnload")
	moduleGetFunction  = bind("cuModuleGetFunction")
	funcGetAttribute   = bind("cuFuncGetAttribute")
	launchKernel       = bind("cuLaunchKernel")
)

// String returns the name of the function in C, which has no version.
func (f function) String() string {
	name, _, _ := strings.Cut(symbols[f], "_")
	return name
}

// api is the driver API: the address of each function and, with the tag cu, the Go
// functions that are called instead. Calls run on the thread of the device. Handles have
// the values of C pointers. C uses memory that it gets the address of during the call only.
type api struct {
	// name is the name of the implementation, "dlopen" or "gorgonia.org/cu".
	name      string
	addresses []uintptr
	replaced  map[function]func(args []uintptr) Code
}

//go:uintptrescapes
func (a *api) call(f function, args ...uintptr) Code {
	if replaced := a.replaced[f]; replaced != nil {
		return replaced(slices.Clone(args)) // args itself stays on the stack
	}
	return Code(int32(native.Call(a.addresses[f], args...)))
}

// describe makes an Error. It asks the driver for names that are not in codes.
func (a *api) describe(f function, c Code, detail string) *Error {
	e := &Error{Op: f.String(), Code: c, Detail: detail}
	if known, ok := codes[c]; ok {
		e.Name, e.Text = known[0], known[1]
	} else {
		e.Name, e.Text = a.errorText(getErrorName, c), a.errorText(getErrorString, c)
	}
	if e.Name == "" {
		e.Name = "unknown to this driver"
	}
	if e.Text == "" {
		e.Text = "error"
	}
	return e
}

func (a *api) errorText(f function, c Code) string {
	var p *byte
	if a.call(f, uintptr(c), uintptr(unsafe.Pointer(&p))) != Success || p == nil {
		return ""
	}
	const longest = 256
	n := 0
	for n < longest && *(*byte)(unsafe.Add(unsafe.Pointer(p), n)) != 0 {
		n++
	}
	return string(unsafe.Slice(p, n))
}

// text returns the text before the first zero byte.
func text(b []byte) string {
	s, _, _ := strings.Cut(string(b), "\x00")
	return s
}

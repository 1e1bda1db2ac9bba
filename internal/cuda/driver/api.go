package driver

import "unsafe"

// api is the raw driver API, with one method per CUDA function, called on the thread of
// the device. Handles have the values of C pointers. Host memory is passed by address
// and used during the call only.
type api interface {
	// name returns the name of the implementation.
	name() string
	errorText(c Code) (name, text string) // cuGetErrorName, cuGetErrorString

	driverVersion() (int, Code)                           // cuDriverGetVersion
	deviceCount() (int, Code)                             // cuDeviceGetCount
	device(index int) (int32, Code)                       // cuDeviceGet
	deviceName(dev int32) (string, Code)                  // cuDeviceGetName
	deviceMemory(dev int32) (int64, Code)                 // cuDeviceTotalMem
	deviceAttribute(dev int32, attribute int) (int, Code) // cuDeviceGetAttribute

	contextRetain(dev int32) (uintptr, Code) // cuDevicePrimaryCtxRetain
	contextRelease(dev int32) Code           // cuDevicePrimaryCtxRelease
	contextCurrent(ctx uintptr) Code         // cuCtxSetCurrent
	contextSync() Code                       // cuCtxSynchronize

	memInfo() (free, total int64, c Code)                          // cuMemGetInfo
	memAlloc(bytes int64) (Ptr, Code)                              // cuMemAlloc
	memFree(p Ptr) Code                                            // cuMemFree
	copyHtoD(dst Ptr, src unsafe.Pointer, n int64, s uintptr) Code // cuMemcpyHtoDAsync
	copyDtoH(dst unsafe.Pointer, src Ptr, n int64, s uintptr) Code // cuMemcpyDtoHAsync
	copy2D(c *memcpy2D, s uintptr) Code                            // cuMemcpy2DAsync
	memset(p Ptr, value byte, n int64, s uintptr) Code             // cuMemsetD8Async

	streamCreate() (uintptr, Code)        // cuStreamCreate
	streamDestroy(s uintptr) Code         // cuStreamDestroy
	streamSync(s uintptr) Code            // cuStreamSynchronize
	eventCreate() (uintptr, Code)         // cuEventCreate
	eventDestroy(e uintptr) Code          // cuEventDestroy
	eventRecord(e, s uintptr) Code        // cuEventRecord
	eventSync(e uintptr) Code             // cuEventSynchronize
	eventMs(a, b uintptr) (float64, Code) // cuEventElapsedTime

	// moduleLoad takes an image that ends in a zero byte; log is the compiler's log.
	moduleLoad(image []byte) (m uintptr, log string, c Code)                   // cuModuleLoadData(Ex)
	moduleUnload(m uintptr) Code                                               // cuModuleUnload
	moduleFunction(m uintptr, name string) (uintptr, Code)                     // cuModuleGetFunction
	functionAttribute(f uintptr, attribute int) (int, Code)                    // cuFuncGetAttribute
	launch(f uintptr, blocks, threads uint32, s uintptr, params []uint64) Code // cuLaunchKernel
}

// memcpy2D is CUDA_MEMCPY2D of cuda.h, restricted to linear memory.
type memcpy2D struct {
	_, _          uintptr // srcXInBytes, srcY
	srcType       uint32
	srcHost       unsafe.Pointer
	srcDevice     Ptr
	_             uintptr // srcArray
	srcPitch      uintptr
	_, _          uintptr // dstXInBytes, dstY
	dstType       uint32
	dstHost       unsafe.Pointer
	dstDevice     Ptr
	_             uintptr // dstArray
	dstPitch      uintptr
	width, height uintptr
}

// These are values of CUmemorytype.
const (
	memoryHost   = 1
	memoryDevice = 2
)

// These are values of CUdevice_attribute.
const (
	attrClock             = 13
	attrMultiprocessors   = 16
	attrComputeMode       = 20
	attrMemoryClock       = 36
	attrMemoryBus         = 37
	attrComputeMajor      = 75
	attrComputeMinor      = 76
	computeModeProhibited = 2
)

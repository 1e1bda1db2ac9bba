//go:build cu && linux && (amd64 || arm64) && !nogpu

package driver

// #include <cuda.h>
import "C"

import "unsafe"

// The compiler compares the numbers and the struct that this package defines for builds
// without cuda.h with the header: an index other than 0 is an error.
var zero [1]struct{}

var (
	_ = zero[attrClock-C.CU_DEVICE_ATTRIBUTE_CLOCK_RATE]
	_ = zero[attrMultiprocessors-C.CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT]
	_ = zero[attrComputeMode-C.CU_DEVICE_ATTRIBUTE_COMPUTE_MODE]
	_ = zero[attrMemoryClock-C.CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE]
	_ = zero[attrMemoryBus-C.CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH]
	_ = zero[attrComputeMajor-C.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR]
	_ = zero[attrComputeMinor-C.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR]
	_ = zero[computeModeProhibited-C.CU_COMPUTEMODE_PROHIBITED]

	_ = zero[MaxThreadsPerBlock-C.CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK]
	_ = zero[StaticSharedBytes-C.CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES]
	_ = zero[ConstantBytes-C.CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES]
	_ = zero[LocalBytes-C.CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES]
	_ = zero[Registers-C.CU_FUNC_ATTRIBUTE_NUM_REGS]

	_ = zero[errorLogBuffer-C.CU_JIT_ERROR_LOG_BUFFER]
	_ = zero[errorLogBufferSize-C.CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES]

	_ = zero[CodeOutOfMemory-C.CUDA_ERROR_OUT_OF_MEMORY]
	_ = zero[CodeStubLibrary-C.CUDA_ERROR_STUB_LIBRARY]
	_ = zero[CodeNoDevice-C.CUDA_ERROR_NO_DEVICE]
	_ = zero[CodeNotFound-C.CUDA_ERROR_NOT_FOUND]
	_ = zero[CodeIllegalAddress-C.CUDA_ERROR_ILLEGAL_ADDRESS]
	_ = zero[214-C.CUDA_ERROR_ECC_UNCORRECTABLE]
	_ = zero[220-C.CUDA_ERROR_NVLINK_UNCORRECTABLE]
	_ = zero[218-C.CUDA_ERROR_INVALID_PTX]
	_ = zero[702-C.CUDA_ERROR_LAUNCH_TIMEOUT]
	_ = zero[709-C.CUDA_ERROR_CONTEXT_IS_DESTROYED]
	_ = zero[710-C.CUDA_ERROR_ASSERT]
	_ = zero[714-C.CUDA_ERROR_HARDWARE_STACK_ERROR]
	_ = zero[719-C.CUDA_ERROR_LAUNCH_FAILED]

	_ = zero[memoryHost-C.CU_MEMORYTYPE_HOST]
	_ = zero[memoryDevice-C.CU_MEMORYTYPE_DEVICE]
	_ = zero[unsafe.Sizeof(memcpy2D{})-unsafe.Sizeof(C.CUDA_MEMCPY2D{})]
	_ = zero[unsafe.Offsetof(memcpy2D{}.srcDevice)-unsafe.Offsetof(C.CUDA_MEMCPY2D{}.srcDevice)]
	_ = zero[unsafe.Offsetof(memcpy2D{}.srcPitch)-unsafe.Offsetof(C.CUDA_MEMCPY2D{}.srcPitch)]
	_ = zero[unsafe.Offsetof(memcpy2D{}.dstType)-unsafe.Offsetof(C.CUDA_MEMCPY2D{}.dstMemoryType)]
	_ = zero[unsafe.Offsetof(memcpy2D{}.dstDevice)-unsafe.Offsetof(C.CUDA_MEMCPY2D{}.dstDevice)]
	_ = zero[unsafe.Offsetof(memcpy2D{}.height)-unsafe.Offsetof(C.CUDA_MEMCPY2D{}.Height)]
)

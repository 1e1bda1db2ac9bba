package bindings

import "strings"

// kind is the way in which a C type is passed.
type kind int

const (
	integer kind = iota
	enumeration
	handle // an opaque pointer
	real
	aggregate
)

// ctype is a type in the prototypes, with its size in bytes. The header tests compare
// both with the compiler's.
type ctype struct {
	kind kind
	size int64
}

var ctypes = map[string]ctype{}

func init() {
	for c, names := range map[ctype]string{
		{integer, 1}: "char, unsigned char",
		{integer, 4}: "int, unsigned int, CUdevice",
		{integer, 8}: "int64_t, long long int, size_t, CUdeviceptr",
		{real, 4}:    "float",
		{real, 8}:    "double",
		{enumeration, 4}: "CUresult, CUdevice_attribute, CUfunction_attribute, CUcomputemode, CUmemorytype, " +
			"CUjit_option, cublasStatus_t, cublasMath_t, cublasEmulationStrategy_t, cusolverMathMode_t, " +
			"cublasDiagType_t, cublasFillMode_t, cublasOperation_t, cublasSideMode_t, cudaDataType, " +
			"cusolverDeterministicMode_t, cusolverStatus_t, libraryPropertyType",
		{handle, 8}: "CUcontext, CUevent, CUfunction, CUmodule, CUstream, cublasHandle_t, cudaStream_t, " +
			"cusolverDnHandle_t, cusolverDnParams_t",
		{aggregate, 128}: "CUDA_MEMCPY2D",
	} {
		for name := range strings.SplitSeq(names, ", ") {
			ctypes[name] = c
		}
	}
}

// deviceAddress is cuda.h's type for addresses in device memory.
const deviceAddress = "CUdeviceptr"

// lateTypes came after CUDA 12.0, together with optional functions.
var lateTypes = map[string]int{"cusolverDeterministicMode_t": 12020, "cublasEmulationStrategy_t": 12090, "cusolverMathMode_t": 13010}

// lateEnumerators came later than their types.
var lateEnumerators = map[string]int{"CUBLAS_FP64_EMULATED_FIXEDPOINT_MATH": 13010}

// goEnums are the Go types that hold values of one C enumeration.
var goEnums = map[string]string{
	"Code":              "CUresult",
	"FunctionAttribute": "CUfunction_attribute",
	"Transpose":         "cublasOperation_t",
	"Side":              "cublasSideMode_t",
	"Emulation":         "cublasEmulationStrategy_t",
}

// enumerator is a value of a C enumeration.
type enumerator struct{ ctype, name string }

// constants are the Go constants of packages driver and mathlib that CUDA defines.
var constants = map[string]enumerator{
	"memoryHost":            {"CUmemorytype", "CU_MEMORYTYPE_HOST"},
	"memoryDevice":          {"CUmemorytype", "CU_MEMORYTYPE_DEVICE"},
	"attrClock":             {"CUdevice_attribute", "CU_DEVICE_ATTRIBUTE_CLOCK_RATE"},
	"attrMultiprocessors":   {"CUdevice_attribute", "CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT"},
	"attrComputeMode":       {"CUdevice_attribute", "CU_DEVICE_ATTRIBUTE_COMPUTE_MODE"},
	"attrMemoryClock":       {"CUdevice_attribute", "CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE"},
	"attrMemoryBus":         {"CUdevice_attribute", "CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH"},
	"attrComputeMajor":      {"CUdevice_attribute", "CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR"},
	"attrComputeMinor":      {"CUdevice_attribute", "CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR"},
	"computeModeProhibited": {"CUcomputemode", "CU_COMPUTEMODE_PROHIBITED"},
	"errorLogBuffer":        {"CUjit_option", "CU_JIT_ERROR_LOG_BUFFER"},
	"errorLogBufferSize":    {"CUjit_option", "CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES"},
	"MaxThreadsPerBlock":    {"CUfunction_attribute", "CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK"},
	"StaticSharedBytes":     {"CUfunction_attribute", "CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES"},
	"ConstantBytes":         {"CUfunction_attribute", "CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES"},
	"LocalBytes":            {"CUfunction_attribute", "CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES"},
	"Registers":             {"CUfunction_attribute", "CU_FUNC_ATTRIBUTE_NUM_REGS"},
	"Success":               {"CUresult", "CUDA_SUCCESS"},
	"CodeInvalidValue":      {"CUresult", "CUDA_ERROR_INVALID_VALUE"},
	"CodeOutOfMemory":       {"CUresult", "CUDA_ERROR_OUT_OF_MEMORY"},
	"CodeStubLibrary":       {"CUresult", "CUDA_ERROR_STUB_LIBRARY"},
	"CodeNoDevice":          {"CUresult", "CUDA_ERROR_NO_DEVICE"},
	"CodeNotFound":          {"CUresult", "CUDA_ERROR_NOT_FOUND"},
	"CodeIllegalAddress":    {"CUresult", "CUDA_ERROR_ILLEGAL_ADDRESS"},
	"CodeUnknown":           {"CUresult", "CUDA_ERROR_UNKNOWN"},

	"NoTrans":              {"cublasOperation_t", "CUBLAS_OP_N"},
	"Trans":                {"cublasOperation_t", "CUBLAS_OP_T"},
	"Left":                 {"cublasSideMode_t", "CUBLAS_SIDE_LEFT"},
	"Right":                {"cublasSideMode_t", "CUBLAS_SIDE_RIGHT"},
	"lower":                {"cublasFillMode_t", "CUBLAS_FILL_MODE_LOWER"},
	"upper":                {"cublasFillMode_t", "CUBLAS_FILL_MODE_UPPER"},
	"nonUnit":              {"cublasDiagType_t", "CUBLAS_DIAG_NON_UNIT"},
	"real64":               {"cudaDataType", "CUDA_R_64F"},
	"defaultMath":          {"cublasMath_t", "CUBLAS_DEFAULT_MATH"},
	"emulatedMath":         {"cublasMath_t", "CUBLAS_FP64_EMULATED_FIXEDPOINT_MATH"},
	"solverDefaultMath":    {"cusolverMathMode_t", "CUSOLVER_DEFAULT_MATH"},
	"solverEmulatedMath":   {"cusolverMathMode_t", "CUSOLVER_FP64_EMULATED_FIXEDPOINT_MATH"},
	"Native":               {"cublasEmulationStrategy_t", "CUBLAS_EMULATION_STRATEGY_DEFAULT"},
	"WhereFaster":          {"cublasEmulationStrategy_t", "CUBLAS_EMULATION_STRATEGY_PERFORMANT"},
	"WherePossible":        {"cublasEmulationStrategy_t", "CUBLAS_EMULATION_STRATEGY_EAGER"},
	"deterministicResults": {"cusolverDeterministicMode_t", "CUSOLVER_DETERMINISTIC_RESULTS"},
}

// ownConstants are constants that CUDA does not define.
var ownConstants = map[string]bool{"MinDriver": true, "MinCompute": true, "maxParams": true, "infoBytes": true}

// copyFields are the fields of CUDA_MEMCPY2D in the order of driver's memcpy2D.
var copyFields = []string{
	"srcXInBytes", "srcY", "srcMemoryType", "srcHost", "srcDevice", "srcArray", "srcPitch",
	"dstXInBytes", "dstY", "dstMemoryType", "dstHost", "dstDevice", "dstArray", "dstPitch",
	"WidthInBytes", "Height",
}

// replaced maps functions to the first CUDA whose cuda.h has a macro to a newer
// version, which libcuda exports beside the bound one.
var replaced = map[string]int{"cuEventElapsedTime": 13000}

package bindings

import (
	_ "embed"
	"strings"
)

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
		{integer, 4}: "int, int32_t, unsigned int, uint32_t, CUdevice",
		{integer, 8}: "int64_t, long long int, size_t, CUdeviceptr",
		{real, 4}:    "float",
		{real, 8}:    "double",
		{enumeration, 4}: "CUresult, CUdevice_attribute, CUfunction_attribute, CUcomputemode, CUmemorytype, " +
			"CUjit_option, cublasStatus_t, cublasMath_t, cublasEmulationStrategy_t, cusolverMathMode_t, " +
			"cublasDiagType_t, cublasFillMode_t, cublasOperation_t, cublasSideMode_t, cudaDataType, cudaDataType_t, " +
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

// synonyms are second names of types.
var synonyms = map[string]string{"cudaDataType_t": "cudaDataType"}

// lateTypes came after CUDA 12.0, together with optional functions.
var lateTypes = map[string]int{"cusolverDeterministicMode_t": 12020, "cublasEmulationStrategy_t": 12090, "cusolverMathMode_t": 13010}

// lateEnumerators came later than their types.
var lateEnumerators = map[string]int{"CUBLAS_FP64_EMULATED_FIXEDPOINT_MATH": 13010}

// bound are the packages that bind functions.
var bound = []string{"driver", "mathlib"}

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

//go:embed constants.txt
var constantsText string

// constants are the Go constants of the packages that CUDA defines. A line of
// constants.txt has the enumeration in C, the name in Go and the name in C.
var constants = map[string]enumerator{}

func init() {
	for line := range strings.Lines(constantsText) {
		words := strings.Fields(line)
		constants[words[1]] = enumerator{words[0], words[2]}
	}
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
// version, which libcuda exports besides the bound one.
var replaced = map[string]int{"cuEventElapsedTime": 13000}

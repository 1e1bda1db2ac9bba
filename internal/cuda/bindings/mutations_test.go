package bindings

import (
	"slices"
	"strings"
	"testing"
)

// mutations are wrong prototypes. The calls, the headers (h), or both (b) must detect each of them.
var mutations = []struct{ in, function, old, new, found string }{
	{"driver", "cuDeviceTotalMem_v2", "size_t *bytes", "unsigned int *bytes", "b"},
	{"driver", "cuMemAlloc_v2", "size_t bytesize", "unsigned int bytesize", "b"},
	{"driver", "cuMemAlloc_v2", "CUdeviceptr *dptr", "CUdeviceptr dptr", "b"},
	{"driver", "cuDeviceGet", "CUdevice *device, int ordinal", "int ordinal, CUdevice *device", "b"},
	{"driver", "cuCtxSetCurrent", "CUcontext ctx", "CUstream ctx", "h"},
	{"driver", "cuStreamCreate", "unsigned int Flags", "size_t Flags", "h"},
	{"driver", "cuStreamSynchronize", "CUstream hStream", "CUstream hStream, unsigned int Flags", "b"},
	{"driver", "cuEventElapsedTime", "float *", "double *", "b"},
	{"driver", "cuEventElapsedTime", "CUevent hStart, CUevent hEnd", "CUevent hEnd, CUevent hStart", "h"},
	{"driver", "cuMemFree_v2", "CUdeviceptr dptr", "size_t dptr", "b"},
	{"driver", "cuMemFree_v2", "cuMemFree_v2", "cuMemFree", "b"},
	{"driver", "cuLaunchKernel", "void **kernelParams", "void *kernelParams", "h"},
	{"mathlib", "cublasDgemm_v2_64", "int64_t k", "int k", "b"},
	{"mathlib", "cublasDgemm_v2_64", "int64_t m, int64_t n, int64_t k", "int64_t n, int64_t m, int64_t k", "b"},
	{"mathlib", "cublasDgemm_v2_64", "cublasDgemm_v2_64", "cublasDgemm_v2", "b"},
	{"mathlib", "cublasDgemm_v2_64", "const double *beta", "double beta", "b"},
	{"mathlib", "cublasDtrsm_v2_64", "cublasSideMode_t side, cublasFillMode_t uplo", "cublasFillMode_t uplo, cublasSideMode_t side", "b"},
	{"mathlib", "cublasDgemmStridedBatched_64", "int64_t ldc, long long int strideC", "long long int strideC, int64_t ldc", "b"},
	{"mathlib", "cusolverDnXpotrf", "size_t workspaceInBytesOnHost", "int workspaceInBytesOnHost", "b"},
	{"mathlib", "cusolverDnXpotrf", "cudaDataType dataTypeA", "cublasOperation_t dataTypeA", "b"},
	{"mathlib", "cublasSetMathMode", "cublasMath_t mode", "cublasOperation_t mode", "h"},
	{"mathlib", "cublasGetMathMode", "cublasMath_t *mode", "cublasMath_t mode", "b"},
	{"mathlib", "cublasGetProperty", "int *value", "double *value", "b"},
}

// TestMutatedCalls checks that the comparison with the calls detects wrong prototypes.
func TestMutatedCalls(t *testing.T) {
	for _, m := range mutations {
		s := readSource(t, m.in)
		wrong := s.checkCalls(mutate(t, readPrototypes(t, m.in+".h"), m.function, m.old, m.new))
		found := strings.Contains(strings.Join(wrong, "\n"), m.function)
		if found != (m.found == "b") {
			t.Errorf("%s with %s for %s: found %v: %v", m.function, m.new, m.old, found, wrong)
		}
	}
}

// TestMutatedHeaders checks that the headers also detect wrong prototypes, and that the
// message names the function and shows both prototypes.
func TestMutatedHeaders(t *testing.T) {
	k := needToolkit(t)
	var changed []prototype
	for _, m := range mutations {
		list := readPrototypes(t, m.in+".h")
		at := slices.IndexFunc(list, func(p prototype) bool { return p.name == m.function })
		changed = append(changed, mutate(t, list, m.function, m.old, m.new)[at])
	}
	wrong := k.checkPrototypes(t, changed)
	if len(wrong) != len(changed) {
		t.Fatalf("%d of %d wrong prototypes are found:\n%s", len(wrong), len(changed), strings.Join(wrong, "\n"))
	}
	for i, p := range changed {
		if !strings.HasPrefix(wrong[i], p.name+": ") || !strings.Contains(wrong[i], p.text) || !strings.Contains(wrong[i], k.declared[p.name]) {
			t.Errorf("a wrong prototype of %s is reported as\n%s", p.name, wrong[i])
		}
	}
	t.Logf("%d wrong prototypes are found, for example\n%s", len(wrong), wrong[0])
}

// TestMutatedAsserts checks that the headers refuse wrong numbers, enumerations and
// layouts, and a name whose version is missing.
func TestMutatedAsserts(t *testing.T) {
	k := needToolkit(t)
	d := readSource(t, "driver")
	for _, c := range []struct{ old, new string }{
		{"CU_DEVICE_ATTRIBUTE_CLOCK_RATE == 13", "CU_DEVICE_ATTRIBUTE_CLOCK_RATE == 14"},
		{"CUmemorytype gpfit_memoryHost", "CUjit_option gpfit_memoryHost"},
		{"CUDA_ERROR_ILLEGAL_ADDRESS == 700", "CUDA_ERROR_ILLEGAL_ADDRESS == 701"},
		{"offsetof(CUDA_MEMCPY2D, srcHost)", "offsetof(CUDA_MEMCPY2D, srcDevice)"},
		{"sizeof(CUDA_MEMCPY2D) == 128", "sizeof(CUDA_MEMCPY2D) == 120"},
		{"sizeof(size_t) == 8", "sizeof(size_t) == 4"},
		{"(CUdeviceptr)0) == 1", "(CUdeviceptr)0) == 5"},
	} {
		text := headers
		for _, lines := range [][]string{typeAsserts(), constantAsserts(d), codeAsserts(d), layoutAsserts(d)} {
			text += strings.Join(lines, "\n") + "\n"
		}
		changed := strings.Replace(text, c.old, c.new, 1)
		if wrong := k.compile(t, changed); changed == text || len(wrong) != 1 {
			t.Errorf("%s for %s: %v", c.new, c.old, wrong)
		}
	}
	for _, m := range [][2]string{{"cuStreamDestroy_v2", "cuStreamDestroy"}, {"cublasCreate_v2", "cublasCreate"}} {
		p := prototype{name: m[1]}
		if wrong := k.checkNames(t, []prototype{p}); len(wrong) != 1 || !strings.Contains(wrong[0], m[1]) {
			t.Errorf("%s for %s: %v", m[1], m[0], wrong)
		}
	}
}

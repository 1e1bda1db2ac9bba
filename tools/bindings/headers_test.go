package bindings

import (
	"fmt"
	"go/ast"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gpfit/internal/testcheck"
)

// TestHeaders compares the prototypes, types, constants, statuses and layouts with the headers.
func TestHeaders(t *testing.T) {
	k := needToolkit(t)
	functions := 0
	var enumerators, statuses []string
	for _, name := range bound {
		list, s := readPrototypes(t, name+".h"), readSource(t, name)
		functions += len(list)
		for _, w := range append(k.checkPrototypes(t, list), k.checkNames(t, list)...) {
			t.Error(w)
		}
		enumerators = append(enumerators, constantAsserts(s)...)
		statuses = append(statuses, append(codeAsserts(s), statusAsserts(s)...)...)
	}
	groups := []struct {
		what  string
		lines []string
	}{
		{"types", typeAsserts()},
		{"enumerators", enumerators},
		{"error codes and statuses", statuses},
		{"fields", layoutAsserts(readSource(t, "driver"))},
	}
	count := ""
	for _, g := range groups {
		for _, w := range k.compile(t, k.headers()+strings.Join(g.lines, "\n")+"\n") {
			t.Errorf("%s: %s: %s", k.name(), g.what, w)
		}
		count += fmt.Sprintf(", %d %s", len(g.lines), g.what)
	}
	if !t.Failed() {
		t.Logf("%s: %d functions%s agree", k.name(), functions, count)
	}
}

var errorAt = regexp.MustCompile(`^prototypes:(\d+):\d+: error: (.*)$`)

// checkPrototypes compiles assignments of NVIDIA's functions to pointers of our types,
// and compares the names of parameters.
func (k *toolkit) checkPrototypes(t *testing.T, list []prototype) []string {
	t.Helper()
	var b strings.Builder
	b.WriteString(k.headers())
	for _, p := range list {
		fmt.Fprintf(&b, "#undef %s\n", p.name)
	}
	for i, p := range list {
		if p.since > k.version {
			continue
		}
		pointer := strings.Replace(p.text, p.name, fmt.Sprintf("(*gpfit_%d)", i), 1)
		pointer, _, _ = strings.Cut(pointer, ";")
		fmt.Fprintf(&b, "#line %d \"prototypes\"\n%s = %s;\n", i+1, pointer, p.name)
	}
	problems := make([]string, len(list))
	var wrong []string
	for _, w := range k.compile(t, b.String()) {
		if at := errorAt.FindStringSubmatch(w); at != nil {
			i, _ := strconv.Atoi(at[1])
			problems[i-1] = at[2]
		} else {
			wrong = append(wrong, w)
		}
	}
	for i, p := range list {
		declared := k.declares(p.name)
		if problems[i] == "" && p.since <= k.version && !slices.Equal(lastWord.FindAllString(p.text, -1), lastWord.FindAllString(strings.ReplaceAll(declared, " ,", ","), -1)) {
			problems[i] = "the parameters have other names"
		}
		if problems[i] != "" {
			wrong = append(wrong, fmt.Sprintf("%s: %s: %s\n\t%s:%d: %s\n\tin CUDA's header: %s", p.name, k.name(), problems[i], p.file, p.line, p.text, declared))
		}
	}
	return wrong
}

var lastWord = regexp.MustCompile(`(\w+) ?[,)]`)

var versionSuffix = regexp.MustCompile(`_v\d+`)

// checkNames checks that the header's macro for a name without a version, which C
// programs use, leads to the bound function.
func (k *toolkit) checkNames(t *testing.T, list []prototype) []string {
	t.Helper()
	var b strings.Builder
	b.WriteString(k.includes + "#define GPFIT_STRING(x) #x\n#define GPFIT_EXPAND(x) GPFIT_STRING(x)\n")
	for _, p := range list {
		if first := replaced[p.name]; first != 0 && k.version >= first {
			continue
		}
		plain := versionSuffix.ReplaceAllString(p.name, "")
		fmt.Fprintf(&b, "_Static_assert(__builtin_strcmp(GPFIT_EXPAND(%s), %q) == 0, \"%s is bound, and %s in C is another function\");\n",
			plain, p.name, p.name, plain)
	}
	return k.compile(t, b.String())
}

// typeAsserts returns assertions about the sizes of types, and about which types are pointers.
func typeAsserts() []string {
	class := map[kind]int{integer: 1, enumeration: 1, handle: 5, real: 8} // as GCC numbers them
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(ctypes)) {
		c := ctypes[name]
		line := fmt.Sprintf("_Static_assert(sizeof(%s) == %d", name, c.size)
		if c.kind != aggregate {
			line += fmt.Sprintf(" && __builtin_classify_type((%s)0) == %d", name, class[c.kind])
		}
		line += fmt.Sprintf(", %q);", name)
		lines = append(lines, since(lateTypes[name], line))
	}
	for second, first := range synonyms {
		lines = append(lines, fmt.Sprintf("_Static_assert(__builtin_types_compatible_p(%s, %s), %q);", second, first, second))
	}
	return lines
}

func since(version int, line string) string {
	if version == 0 {
		return line
	}
	return fmt.Sprintf("#if CUDA_VERSION >= %d\n%s\n#endif", version, line)
}

// constantAsserts returns assertions about the value and the enumeration of each enumerator.
func constantAsserts(s *source) []string {
	var lines []string
	values := s.integers()
	for _, name := range slices.Sorted(maps.Keys(values)) {
		c := constants[name]
		if c.name != "" {
			line := fmt.Sprintf("%s gpfit_%s_%s = %s; %s", c.ctype, s.Name, name, c.name, equal(c.name, values[name]))
			lines = append(lines, since(max(lateTypes[c.ctype], lateEnumerators[c.name]), line))
		}
	}
	return lines
}

func equal(name string, value int64) string {
	return fmt.Sprintf("_Static_assert(%s == %d, \"%s is not %d\");", name, value, name, value)
}

// codeAsserts returns assertions about the error codes that driver names.
func codeAsserts(s *source) []string {
	var lines []string
	for key, value := range elements(s.variables()["codes"]) {
		lines = append(lines, equal(s.text(value.(*ast.CompositeLit).Elts[0]), s.number(key)))
	}
	return lines
}

// statusAsserts returns assertions about the statuses that mathlib names.
func statusAsserts(s *source) []string {
	var lines []string
	for variable, prefix := range map[string]string{
		"cublasNames": "CUBLAS_STATUS_", "cusolverNames": "CUSOLVER_STATUS_",
	} {
		for key, value := range elements(s.variables()[variable]) {
			lines = append(lines, equal(prefix+s.text(value), s.number(key)))
		}
	}
	return lines
}

// layoutAsserts returns assertions about the fields of CUDA_MEMCPY2D.
func layoutAsserts(s *source) []string {
	var lines []string
	for i, f := range s.copyLayout() {
		lines = append(lines, fmt.Sprintf(
			"_Static_assert(offsetof(CUDA_MEMCPY2D, %[1]s) == %[2]d && sizeof(((CUDA_MEMCPY2D *)0)->%[1]s) == %[3]d, \"%[1]s\");",
			copyFields[i], f.offset, f.size))
	}
	return lines
}

// TestShim checks that driver/include/cuda.h declares for gorgonia.org/cu what the real
// header declares for the old names.
func TestShim(t *testing.T) {
	k := needToolkit(t)
	shim := testcheck.Get(filepath.Abs("../../device/cuda/driver/include"))(t)
	k.flags = append([]string{"-I" + shim}, k.flags...)
	for _, w := range k.compile(t, k.headers()) {
		t.Errorf("%s: %s", k.name(), w)
	}
}

// mutations are wrong prototypes. The calls, the headers (h), or both (b) must detect each of them.
var mutations = []struct{ in, function, old, new, found string }{
	{"driver", "cuDeviceTotalMem_v2", "size_t *bytes", "unsigned int *bytes", "b"},
	{"driver", "cuMemAlloc_v2", "size_t bytesize", "unsigned int bytesize", "b"},
	{"driver", "cuMemAlloc_v2", "CUdeviceptr *dptr", "CUdeviceptr dptr", "b"},
	{"driver", "cuDeviceGet", "CUdevice *device, int ordinal", "int ordinal, CUdevice *device", "b"},
	{"driver", "cuCtxSetCurrent", "CUcontext ctx", "CUstream ctx", "h"},
	{"driver", "cuStreamCreateWithPriority", "unsigned int flags", "size_t flags", "h"},
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
	{"mathlib", "cublasDgemm_v2_64", "const double *alpha, const double *A", "const double *A, const double *alpha", "b"},
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
	packages := bound
	for _, m := range mutations {
		if !slices.Contains(packages, m.in) {
			continue
		}
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
	type change struct{ old, new string }
	changes := []change{
		{"CU_DEVICE_ATTRIBUTE_CLOCK_RATE == 13", "CU_DEVICE_ATTRIBUTE_CLOCK_RATE == 14"},
		{"CUmemorytype gpfit_driver_memoryHost", "CUjit_option gpfit_driver_memoryHost"},
		{"CUDA_ERROR_ILLEGAL_ADDRESS == 700", "CUDA_ERROR_ILLEGAL_ADDRESS == 701"},
		{"offsetof(CUDA_MEMCPY2D, srcHost)", "offsetof(CUDA_MEMCPY2D, srcDevice)"},
		{"sizeof(CUDA_MEMCPY2D) == 128", "sizeof(CUDA_MEMCPY2D) == 120"},
		{"sizeof(size_t) == 8", "sizeof(size_t) == 4"},
		{"(CUdeviceptr)0) == 1", "(CUdeviceptr)0) == 5"},
		{"(cudaDataType_t, cudaDataType)", "(cudaDataType_t, cublasOperation_t)"},
	}
	for _, c := range changes {
		text := k.headers()
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

package bindings

import (
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gpfit/device/cuda/driver"
	"gpfit/device/cuda/mathlib"
	"gpfit/internal/testcheck"
)

// needLibraries skips a test if there are no libraries of a toolkit.
func needLibraries(t *testing.T) (*toolkit, mathlib.Toolkit) {
	t.Helper()
	k := needToolkit(t)
	t.Setenv(mathlib.LibraryVariable, k.dir)
	found := testcheck.Get(mathlib.Find(k.version))(t)
	return k, found
}

// owners are the libraries of the functions by the beginning of their names.
var owners = []struct{ prefix, library string }{
	{"cublas", "libcublas"}, {"cusolver", "libcusolver"},
}

// TestExports checks that the libraries export every bound function, except functions
// that came later.
func TestExports(t *testing.T) {
	k, found := needLibraries(t)
	exported := map[string]bool{}
	for _, path := range found.Files {
		library, _, _ := strings.Cut(filepath.Base(path), ".")
		for _, s := range dynamicSymbols(t, path) {
			if s.Section != elf.SHN_UNDEF && elf.ST_TYPE(s.Info) == elf.STT_FUNC {
				exported[library+":"+s.Name] = true
			}
		}
	}
	for _, name := range bound {
		if name == "driver" { // a toolkit has no libcuda
			continue
		}
		n, list := 0, readPrototypes(t, name+".h")
		for _, p := range list {
			at := slices.IndexFunc(owners, func(o struct{ prefix, library string }) bool { return strings.HasPrefix(p.name, o.prefix) })
			switch there := exported[owners[at].library+":"+p.name]; {
			case there:
				n++
			case p.since <= k.version:
				t.Errorf("%s: %s is not exported: %s", k.name(), p.name, p.text)
			}
		}
		t.Logf("%s: the libraries export %d of %d functions of package %s", k.name(), n, len(list), name)
	}
	if exported["libcublas:cublasDgemm_v3_64"] || len(exported) < 1000 {
		t.Errorf("the symbol tables are not read right: %d functions", len(exported))
	}
}

func dynamicSymbols(t *testing.T, path string) []elf.Symbol {
	t.Helper()
	f := testcheck.Get(elf.Open(path))(t)
	defer f.Close()
	symbols, err := f.DynamicSymbols()
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return symbols
}

// childVariable is set if this test runs again in a child process to load a toolkit,
// because a process loads only one.
const childVariable = "GPFIT_BINDINGS_CHILD"

// TestLoad checks that mathlib loads the libraries, with a libcuda that reports
// one device and does nothing, and that it reports the versions of their headers.
func TestLoad(t *testing.T) {
	if os.Getenv(childVariable) != "" {
		lib := testcheck.Get(mathlib.Load())(t)
		fmt.Printf("loaded CUDA %d: cuBLAS %s cuSOLVER %s\n", lib.Toolkit.Major, lib.BLAS, lib.Solver)
		return
	}
	k, _ := needLibraries(t)
	want := fmt.Sprintf("loaded CUDA %d: cuBLAS %s cuSOLVER %s\n", k.version/1000, k.versions["CUBLAS"], k.versions["CUSOLVER"])
	cmd := exec.Command(os.Args[0], "-test.run=^TestLoad$", "-test.v")
	cmd.Env = append(os.Environ(), childVariable+"=1", driver.LibraryVariable+"="+k.fakeDriver(t))
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), want) {
		t.Fatalf("%s: %v, want %s\n%s", k.name(), err, want, out)
	}
	t.Logf("%s: %s", k.name(), strings.ReplaceAll(strings.TrimSpace(want), "\n", ", "))
}

// driverName matches functions of libcuda.
var driverName = regexp.MustCompile(`^cu[A-Z]`)

// fakeDriver compiles a libcuda in which every bound function, and every other that a
// library is linked to, returns success. It compiles against NVIDIA's header.
func (k *toolkit) fakeDriver(t *testing.T) string {
	t.Helper()
	body := map[string]string{
		"cuDriverGetVersion":   "*driverVersion = CUDA_VERSION;",
		"cuDeviceGetCount":     "*count = 1;",
		"cuDeviceGet":          "*device = 0;",
		"cuDeviceGetAttribute": "*pi = attrib == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR ? 9 : 0;",
		"cuDeviceTotalMem_v2":  "*bytes = 1 << 30;",
	}
	var b strings.Builder
	b.WriteString("#define __CUDA_API_VERSION_INTERNAL\n#include <cuda.h>\n")
	defined := map[string]bool{}
	for _, p := range readPrototypes(t, "driver.h") {
		fmt.Fprintf(&b, "#undef %s\n%s { %s return CUDA_SUCCESS; }\n", p.name, strings.TrimSuffix(p.text, ";"), body[p.name])
		defined[p.name] = true
	}
	path := filepath.Join(t.TempDir(), "libcuda.so.1")
	if _, stderr, err := k.gcc(t, b.String(), "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-o", path); err != nil {
		t.Fatalf("%v\n%s", err, stderr)
	}
	return path
}

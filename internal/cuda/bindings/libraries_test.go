package bindings

import (
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gpfit/internal/cuda/driver"
	"gpfit/internal/cuda/mathlib"
	"gpfit/internal/must"
)

// needLibraries skips a test if there are no libraries of a toolkit.
func needLibraries(t *testing.T) (*toolkit, mathlib.Toolkit) {
	t.Helper()
	k := needToolkit(t)
	t.Setenv(mathlib.LibraryVariable, k.dir)
	found := must.Get(mathlib.Find(k.version))(t)
	return k, found
}

// TestExports checks that the libraries export every bound function, except functions
// that came later.
func TestExports(t *testing.T) {
	k, found := needLibraries(t)
	exported := map[string]string{}
	for _, path := range found.Files {
		library, _, _ := strings.Cut(filepath.Base(path), ".")
		f := must.Get(elf.Open(path))(t)
		symbols, err := f.DynamicSymbols()
		f.Close()
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		for _, s := range symbols {
			if s.Section != elf.SHN_UNDEF && elf.ST_TYPE(s.Info) == elf.STT_FUNC {
				exported[library+":"+s.Name] = path
			}
		}
	}
	n, list := 0, readPrototypes(t, "mathlib.h")
	for _, p := range list {
		library := "libcublas:"
		if strings.HasPrefix(p.name, "cusolver") {
			library = "libcusolver:"
		}
		switch there := exported[library+p.name] != ""; {
		case there:
			n++
		case p.since <= k.version:
			t.Errorf("%s: %s is not exported: %s", k.name(), p.name, p.text)
		}
	}
	if exported["libcublas:cublasDgemm_v3_64"] != "" || len(exported) < 1000 {
		t.Errorf("the symbol tables are not read right: %d functions", len(exported))
	}
	t.Logf("%s: %d of %d functions are exported, among %d", k.name(), n, len(list), len(exported))
}

// childVariable is set if this test runs again in a child process to load a toolkit,
// because a process loads only one.
const childVariable = "GPFIT_BINDINGS_CHILD"

// TestLoad checks that mathlib loads the libraries, with a libcuda that reports one
// device and does nothing, and that they report the versions of their headers.
func TestLoad(t *testing.T) {
	if os.Getenv(childVariable) != "" {
		lib := must.Get(mathlib.Load())(t)
		fmt.Printf("loaded CUDA %d: BLAS %s solver %s\n", lib.Toolkit.Major, lib.BLAS, lib.Solver)
		return
	}
	k, _ := needLibraries(t)
	cmd := exec.Command(os.Args[0], "-test.run=^TestLoad$", "-test.v")
	cmd.Env = append(os.Environ(), childVariable+"=1", driver.LibraryVariable+"="+k.fakeDriver(t))
	out, err := cmd.CombinedOutput()
	want := fmt.Sprintf("loaded CUDA %d: BLAS %s solver %s\n", k.version/1000, k.blas, k.solver)
	if err != nil || !strings.Contains(string(out), want) {
		t.Fatalf("%s: %v, want %s\n%s", k.name(), err, want, out)
	}
	t.Logf("%s: %s", k.name(), want)
}

// fakeDriver compiles a libcuda in which every bound function returns success. It
// compiles against NVIDIA's header.
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
	for _, p := range readPrototypes(t, "driver.h") {
		fmt.Fprintf(&b, "#undef %s\n%s { %s return CUDA_SUCCESS; }\n", p.name, strings.TrimSuffix(p.text, ";"), body[p.name])
	}
	path := filepath.Join(t.TempDir(), "libcuda.so.1")
	if _, stderr, err := k.gcc(t, b.String(), "-shared", "-fPIC", "-o", path); err != nil {
		t.Fatalf("%v\n%s", err, stderr)
	}
	return path
}

package bindings

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"gpfit/internal/must"
)

// toolkitVariable names the folder of a toolkit: an installation, or a folder of unpacked wheels.
const toolkitVariable = "GPFIT_CUDA_TOOLKIT"

// toolkit consists of headers and libraries from NVIDIA.
type toolkit struct {
	dir   string
	flags []string // for gcc
	// version is CUDA_VERSION; blas and solver are the libraries' versions in their headers.
	version      int
	blas, solver string
	// declared maps names to the prototypes in the headers.
	declared map[string]string
}

// needToolkit skips a test without a toolkit.
func needToolkit(t *testing.T) *toolkit {
	t.Helper()
	dir := os.Getenv(toolkitVariable)
	if dir == "" {
		t.Skip(toolkitVariable + " names no toolkit: internal/cuda/bindings/check.sh fetches some")
	}
	k := &toolkit{dir: dir, flags: []string{"-std=gnu11", "-I" + stub(t)}}
	for _, pattern := range []string{"include", "nvidia/*/include"} {
		found, _ := filepath.Glob(filepath.Join(dir, pattern))
		for _, include := range found {
			k.flags = append(k.flags, "-isystem", include)
		}
	}
	k.readVersions(t)
	k.readDeclarations(t)
	return k
}

// stub returns a folder with an empty nv/target, which cuda_fp16.h includes and which
// belongs to a separate wheel.
func stub(t *testing.T) string {
	dir := t.TempDir()
	must.Do(t, os.Mkdir(filepath.Join(dir, "nv"), 0o755))
	must.Do(t, os.WriteFile(filepath.Join(dir, "nv", "target"), nil, 0o644))
	return dir
}

// headers includes the headers that declare the functions, with the versions of
// libcuda's functions that macros hide.
const headers = "#define __CUDA_API_VERSION_INTERNAL\n" + plainHeaders

const plainHeaders = "#include <stddef.h>\n#include <stdint.h>\n#include <cuda.h>\n#include <cublas_v2.h>\n#include <cusolverDn.h>\n"

// gcc compiles a text and returns its output; a failed compilation is not an error here.
func (k *toolkit) gcc(t *testing.T, text string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "check.c")
	must.Do(t, os.WriteFile(file, []byte(text), 0o644))
	cmd := exec.Command("gcc", append(append(args, k.flags...), file)...)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	var out, errors strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errors
	err = cmd.Run()
	return out.String(), errors.String(), err
}

// compile returns the errors of a text, one line each.
func (k *toolkit) compile(t *testing.T, text string) []string {
	t.Helper()
	_, stderr, err := k.gcc(t, text, "-fsyntax-only", "-fmax-errors=0",
		"-Werror=incompatible-pointer-types", "-Werror=int-conversion", "-Werror=enum-conversion")
	if err == nil {
		return nil
	}
	var wrong []string
	for line := range strings.Lines(stderr) {
		if strings.Contains(line, " error: ") {
			wrong = append(wrong, strings.TrimSpace(line))
		}
	}
	if len(wrong) == 0 {
		wrong = append(wrong, fmt.Sprintf("gcc: %v: %s", err, stderr))
	}
	return wrong
}

var versionLine = regexp.MustCompile(`(?m)^gpfit_(\w+) (\d+) (\d+) (\d+)$`)

func (k *toolkit) readVersions(t *testing.T) {
	t.Helper()
	out, stderr, err := k.gcc(t, plainHeaders+"gpfit_cuda CUDA_VERSION 0 0\n"+
		"gpfit_blas CUBLAS_VER_MAJOR CUBLAS_VER_MINOR CUBLAS_VER_PATCH\n"+
		"gpfit_solver CUSOLVER_VER_MAJOR CUSOLVER_VER_MINOR CUSOLVER_VER_PATCH\n", "-E", "-P")
	if err != nil {
		t.Fatalf("the headers in %s cannot be read: %v\n%s", k.dir, err, stderr)
	}
	for _, m := range versionLine.FindAllStringSubmatch(out, -1) {
		switch m[1] {
		case "cuda":
			k.version, _ = strconv.Atoi(m[2])
		case "blas":
			k.blas = strings.Join(m[2:], ".")
		case "solver":
			k.solver = strings.Join(m[2:], ".")
		}
	}
	if k.version == 0 || k.blas == "" || k.solver == "" {
		t.Fatalf("the headers in %s do not contain their versions", k.dir)
	}
}

var declaration = regexp.MustCompile(`\w+ (\w+) ?\([^(){};]*\) ?;`)

func (k *toolkit) readDeclarations(t *testing.T) {
	t.Helper()
	out, stderr, err := k.gcc(t, headers, "-E", "-P")
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr)
	}
	k.declared = map[string]string{}
	for _, m := range declaration.FindAllStringSubmatch(strings.Join(strings.Fields(out), " "), -1) {
		k.declared[m[1]] = m[0]
	}
}

// declares returns the header's prototype of a function, for messages.
func (k *toolkit) declares(name string) string {
	if p := k.declared[name]; p != "" {
		return p
	}
	return "not declared"
}

// name returns the toolkit's name for messages.
func (k *toolkit) name() string { return fmt.Sprintf("CUDA %d.%d", k.version/1000, k.version%1000/10) }

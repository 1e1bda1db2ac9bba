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

	"gpfit/internal/testcheck"
)

// toolkitVariable names the folder of a toolkit: an installation, or a folder of unpacked wheels.
const toolkitVariable = "GPFIT_CUDA_TOOLKIT"

// toolkit consists of headers and libraries from NVIDIA.
type toolkit struct {
	dir   string
	flags []string // for gcc
	// includes are the lines that include the headers.
	includes string
	// version is CUDA_VERSION; versions has the version of each library in its header.
	version  int
	versions map[string]string
	// declared maps names to the prototypes in the headers.
	declared map[string]string
}

// needToolkit skips a test without a toolkit.
func needToolkit(t *testing.T) *toolkit {
	t.Helper()
	dir := os.Getenv(toolkitVariable)
	if dir == "" {
		t.Skip(toolkitVariable + " names no toolkit: tools/bindings/check.sh fetches some")
	}
	k := &toolkit{dir: dir, flags: []string{"-std=gnu11", "-I" + stub(t)}}
	for _, include := range k.folders("include") {
		k.flags = append(k.flags, "-isystem", include)
	}
	k.includes = baseIncludes
	k.readVersions(t)
	k.readDeclarations(t)
	return k
}

// folders returns the folders of a name, "include" or "lib", of an installation or of wheels.
func (k *toolkit) folders(name string) []string {
	var all []string
	for _, pattern := range []string{name, "nvidia/*/" + name, "nvidia/*/*/" + name} {
		found, _ := filepath.Glob(filepath.Join(k.dir, pattern)) // the pattern is well-formed
		all = append(all, found...)
	}
	return all
}

// stub returns a folder with an empty nv/target, which cuda_fp16.h includes and which
// belongs to a separate wheel.
func stub(t *testing.T) string {
	dir := t.TempDir()
	testcheck.Do(t, os.Mkdir(filepath.Join(dir, "nv"), 0o755))
	testcheck.Do(t, os.WriteFile(filepath.Join(dir, "nv", "target"), nil, 0o644))
	return dir
}

const baseIncludes = "#include <stddef.h>\n#include <stdint.h>\n#include <cuda.h>\n#include <cublas_v2.h>\n#include <cusolverDn.h>\n"

// headers returns the lines that include the headers, with the versions of libcuda's functions that macros hide.
func (k *toolkit) headers() string { return "#define __CUDA_API_VERSION_INTERNAL\n" + k.includes }

// gcc compiles a text and returns its output; a failed compilation is not an error here.
func (k *toolkit) gcc(t *testing.T, text string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "check.c")
	testcheck.Do(t, os.WriteFile(file, []byte(text), 0o644))
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
	text := k.includes + "gpfit_cuda CUDA_VERSION 0 0\n"
	libraries := []string{"CUBLAS", "CUSOLVER"}
	for _, name := range libraries {
		text += fmt.Sprintf("gpfit_%[1]s %[1]s_VER_MAJOR %[1]s_VER_MINOR %[1]s_VER_PATCH\n", name)
	}
	out, stderr, err := k.gcc(t, text, "-E", "-P")
	if err != nil {
		t.Fatalf("the headers in %s cannot be read: %v\n%s", k.dir, err, stderr)
	}
	k.versions = map[string]string{}
	for _, m := range versionLine.FindAllStringSubmatch(out, -1) {
		k.versions[m[1]] = strings.Join(m[2:], ".")
		if m[1] == "cuda" {
			k.version, _ = strconv.Atoi(m[2])
		}
	}
	if len(k.versions) != strings.Count(text, "gpfit_") {
		t.Fatalf("the headers in %s do not contain their versions", k.dir)
	}
}

var declaration = regexp.MustCompile(`\w+ (\w+) ?\([^(){};]*\) ?;`)

func (k *toolkit) readDeclarations(t *testing.T) {
	t.Helper()
	out, stderr, err := k.gcc(t, k.headers(), "-E", "-P")
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

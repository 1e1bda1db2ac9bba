package emulator

import (
	"crypto/sha256"
	"embed"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"gpfit/device/cuda/native"
	"gpfit/internal/filelock"
)

// activeVariable holds the folder of the build in a process on the emulated device.
const activeVariable = "GPFIT_EMU_ACTIVE"

//go:embed csrc
var sources embed.FS

// Paths locates the libraries that were built.
type Paths struct {
	// Root is the folder of the build.
	Root string
	// Driver is the emulated libcuda.so.1.
	Driver string
}

var build = sync.OnceValues(func() (*Paths, error) {
	if !native.Supported {
		return nil, errors.New("this build has no GPU code, or is not for Linux on amd64 or arm64")
	}
	if root := os.Getenv(activeVariable); root != "" {
		return paths(root), nil // built by the process that started this one
	}
	with, err := compilers()
	if err != nil {
		return nil, err
	}
	key, err := with.fingerprint()
	if err != nil {
		return nil, err
	}
	base, err := os.UserCacheDir()
	if err != nil {
		base = os.TempDir()
	}
	parent := filepath.Join(base, "gpfit-emulator")
	root := filepath.Join(parent, key)
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return nil, err
	}
	return paths(root), with.compileOnce(parent, root)
})

// compileOnce builds what does not exist yet. If several test packages run at the same
// time, one compiles and the others wait for it, as long as that takes.
func (with toolchain) compileOnce(parent, root string) error {
	there := func() bool {
		_, err := os.Stat(root)
		return err == nil
	}
	if there() {
		return nil
	}
	lock, err := os.OpenFile(filepath.Join(parent, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer lock.Close()
	// Without file locks several packages compile, which is only slower.
	_ = filelock.Try(lock, true, 5*time.Minute)
	if there() {
		return nil
	}
	return with.compileInto(parent, root)
}

func paths(root string) *Paths {
	return &Paths{Root: root, Driver: filepath.Join(root, "driver", "libcuda.so.1")}
}

// toolchain is a C compiler for the libraries and a C++ compiler for the code that executes PTX,
// with the flag, if it has one, that makes it use all instructions of this processor.
type toolchain struct{ cc, cxx, native string }

// compilers finds the compilers: $CC, cc, gcc or clang, and $CXX, c++, g++ or clang++.
func compilers() (with toolchain, err error) {
	if with.cc = first(os.Getenv("CC"), "cc", "gcc", "clang"); with.cc == "" {
		return with, errors.New("there is no C compiler (cc, gcc, clang, or $CC)")
	}
	if with.cxx = first(os.Getenv("CXX"), "c++", "g++", "clang++"); with.cxx == "" {
		return with, errors.New("there is no C++ compiler (c++, g++, clang++, or $CXX)")
	}
	for _, flag := range []string{"-march=native", "-mcpu=native"} {
		if _, err := with.macros(flag); err == nil {
			with.native = flag
			break
		}
	}
	return with, nil
}

// macros returns the macros that the C++ compiler defines with the given flags. They
// identify its version and the processor's instructions.
func (with toolchain) macros(flags ...string) ([]byte, error) {
	return exec.Command(with.cxx, append(flags, "-dM", "-E", "-x", "c++", "/dev/null")...).Output()
}

// objectFlags returns the flags for the code that executes PTX: the compiler fuses
// multiplications and additions only where PTX does, and integers wrap around.
func (with toolchain) objectFlags() []string {
	list := []string{"-std=c++17", "-fPIC", "-pthread", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math",
		"-fwrapv", "-fvisibility=hidden", "-Wall"}
	if with.native != "" {
		list = append(list, with.native)
	}
	return list
}

// first returns the path of the first program that exists.
func first(names ...string) string {
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// files returns all sources, keyed by their names.
func files() (map[string][]byte, error) {
	all := map[string][]byte{}
	entries, err := sources.ReadDir("csrc")
	for _, e := range entries {
		if err == nil {
			all[e.Name()], err = sources.ReadFile("csrc/" + e.Name())
		}
	}
	return all, err
}

// fingerprint identifies a build by its sources, the steps in this file and the compilers.
func (with toolchain) fingerprint() (string, error) {
	all, err := files()
	if err != nil {
		return "", err
	}
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(h, "%s %d\n%s", name, len(all[name]), all[name])
	}
	for _, compiler := range []string{with.cc, with.cxx} {
		version, err := exec.Command(compiler, "--version").Output()
		if err != nil {
			return "", fmt.Errorf("%s does not run: %w", compiler, err)
		}
		h.Write(version)
	}
	macros, err := with.macros(with.objectFlags()...)
	if err != nil {
		return "", fmt.Errorf("%s does not run: %w", with.cxx, err)
	}
	h.Write(macros)
	fmt.Fprint(h, runtime.GOARCH, flags, with.objectFlags(), hot, optimization(hot[0]), plan)
	return fmt.Sprintf("%x", h.Sum(nil)[:8]), nil
}

// compileInto builds in a temporary folder and renames it, so that test packages that
// run at the same time never see an incomplete build.
func (with toolchain) compileInto(parent, root string) error {
	tmp, err := os.MkdirTemp(parent, "build-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	all, err := files()
	if err != nil {
		return err
	}
	src := filepath.Join(tmp, "src")
	if err := os.Mkdir(src, 0o755); err != nil {
		return err
	}
	for name, text := range all {
		if err := os.WriteFile(filepath.Join(src, name), text, 0o644); err != nil {
			return err
		}
	}
	if err := with.compileObjects(src); err != nil {
		return err
	}
	for _, l := range plan {
		if err := l.link(with.cc, tmp, src); err != nil {
			return err
		}
	}
	if err := layouts(tmp); err != nil {
		return err
	}
	if err := os.Rename(tmp, root); err != nil {
		if _, statErr := os.Stat(root); statErr == nil {
			return nil // another process finished first
		}
		return err
	}
	return nil
}

// objects are compiled from C++.
var objects = []string{"ptx_arithmetic.o", "ptx_memory.o", "ptx_conversions.o", "ptx_decode.o", "ptx_device.o", "ptx_registers.o",
	"ptx_parser.o", "ptx_block.o", "ptx_exchange.o", "ptx_lexer.o", "ptx_clock.o"}

// hot are the objects whose loops over threads take most of the tests' time.
var hot = []string{"ptx_arithmetic.o", "ptx_memory.o", "ptx_block.o"}

// optimization returns the compiler's flags for an object. The loops over threads, whose number the compiler does not
// know, are vectorized, which halves the time of the tests. Otherwise higher levels take more time to compile than they save.
func optimization(object string) []string {
	if slices.Contains(hot, object) {
		return []string{"-O2", "-ftree-vectorize", "-fvect-cost-model=dynamic"}
	}
	return []string{"-O1"}
}

// compileObjects compiles as many objects at a time as there are processors.
func (with toolchain) compileObjects(src string) error {
	failed := make([]error, len(objects))
	turns := make(chan struct{}, runtime.NumCPU())
	var all sync.WaitGroup
	for i, object := range objects {
		turns <- struct{}{}
		all.Go(func() {
			from := strings.TrimSuffix(object, ".o") + ".cpp"
			failed[i] = run(src, with.cxx, slices.Concat(with.objectFlags(), optimization(object), []string{"-c", "-o", object, from})...)
			<-turns
		})
	}
	all.Wait()
	return errors.Join(failed...)
}

// run runs a compiler in a folder.
func run(dir, compiler string, args ...string) error {
	cmd := exec.Command(compiler, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", compiler, strings.Join(args, " "), err, out)
	}
	return nil
}

var flags = []string{"-std=gnu11", "-O3", "-fPIC", "-shared", "-fvisibility=hidden", "-Wall", "-Werror"}

// library is one shared library to build.
type library struct {
	path    string   // in the root
	sources []string // C files, or objects
	defines string
	needs   []string // paths of libraries that it is linked to
}

// plan builds each library of CUDA 12 and CUDA 13 once; layouts copies them.
var plan = slices.Concat(
	[]library{{path: "driver/libcuda.so.1", sources: append([]string{"cuda_core.c", "cuda_memory.c", "cuda_execution.c", "cuda_queue.c", "cuda_library.c"}, objects...)}},
	toolkitPlan(12, 11), toolkitPlan(13, 12),
	[]library{{path: "lacking12/libcublas.so.12", sources: []string{"empty.c"}, needs: []string{"12/libcublasLt.so.12"}}},
)

// toolkitFiles returns the paths of the libraries of a CUDA version, given the version of
// its cuSOLVER, in the order in which they are built.
func toolkitFiles(cuda, solver int) (files []string) {
	for _, l := range []struct {
		name    string
		version int
	}{{"nvJitLink", cuda}, {"cublasLt", cuda}, {"cublas", cuda}, {"cusparse", 12}, {"cusolver", solver}} {
		files = append(files, fmt.Sprintf("%d/lib%s.so.%d", cuda, l.name, l.version))
	}
	return files
}

func toolkitPlan(cuda, solver int) []library {
	f, empty := toolkitFiles(cuda, solver), []string{"empty.c"}
	return []library{
		{path: f[0], sources: empty},
		{path: f[1], sources: empty},
		{path: f[2], sources: []string{"cublas.c", "blas.c"}, defines: fmt.Sprintf("-DMAJOR=%d", cuda), needs: f[1:2]},
		{path: f[3], sources: empty, needs: f[:1]},
		{path: f[4], sources: []string{"cusolver.c", "blas.c"}, defines: fmt.Sprintf("-DMAJOR=%d", solver), needs: []string{f[2], f[1], f[3], f[0]}},
	}
}

func (l library) link(cc, root, src string) error {
	out := filepath.Join(root, l.path)
	if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
		return err
	}
	args := append(slices.Clone(flags), "-o", out, "-Wl,-soname,"+filepath.Base(l.path), "-Wl,--no-as-needed")
	if l.defines != "" {
		args = append(args, l.defines)
	}
	args = append(args, l.sources...)
	for _, n := range l.needs {
		args = append(args, filepath.Join(root, n))
	}
	// The libraries that it needs in turn need others, which the linker must find too.
	args = append(args, "-Wl,-rpath-link,"+filepath.Dir(out), "-lpthread", "-ldl", "-lm")
	if slices.Contains(l.sources, objects[0]) {
		args = append(args, "-lstdc++")
	}
	return run(src, cc, args...)
}

// layouts arranges the libraries in the folders of toolkits and wheels.
func layouts(root string) error {
	old, newer := toolkitFiles(12, 11), toolkitFiles(13, 12)
	folders := map[string][]string{
		"cuda12/lib64":             old,
		"cuda13/lib64":             newer,
		"wheels13/nvidia/cu13/lib": newer,
		"mixed/lib64":              append(slices.Clone(old[:4]), newer[4], newer[0]),
		"mixedsparse/lib64":        {old[0], old[1], old[2], newer[3], old[4]},
		"incomplete/lib64":         old[:4],
		"lacking/lib64":            {old[0], old[1], "lacking12/libcublas.so.12", old[3], old[4]},

		"wheels12/nvidia/nvjitlink/lib": old[:1],
		"wheels12/nvidia/cublas/lib":    old[1:3],
		"wheels12/nvidia/cusparse/lib":  old[3:4],
		"wheels12/nvidia/cusolver/lib":  old[4:],
	}
	var errs []error
	for folder, files := range folders {
		errs = append(errs, os.MkdirAll(filepath.Join(root, folder), 0o755))
		for _, f := range files {
			errs = append(errs, os.Link(filepath.Join(root, f), filepath.Join(root, folder, filepath.Base(f))))
		}
	}
	return errors.Join(errs...)
}

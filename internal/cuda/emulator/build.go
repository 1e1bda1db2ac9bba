package emulator

import (
	"crypto/sha256"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"gpfit/internal/filelock"
)

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
	if err := supported(); err != nil {
		return nil, err
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

// toolchain is a C compiler for the libraries and a C++ compiler for the code that
// executes PTX, with the flag, if it has one, that makes it use all instructions of
// this processor.
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

// files returns all sources, keyed by their names without folders.
func files() (map[string][]byte, error) {
	all := map[string][]byte{}
	err := fs.WalkDir(sources, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		all[filepath.Base(path)], err = sources.ReadFile(path)
		return err
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// fingerprint identifies a build by its sources, the steps in this file and the
// compilers.
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
	"ptx_parser.o", "ptx_block.o", "ptx_exchange.o", "ptx_lexer.o"}

// hot are the objects whose loops over threads take most of the tests' time.
var hot = []string{"ptx_arithmetic.o", "ptx_memory.o", "ptx_block.o"}

// optimization returns the compiler's level for an object. Higher levels take more time
// to compile than they save.
func optimization(object string) string {
	if slices.Contains(hot, object) {
		return "-O2"
	}
	return "-O1"
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
			failed[i] = run(src, with.cxx, append(with.objectFlags(), optimization(object), "-c", "-o", object, from)...)
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
var plan = []library{
	{path: "driver/libcuda.so.1", sources: append([]string{"cuda_core.c", "cuda_memory.c", "cuda_execution.c", "cuda_library.c"}, objects...)},

	{path: "12/libnvJitLink.so.12", sources: []string{"empty.c"}},
	{path: "12/libcublasLt.so.12", sources: []string{"empty.c"}},
	{path: "12/libcublas.so.12", sources: []string{"cublas.c", "blas.c"}, defines: "-DMAJOR=12", needs: []string{"12/libcublasLt.so.12"}},
	{path: "12/libcusparse.so.12", sources: []string{"empty.c"}, needs: []string{"12/libnvJitLink.so.12"}},
	{path: "12/libcusolver.so.11", sources: []string{"cusolver.c", "blas.c"}, defines: "-DMAJOR=11",
		needs: []string{"12/libcublas.so.12", "12/libcublasLt.so.12", "12/libcusparse.so.12", "12/libnvJitLink.so.12"}},

	{path: "13/libnvJitLink.so.13", sources: []string{"empty.c"}},
	{path: "13/libcublasLt.so.13", sources: []string{"empty.c"}},
	{path: "13/libcublas.so.13", sources: []string{"cublas.c", "blas.c"}, defines: "-DMAJOR=13", needs: []string{"13/libcublasLt.so.13"}},
	{path: "13/libcusparse.so.12", sources: []string{"empty.c"}, needs: []string{"13/libnvJitLink.so.13"}},
	{path: "13/libcusolver.so.12", sources: []string{"cusolver.c", "blas.c"}, defines: "-DMAJOR=12",
		needs: []string{"13/libcublas.so.13", "13/libcublasLt.so.13", "13/libcusparse.so.12", "13/libnvJitLink.so.13"}},

	{path: "lacking12/libcublas.so.12", sources: []string{"empty.c"}, needs: []string{"12/libcublasLt.so.12"}},
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
	all12 := []string{"12/libnvJitLink.so.12", "12/libcublasLt.so.12", "12/libcublas.so.12", "12/libcusparse.so.12", "12/libcusolver.so.11"}
	all13 := []string{"13/libnvJitLink.so.13", "13/libcublasLt.so.13", "13/libcublas.so.13", "13/libcusparse.so.12", "13/libcusolver.so.12"}
	wheels := map[string]string{"libnvJitLink": "nvjitlink", "libcublasLt": "cublas", "libcublas": "cublas", "libcusparse": "cusparse", "libcusolver": "cusolver"}
	put := func(folder string, files ...string) error {
		for _, f := range files {
			to := filepath.Join(root, folder, filepath.Base(f))
			if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
				return err
			}
			if err := os.Link(filepath.Join(root, f), to); err != nil {
				return err
			}
		}
		return nil
	}
	steps := []error{
		put("cuda12/lib64", all12...),
		put("cuda13/lib64", all13...),
		put("wheels13/nvidia/cu13/lib", all13...),
		put("mixed/lib64", append(append([]string{}, all12[:4]...), all13[4], all13[0])...),
		put("mixedsparse/lib64", all12[0], all12[1], all12[2], all13[3], all12[4]),
		put("incomplete/lib64", all12[:4]...),
		put("lacking/lib64", all12[0], all12[1], "lacking12/libcublas.so.12", all12[3], all12[4]),
	}
	for _, f := range all12 {
		stem, _, _ := strings.Cut(filepath.Base(f), ".")
		steps = append(steps, put("wheels12/nvidia/"+wheels[stem]+"/lib", f))
	}
	return errors.Join(steps...)
}

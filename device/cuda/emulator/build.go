package emulator

import (
	"crypto/sha256"
	"embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
)

//go:embed csrc
var sources embed.FS

// Paths are the libraries that were built.
type Paths struct {
	// Root is the folder of all of it.
	Root string
	// Driver is the emulated libcuda.so.1.
	Driver string
	// TestKernels has the kernels axpy, geometry, constant and fault, for the
	// tests of the driver itself.
	TestKernels string
}

var build = sync.OnceValues(func() (*Paths, error) {
	if err := supported(); err != nil {
		return nil, err
	}
	if root := os.Getenv(activeVariable); root != "" {
		return paths(root), nil // as the process that started this one
	}
	cc, err := compiler()
	if err != nil {
		return nil, err
	}
	key, err := fingerprint(cc)
	if err != nil {
		return nil, err
	}
	base, err := os.UserCacheDir()
	if err != nil {
		base = os.TempDir()
	}
	parent := filepath.Join(base, "gpfit-emulator")
	root := filepath.Join(parent, key)
	if _, err := os.Stat(root); err != nil {
		if err := os.MkdirAll(parent, 0o700); err != nil {
			return nil, err
		}
		if err := compileInto(parent, root, cc); err != nil {
			return nil, err
		}
	}
	return paths(root), nil
})

func paths(root string) *Paths {
	return &Paths{
		Root:        root,
		Driver:      filepath.Join(root, "driver", "libcuda.so.1"),
		TestKernels: filepath.Join(root, "libtestkernels.so"),
	}
}

// compiler returns the C compiler: $CC, cc, gcc or clang.
func compiler() (string, error) {
	for _, name := range []string{os.Getenv("CC"), "cc", "gcc", "clang"} {
		if name == "" {
			continue
		}
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("there is no C compiler (cc, gcc, clang, or $CC)")
}

// fingerprint names a build by its sources, this file's steps and the compiler.
func fingerprint(cc string) (string, error) {
	h := sha256.New()
	entries, err := sources.ReadDir("csrc")
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		b, err := sources.ReadFile("csrc/" + e.Name())
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "%s %d\n%s", e.Name(), len(b), b)
	}
	version, err := exec.Command(cc, "--version").Output()
	if err != nil {
		return "", fmt.Errorf("%s does not run: %w", cc, err)
	}
	fmt.Fprintf(h, "%s %s %s %v", version, runtime.GOARCH, flags, plan)
	return fmt.Sprintf("%x", h.Sum(nil)[:8]), nil
}

// compileInto builds in a temporary folder and renames it, so that test
// packages that run at the same time do not see half a build.
func compileInto(parent, root, cc string) error {
	tmp, err := os.MkdirTemp(parent, "build-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	src := filepath.Join(tmp, "src")
	if err := os.CopyFS(tmp, sources); err != nil {
		return err
	}
	if err := os.Rename(filepath.Join(tmp, "csrc"), src); err != nil {
		return err
	}
	for _, l := range plan {
		if err := l.link(cc, tmp, src); err != nil {
			return err
		}
	}
	if err := layouts(tmp); err != nil {
		return err
	}
	if err := os.Rename(tmp, root); err != nil {
		if _, statErr := os.Stat(root); statErr == nil {
			return nil // another process was first
		}
		return err
	}
	return nil
}

var flags = []string{"-std=gnu11", "-O3", "-fPIC", "-shared", "-fvisibility=hidden", "-Wall", "-Werror"}

// library is one shared library to build.
type library struct {
	path    string   // in the root
	sources []string // C files
	defines string
	needs   []string // paths of libraries that it is linked to
}

// plan builds each library of CUDA 12 and CUDA 13 once; layouts copies them.
var plan = []library{
	{path: "driver/libcuda.so.1", sources: []string{"cuda_core.c", "cuda_memory.c", "cuda_execution.c"}},
	{path: "libtestkernels.so", sources: []string{"testkernels.c"}},

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
	args := append(append([]string{}, flags...), "-o", out, "-Wl,-soname,"+filepath.Base(l.path), "-Wl,--no-as-needed")
	if l.defines != "" {
		args = append(args, l.defines)
	}
	for _, s := range l.sources {
		args = append(args, filepath.Join(src, s))
	}
	for _, n := range l.needs {
		args = append(args, filepath.Join(root, n))
	}
	// The needed libraries need others, which the linker must find too.
	args = append(args, "-Wl,-rpath-link,"+filepath.Dir(out), "-lpthread", "-ldl", "-lm")
	if b, err := exec.Command(cc, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s cannot compile %s: %w\n%s", cc, l.path, err, b)
	}
	return nil
}

// layouts lays the libraries out as toolkits and wheels are.
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

package mathlib

import (
	"debug/elf"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"gpfit/device/cuda/driver"
)

// LibraryVariable is the environment variable that names the folder of the
// libraries, or of the toolkit or wheels around it.
const LibraryVariable = "GPFIT_CUDA_LIB"

// Toolkit is a set of libraries of one CUDA toolkit.
type Toolkit struct {
	// Major is the version of CUDA, 12 or 13.
	Major int
	// Place describes where it was found, for example "/usr/local/cuda".
	Place string
	// Files are the paths in the order in which they must be loaded.
	Files []string
}

// generation names the libraries of a version of CUDA in the order in which they are
// loaded, dependencies first.
type generation struct {
	major            int
	files            []string
	cublas, cusolver string
}

var generations = []generation{newGeneration(13, 12), newGeneration(12, 11)}

func newGeneration(major, solver int) generation {
	cublas, cusolver := fmt.Sprintf("libcublas.so.%d", major), fmt.Sprintf("libcusolver.so.%d", solver)
	first := []string{fmt.Sprintf("libnvJitLink.so.%d", major), fmt.Sprintf("libcublasLt.so.%d", major)}
	return generation{major, append(first, cublas, "libcusparse.so.12", cusolver), cublas, cusolver}
}

// family matches the names of libraries that must all come from one toolkit.
var family = regexp.MustCompile(`^lib(nvJitLink|cublasLt|cublas|cusparse|cusolver)\.so\.`)

// place is a possible location of a toolkit: folders that are searched together.
type place struct {
	name string
	dirs []string
	// loader marks the loader's path, whose folders may contain different toolkits.
	loader bool
}

// Find looks for a toolkit that works with the given driver version, without loading anything.
func Find(driverVersion int) (Toolkit, error) {
	kits, fail := search(places(os.Getenv), driverVersion)
	if len(kits) == 0 {
		return Toolkit{}, fail.err()
	}
	return kits[0], nil
}

// failures are the reasons why no usable toolkit was found or loaded.
type failures struct {
	// problems lists the toolkits found, each with the reason why it cannot be used.
	problems []string
	// looked lists the places without a toolkit.
	looked []string
}

func (e *failures) err() error {
	var b strings.Builder
	b.WriteString("cuBLAS and cuSOLVER cannot be used: ")
	if len(e.problems) > 0 {
		b.WriteString(strings.Join(e.problems, "; "))
	} else {
		b.WriteString("no CUDA 12 or 13 toolkit was found")
	}
	if len(e.looked) > 0 {
		fmt.Fprintf(&b, " (nothing in %s)", strings.Join(e.looked, ", "))
	}
	fmt.Fprintf(&b, ". Install the CUDA toolkit, or the wheels nvidia-cublas-cu12 and nvidia-cusolver-cu12 with pip (the CUDA 13 wheels also need the system's libstdc++.so.6), or set %s to the folder", LibraryVariable)
	return errors.New(b.String())
}

// search returns the usable toolkits, best first, and a report of the rest.
func search(list []place, driverVersion int) ([]Toolkit, *failures) {
	var kits []Toolkit
	fail := &failures{}
	for _, p := range list {
		kit, problem := examine(p, driverVersion)
		switch {
		case problem != "":
			fail.problems = append(fail.problems, p.name+": "+problem)
		case kit != nil:
			kits = append(kits, *kit)
		case !slices.Contains(fail.looked, p.name):
			fail.looked = append(fail.looked, p.name)
		}
	}
	return kits, fail
}

// examine returns the toolkit of a place, or the reason why it cannot be used, or
// neither if the place is empty.
func examine(p place, driverVersion int) (*Toolkit, string) {
	var problems []string
	for _, g := range generations {
		found := map[string]string{}
		for _, name := range g.files {
			for _, dir := range p.dirs {
				if path := filepath.Join(dir, name); isFile(path) {
					found[name] = path
					break
				}
			}
		}
		if found[g.cublas] == "" {
			continue
		}
		if problem := check(g, p, found, driverVersion); problem != "" {
			problems = append(problems, problem)
			continue
		}
		kit := &Toolkit{Major: g.major, Place: p.name}
		for _, name := range g.files {
			if found[name] != "" {
				kit.Files = append(kit.Files, found[name])
			}
		}
		return kit, ""
	}
	return nil, strings.Join(problems, "; ")
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// check returns what is wrong with the libraries found of one generation, or "".
func check(g generation, p place, found map[string]string, driverVersion int) string {
	if g.major*1000 > driverVersion && g.major > 12 {
		return fmt.Sprintf("CUDA %d needs a driver for CUDA %d.0 or later, but this one supports %s", g.major, g.major, driver.Version(driverVersion))
	}
	if found[g.cusolver] == "" {
		for _, other := range generations {
			for _, dir := range p.dirs {
				if other.major != g.major && isFile(filepath.Join(dir, other.cusolver)) {
					return fmt.Sprintf("it mixes toolkits: %s belongs to CUDA %d, %s to CUDA %d", g.cublas, g.major, other.cusolver, other.major)
				}
			}
		}
		return fmt.Sprintf("%s exists but %s does not", g.cublas, g.cusolver)
	}
	roots := map[string]string{}
	for _, name := range g.files {
		path := found[name]
		if path == "" {
			continue
		}
		if p.loader {
			roots[root(path)] = path
		}
		needed, err := neededBy(path)
		if err != nil {
			return err.Error()
		}
		for _, n := range needed {
			if found[n] == "" {
				return fmt.Sprintf("it mixes toolkits, or is incomplete: %s needs %s, which is not beside it", path, n)
			}
		}
	}
	if len(roots) > 1 {
		return "it mixes toolkits: " + strings.Join(slices.Sorted(maps.Values(roots)), " and ")
	}
	return ""
}

// root returns the folder that libraries of one toolkit share: for a wheel
// (nvidia/cublas/lib) the folder of all wheels, otherwise the folder itself.
func root(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	dir := filepath.Dir(path)
	if wheels := filepath.Dir(filepath.Dir(dir)); filepath.Base(wheels) == "nvidia" {
		return wheels
	}
	return dir
}

// neededBy returns the names of the family's libraries that a library is linked to.
func neededBy(path string) ([]string, error) {
	f, err := elf.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%s is not a shared library: %w", path, err)
	}
	defer f.Close()
	all, err := f.ImportedLibraries()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return slices.DeleteFunc(all, func(s string) bool { return !family.MatchString(s) }), nil
}

// architecture names this architecture as Debian's folders (triplet) and CUDA's (target) do.
func architecture() (triplet, target string) {
	if runtime.GOARCH == "arm64" {
		return "aarch64-linux-gnu", "sbsa-linux"
	}
	return "x86_64-linux-gnu", "x86_64-linux"
}

// places lists the places to search, in order of preference. The environment is a
// parameter for tests.
func places(getenv func(string) string) []place {
	if own := getenv(LibraryVariable); own != "" {
		return within(LibraryVariable+"="+own, own)
	}
	list := []place{{name: "the loader's path", dirs: loaderPath(getenv), loader: true}}
	for _, name := range []string{"CUDA_HOME", "CUDA_PATH"} {
		if dir := getenv(name); dir != "" {
			list = append(list, within(name+"="+dir, dir)...)
		}
	}
	toolkits := []string{"/usr/local/cuda"}
	for _, pattern := range []string{"/usr/local/cuda-13*", "/usr/local/cuda-12*"} {
		toolkits = append(toolkits, newestFirst(pattern)...)
	}
	for _, dir := range toolkits {
		list = append(list, within(dir, dir)...)
	}
	triplet, _ := architecture()
	list = append(list, place{name: "/usr/lib/" + triplet, dirs: []string{"/usr/lib/" + triplet}})
	var sites []string
	for _, name := range []string{"VIRTUAL_ENV", "CONDA_PREFIX"} {
		if dir := getenv(name); dir != "" {
			list = append(list, within(name+"="+dir, dir)...)
			sites = append(sites, newestFirst(filepath.Join(dir, "lib", "python3*", "site-packages"))...)
		}
	}
	if home := getenv("HOME"); home != "" {
		sites = append(sites, newestFirst(filepath.Join(home, ".local/lib/python3*/site-packages"))...)
	}
	sites = append(sites, newestFirst("/usr/local/lib/python3*/*-packages")...)
	sites = append(sites, "/usr/lib/python3/dist-packages")
	for _, dir := range sites {
		list = append(list, within(dir, dir)...)
	}
	return list
}

func newestFirst(pattern string) []string {
	dirs, _ := filepath.Glob(pattern) // sorted; the pattern is well-formed
	slices.Reverse(dirs)
	return dirs
}

// within lists the possible layouts of a named folder: the libraries themselves, a toolkit, wheels.
func within(name, dir string) []place {
	_, target := architecture()
	list := []place{
		{name: name, dirs: []string{dir}},
		{name: name, dirs: []string{filepath.Join(dir, "lib64")}},
		{name: name, dirs: []string{filepath.Join(dir, "targets", target, "lib")}},
		{name: name, dirs: []string{filepath.Join(dir, "lib")}},
	}
	for _, wheels := range []string{dir, filepath.Join(dir, "nvidia")} {
		list = append(list, place{name: name, dirs: []string{filepath.Join(wheels, "cu13", "lib")}})
		var dirs []string
		for _, wheel := range []string{"nvjitlink", "cublas", "cusparse", "cusolver"} {
			dirs = append(dirs, filepath.Join(wheels, wheel, "lib"))
		}
		list = append(list, place{name: name, dirs: dirs})
	}
	return list
}

// loaderPath lists the folders that the dynamic loader searches: LD_LIBRARY_PATH, the
// folders in /etc/ld.so.conf and its includes, and the standard ones.
func loaderPath(getenv func(string) string) []string {
	var dirs []string
	for _, dir := range strings.Split(getenv("LD_LIBRARY_PATH"), ":") {
		if dir != "" {
			dirs = append(dirs, dir)
		}
	}
	dirs = append(dirs, loaderConfig("/etc/ld.so.conf", 0)...)
	triplet, _ := architecture()
	return append(dirs, "/lib/"+triplet, "/usr/lib/"+triplet, "/lib64", "/usr/lib64", "/lib", "/usr/lib")
}

func loaderConfig(path string, depth int) []string {
	text, err := os.ReadFile(path)
	if err != nil || depth > 3 {
		return nil
	}
	var dirs []string
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "#")
		fields := strings.Fields(line)
		switch {
		case len(fields) >= 2 && fields[0] == "include":
			for _, pattern := range fields[1:] {
				if !filepath.IsAbs(pattern) {
					pattern = filepath.Join(filepath.Dir(path), pattern)
				}
				files, _ := filepath.Glob(pattern)
				for _, file := range files {
					dirs = append(dirs, loaderConfig(file, depth+1)...)
				}
			}
		case len(fields) == 1:
			dirs = append(dirs, fields[0])
		}
	}
	return dirs
}

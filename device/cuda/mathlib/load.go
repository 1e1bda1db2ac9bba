package mathlib

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"unsafe"

	"gpfit/device/cuda/driver"
	"gpfit/device/cuda/native"
)

// function is the index of a function in symbols and in Library.addresses.
type function int

// symbols are the exported names of the functions in use; handles also work without the
// optional ones, which came after CUDA 12.0.
var (
	symbols  []string
	optional = map[string]bool{}
)

func bind(symbol string) function {
	symbols = append(symbols, symbol)
	return function(len(symbols) - 1)
}

func bindOptional(symbol string) function {
	optional[symbol] = true
	return bind(symbol)
}

// These are the functions in use. The 64-bit entry points of cuBLAS exist since CUDA 12.0.
var (
	blasCreate             = bind("cublasCreate_v2")
	blasDestroy            = bind("cublasDestroy_v2")
	blasSetStream          = bind("cublasSetStream_v2")
	blasGetProperty        = bind("cublasGetProperty")
	blasSetMathMode        = bind("cublasSetMathMode")
	blasGetMathMode        = bind("cublasGetMathMode")
	blasSetStrategy        = bindOptional("cublasSetEmulationStrategy") // since CUDA 12.9
	blasGetStrategy        = bindOptional("cublasGetEmulationStrategy")
	blasGemm               = bind("cublasDgemm_v2_64")
	blasSymm               = bind("cublasDsymm_v2_64")
	blasTrsm               = bind("cublasDtrsm_v2_64")
	blasGemmBatched        = bind("cublasDgemmStridedBatched_64")
	solverCreate           = bind("cusolverDnCreate")
	solverDestroy          = bind("cusolverDnDestroy")
	solverSetStream        = bind("cusolverDnSetStream")
	solverCreateParams     = bind("cusolverDnCreateParams")
	solverDestroyParams    = bind("cusolverDnDestroyParams")
	solverGetProperty      = bind("cusolverGetProperty")
	solverPotrfSize        = bind("cusolverDnXpotrf_bufferSize")
	solverPotrf            = bind("cusolverDnXpotrf")
	solverSetDeterministic = bindOptional("cusolverDnSetDeterministicMode") // since CUDA 12.2
	solverSetMathMode      = bindOptional("cusolverDnSetMathMode")          // since CUDA 13
	solverGetMathMode      = bindOptional("cusolverDnGetMathMode")
)

// Library is cuBLAS and cuSOLVER, loaded.
type Library struct {
	// Toolkit is the toolkit that they come from.
	Toolkit Toolkit
	// BLAS and Solver are their versions, such as "12.4.5".
	BLAS, Solver string

	addresses []uintptr
}

// Load finds and loads the libraries once per process, because a second set could not be loaded
// beside the first. Without a driver the error is a [*driver.UnavailableError].
func Load() (*Library, error) { return load() }

var load = sync.OnceValues(func() (*Library, error) {
	d := driver.Detect()
	if d.Status != driver.OK {
		return nil, &driver.UnavailableError{Status: d.Status, Reason: d.Reason}
	}
	kits, fail := search(places(os.Getenv), d.DriverVersion)
	for _, kit := range kits {
		lib, final, err := open(kit)
		if err == nil {
			return lib, nil
		}
		fail.problems = append(fail.problems, fmt.Sprintf("%s: %v", kit.Place, err))
		if final {
			break
		}
	}
	return nil, fail.err()
})

// open loads a toolkit. A failure is final after the first library is loaded, because
// libraries of another toolkit would be bound to it.
func open(kit Toolkit) (lib *Library, final bool, err error) {
	lib = &Library{Toolkit: kit}
	handles := map[string]uintptr{}
	for _, path := range kit.Files {
		h, err := native.Open(path)
		if err != nil {
			return nil, len(handles) > 0, fmt.Errorf("cannot load %s: %w", path, err)
		}
		stem, _, _ := strings.Cut(filepath.Base(path), ".")
		handles[stem] = h
	}
	var missing []string
	for _, name := range symbols {
		library := handles["libcublas"]
		if strings.HasPrefix(name, "cusolver") {
			library = handles["libcusolver"]
		}
		address := native.Symbol(library, name)
		lib.addresses = append(lib.addresses, address)
		if address == 0 && !optional[name] {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		return nil, true, fmt.Errorf("the libraries lack %s (gpfit needs CUDA 12.0 or later)", strings.Join(missing, ", "))
	}
	blas, blasMajor := lib.version(blasGetProperty)
	solver, _ := lib.version(solverGetProperty)
	lib.BLAS, lib.Solver = blas, solver
	if blasMajor != kit.Major {
		return nil, true, fmt.Errorf("the loaded cuBLAS has version %s, not %d: another cuBLAS was loaded before", blas, kit.Major)
	}
	return lib, false, nil
}

// has reports whether the libraries have an optional function.
func (l *Library) has(f function) bool { return l.addresses[f] != 0 }

//go:uintptrescapes
func (l *Library) call(f function, args ...uintptr) int {
	return int(int32(native.Call(l.addresses[f], args...)))
}

// version returns the major, minor and patch level as a string, and the major level, from a
// function that takes these levels as 0, 1 and 2.
func (l *Library) version(f function) (string, int) {
	var v [3]int32
	for i := range v {
		if l.call(f, uintptr(i), uintptr(unsafe.Pointer(&v[i]))) != 0 {
			return "unknown", 0
		}
	}
	return fmt.Sprintf("%d.%d.%d", v[0], v[1], v[2]), int(v[0])
}

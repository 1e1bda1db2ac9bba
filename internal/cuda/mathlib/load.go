package mathlib

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"gpfit/internal/cuda/driver"
)

// These are indices into Library.fn.
const (
	blasCreate = iota
	blasDestroy
	blasSetStream
	blasGetProperty
	blasSetMathMode
	blasGetMathMode
	blasSetStrategy // since CUDA 12.9
	blasGetStrategy
	blasGemm
	blasSymm
	blasTrsm
	blasGemmBatched
	solverCreate
	solverDestroy
	solverSetStream
	solverCreateParams
	solverDestroyParams
	solverGetProperty
	solverPotrfSize
	solverPotrf
	solverSetDeterministic // since CUDA 12.2
	solverSetMathMode      // since CUDA 13
	solverGetMathMode
	fnCount
)

// symbols are the exported names. The 64-bit entry points of cuBLAS exist since
// CUDA 12.0.
var symbols = [fnCount]string{
	blasCreate:             "cublasCreate_v2",
	blasDestroy:            "cublasDestroy_v2",
	blasSetStream:          "cublasSetStream_v2",
	blasGetProperty:        "cublasGetProperty",
	blasSetMathMode:        "cublasSetMathMode",
	blasGetMathMode:        "cublasGetMathMode",
	blasSetStrategy:        "cublasSetEmulationStrategy",
	blasGetStrategy:        "cublasGetEmulationStrategy",
	blasGemm:               "cublasDgemm_v2_64",
	blasSymm:               "cublasDsymm_v2_64",
	blasTrsm:               "cublasDtrsm_v2_64",
	blasGemmBatched:        "cublasDgemmStridedBatched_64",
	solverCreate:           "cusolverDnCreate",
	solverDestroy:          "cusolverDnDestroy",
	solverSetStream:        "cusolverDnSetStream",
	solverCreateParams:     "cusolverDnCreateParams",
	solverDestroyParams:    "cusolverDnDestroyParams",
	solverGetProperty:      "cusolverGetProperty",
	solverPotrfSize:        "cusolverDnXpotrf_bufferSize",
	solverPotrf:            "cusolverDnXpotrf",
	solverSetDeterministic: "cusolverDnSetDeterministicMode",
	solverSetMathMode:      "cusolverDnSetMathMode",
	solverGetMathMode:      "cusolverDnGetMathMode",
}

// optional functions came after CUDA 12.0; handles also work without them.
var optional = []int{blasSetStrategy, blasGetStrategy, solverSetDeterministic, solverSetMathMode, solverGetMathMode}

// Library is cuBLAS and cuSOLVER, loaded.
type Library struct {
	// Toolkit is the toolkit that they come from.
	Toolkit Toolkit
	// BLAS and Solver are their versions, such as "12.4.5".
	BLAS, Solver string

	fn [fnCount]uintptr
}

type loadResult struct {
	lib *Library
	err error
}

var load = sync.OnceValue(func() loadResult {
	d := driver.Detect()
	if d.Status != driver.OK {
		return loadResult{err: &driver.UnavailableError{Status: d.Status, Reason: d.Reason}}
	}
	kits, fail := search(places(os.Getenv), d.DriverVersion)
	for _, kit := range kits {
		lib, final, err := open(kit)
		if err == nil {
			return loadResult{lib: lib}
		}
		fail.problems = append(fail.problems, fmt.Sprintf("%s: %v", kit.Place, err))
		if final {
			break
		}
	}
	return loadResult{err: fail.err()}
})

// Load finds and loads the libraries once per process, because a second set could not
// be loaded beside the first. Without a driver the error
// is a [*driver.UnavailableError].
func Load() (*Library, error) {
	r := load()
	return r.lib, r.err
}

// open loads a toolkit. A failure is final after the first library is loaded, because
// libraries of another toolkit would be bound to it.
func open(kit Toolkit) (lib *Library, final bool, err error) {
	lib = &Library{Toolkit: kit}
	handles := map[string]uintptr{}
	for _, path := range kit.Files {
		h, err := openLibrary(path)
		if err != nil {
			return nil, len(handles) > 0, fmt.Errorf("cannot load %s: %w", path, err)
		}
		stem, _, _ := strings.Cut(filepath.Base(path), ".")
		handles[stem] = h
	}
	var missing []string
	for i, name := range symbols {
		library := handles["libcublas"]
		if i >= solverCreate {
			library = handles["libcusolver"]
		}
		lib.fn[i] = symbol(library, name)
		if lib.fn[i] == 0 && !slices.Contains(optional, i) {
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

// version returns the major, minor and patch level as a string, and the major level.
func (l *Library) version(fn int) (string, int) {
	var v [3]int32
	for i := range v {
		if call(l.fn[fn], uintptr(i), uintptr(unsafe.Pointer(&v[i]))) != 0 {
			return "unknown", 0
		}
	}
	return fmt.Sprintf("%d.%d.%d", v[0], v[1], v[2]), int(v[0])
}

package multi

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"unsafe"

	"gpfit/device/cuda/mathlib"
	"gpfit/device/cuda/native"
)

// LibraryVariable is an environment variable that names folders with the libraries, separated by colons.
const LibraryVariable = "GPFIT_CUDA_MP_LIB"

// function is the index of a function in symbols and in Library.addresses.
type function int

// symbols are the exported names of the functions in use.
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

// These are the functions in use.
var (
	ncclVersion       = bind("ncclGetVersion")
	ncclID            = bind("ncclGetUniqueId")
	ncclInit          = bind("ncclCommInitRankScalable")
	ncclAsyncError    = bind("ncclCommGetAsyncError")
	ncclDestroy       = bind("ncclCommDestroy")
	blasVersion       = bind("cublasMpGetVersion")
	blasCreate        = bind("cublasMpCreate")
	blasDestroy       = bind("cublasMpDestroy")
	blasGridCreate    = bind("cublasMpGridCreate")
	blasGridDestroy   = bind("cublasMpGridDestroy")
	blasDescribe      = bind("cublasMpMatrixDescriptorCreate")
	blasForget        = bind("cublasMpMatrixDescriptorDestroy")
	blasTrsmSize      = bind("cublasMpTrsm_bufferSize")
	blasTrsm          = bind("cublasMpTrsm")
	blasSyrkSize      = bind("cublasMpSyrk_bufferSize")
	blasSyrk          = bind("cublasMpSyrk")
	blasGemmSize      = bind("cublasMpGemm_bufferSize")
	blasGemm          = bind("cublasMpGemm")
	blasGeaddSize     = bind("cublasMpGeadd_bufferSize")
	blasGeadd         = bind("cublasMpGeadd")
	solverCreate      = bind("cusolverMpCreate")
	solverDestroy     = bind("cusolverMpDestroy")
	solverVersion     = bind("cusolverMpGetVersion")
	solverGridCreate  = bind("cusolverMpCreateDeviceGrid")
	solverGridDestroy = bind("cusolverMpDestroyGrid")
	solverDescribe    = bind("cusolverMpCreateMatrixDesc")
	solverForget      = bind("cusolverMpDestroyMatrixDesc")
	solverPotrfSize   = bind("cusolverMpPotrf_bufferSize")
	solverPotrf       = bind("cusolverMpPotrf")
	solverSetMathMode = bindOptional("cusolverMpSetMathMode") // since CUDA 13
	solverGetMathMode = bindOptional("cusolverMpGetMathMode")
)

// The oldest releases whose interfaces these bindings have been compared with, as the libraries count them.
const (
	minNCCL   = 22900
	minBLAS   = 1000 // 0.10.0
	minSolver = 900  // 0.9.0
)

// Library is the three libraries, loaded.
type Library struct {
	// NCCL and BLAS are versions, such as "2.32.3" and "0.10.0".
	NCCL, BLAS string

	addresses []uintptr
}

// Load finds the libraries and loads them once, after the libraries of [mathlib.Load].
func Load() (*Library, error) { return load() }

var load = sync.OnceValues(func() (*Library, error) {
	base, err := mathlib.Load()
	if err != nil {
		return nil, err
	}
	handles, err := open(folders(base.Toolkit))
	if err != nil {
		return nil, err
	}
	l := &Library{}
	for _, name := range symbols {
		address := native.Symbol(handles[owner(name)], name)
		l.addresses = append(l.addresses, address)
		if address == 0 && !optional[name] {
			return nil, fmt.Errorf("%s lacks %s: %s", owner(name), name, cure)
		}
	}
	return l, l.check()
})

// cure says which libraries are right.
const cure = "gpfit needs NCCL 2.29, cuBLASMp 0.10 and cuSOLVERMp 0.9, or later ones, which need cuBLAS 12.9: install them, for example with pip (nvidia-nccl-cu12, nvidia-cublasmp-cu12, nvidia-cusolvermp-cu12), or name their folders in " + LibraryVariable

// names are the files of the libraries in the order in which they must be loaded.
var names = []string{"libnccl.so.2", "libcublasmp.so.0", "libcusolverMp.so.0"}

// owner returns the file of a function.
func owner(symbol string) string {
	switch {
	case strings.HasPrefix(symbol, "nccl"):
		return names[0]
	case strings.HasPrefix(symbol, "cublasMp"):
		return names[1]
	}
	return names[2]
}

// folders returns where the libraries may be: what the variable names, the folder of the toolkit's libraries and the
// wheels beside theirs. The empty folder stands for the loader's search.
func folders(kit mathlib.Toolkit) []string {
	list := filepath.SplitList(os.Getenv(LibraryVariable))
	for _, file := range kit.Files {
		dir := filepath.Dir(file)
		wheels, cuda := filepath.Dir(filepath.Dir(dir)), fmt.Sprintf("cu%d", kit.Major)
		list = append(list, dir, filepath.Join(wheels, "nccl", "lib"), filepath.Join(wheels, "cublasmp", cuda, "lib"), filepath.Join(wheels, cuda, "lib"))
	}
	return append(list, "")
}

// open opens each library in the first folder that has it.
func open(dirs []string) (map[string]uintptr, error) {
	handles := map[string]uintptr{}
	for _, name := range names {
		var failed error
		for _, dir := range dirs {
			path := filepath.Join(dir, name)
			if _, err := os.Stat(path); dir != "" && err != nil {
				continue
			}
			library, err := native.Open(path)
			if err == nil {
				handles[name], failed = library, nil
				break
			}
			if failed == nil { // the loader's search, which comes last, says less than a file that is there
				failed = err
			}
		}
		if failed != nil {
			return nil, fmt.Errorf("%s cannot be loaded (%w): %s", name, failed, cure)
		}
	}
	return handles, nil
}

// check compares the versions with the oldest ones. cuSOLVERMp tells its version only to a handle.
func (l *Library) check() error {
	var nccl, blas int32
	if l.call(ncclVersion, uintptr(unsafe.Pointer(&nccl))) != 0 || l.call(blasVersion, uintptr(unsafe.Pointer(&blas))) != 0 {
		return errors.New("NCCL or cuBLASMp does not tell its version: " + cure)
	}
	l.NCCL, l.BLAS = version(nccl), version(blas)
	switch {
	case nccl < minNCCL:
		return fmt.Errorf("NCCL %s is too old: %s", l.NCCL, cure)
	case blas < minBLAS:
		return fmt.Errorf("cuBLASMp %s is too old: %s", l.BLAS, cure)
	}
	return nil
}

// version writes a number such as 22903, which stands for 2.29.3.
func version(v int32) string { return fmt.Sprintf("%d.%d.%d", v/10000, v/100%100, v%100) }

// has reports whether the libraries have an optional function.
func (l *Library) has(f function) bool { return l.addresses[f] != 0 }

//go:uintptrescapes
func (l *Library) call(f function, args ...uintptr) int {
	return int(int32(native.Call(l.addresses[f], args...)))
}

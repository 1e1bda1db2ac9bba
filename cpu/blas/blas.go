package blas

import (
	"fmt"
	"os"
	"runtime"
	"strings"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"

	"gpfit/internal/team"
)

// The variants, best first.
const (
	AVX512  = "avx512"  // 8×24 tiles; needs AVX-512 F, DQ, BW and VL
	AVX2    = "avx2"    // 4×12 tiles; needs AVX2 and FMA
	NEON    = "neon"    // 4×12 tiles; every arm64 processor has it
	Generic = "generic" // 4×12 tiles in Go, on any processor
)

// EnvVariant is the environment variable that forces a variant when
// [Options] names none.
const EnvVariant = "GPFIT_CPU"

// Options configures an [Implementation]. The zero value selects the processor's
// best variant and all threads.
type Options struct {
	// Variant is avx512, avx2, neon or generic. If it is empty, the environment variable
	// GPFIT_CPU selects the variant, and if that is also empty, New uses the best
	// variant that the processor and the operating system support.
	Variant string
	// Threads is the largest number of threads a call uses, including the caller's;
	// 0 means GOMAXPROCS at the time of New. A call never uses more than GOMAXPROCS
	// at the time of the call.
	Threads int
}

// An Implementation is gonum's BLAS with the level-3 float64 routines
// replaced. It is safe for concurrent use. Copies share their worker threads.
type Implementation struct {
	gonum.Implementation
	e *engine
}

var _ blas.Float64 = (*Implementation)(nil)

// New returns an Implementation. It returns an error if the variant, from opts or
// GPFIT_CPU, is unknown or not supported by this machine, or if the number of
// threads is negative.
func New(opts Options) (*Implementation, error) {
	name, origin := opts.Variant, "Options.Variant"
	if name == "" {
		name, origin = os.Getenv(EnvVariant), EnvVariant
	}
	supported := Variants()
	if name == "" {
		name = supported[0]
	}
	found := false
	for _, v := range supported {
		found = found || v == name
	}
	if !found {
		switch name {
		case AVX512, AVX2, NEON, Generic:
			return nil, fmt.Errorf("blas: %s=%s: not supported by this machine (it has: %s)", origin, name, strings.Join(supported, ", "))
		}
		return nil, fmt.Errorf("blas: %s=%q: unknown variant (known: %s, %s, %s, %s)", origin, name, AVX512, AVX2, NEON, Generic)
	}
	threads := opts.Threads
	if threads < 0 {
		return nil, fmt.Errorf("blas: invalid number of threads: %d", threads)
	}
	if threads == 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	return &Implementation{e: newEngine(name, threads)}, nil
}

// Variants returns the variants that this machine supports, best first. The last is
// always generic.
func Variants() []string { return append(processorVariants(), Generic) }

// Variant returns the variant in use: avx512, avx2, neon or generic.
func (impl *Implementation) Variant() string { return impl.e.variant }

// Threads returns the largest number of threads a call uses.
func (impl *Implementation) Threads() int { return impl.e.pool.team.Size() }

// SetThreads changes the number of threads for later calls; values below 1 mean 1.
func (impl *Implementation) SetThreads(n int) { impl.e.pool.team.Resize(n) }

// An engine holds a variant's kernels, block sizes and threads.
type engine struct {
	variant string
	kernels
	blocking
	pool *pool
}

func newEngine(variant string, threads int) *engine {
	e := &engine{variant: variant, kernels: kernelsOf(variant), blocking: defaultBlocking(), pool: newPool(threads)}
	runtime.AddCleanup(e, (*team.Team).Close, e.pool.team)
	return e
}

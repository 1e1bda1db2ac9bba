// Package emulator is an emulated NVIDIA GPU for tests: a libcuda.so.1 whose
// device memory is host memory and whose launches execute the PTX that was loaded,
// and stand-ins of cuBLAS and cuSOLVER in C. All of it is in folder csrc and built by
// the tests with the machine's C and C++ compilers, once for a state of the sources:
// it is kept in the user's cache folder.
//
// C code reads its configuration from the environment when it is loaded, and a
// process can load one libcuda only. A test package therefore starts itself
// again with the right environment:
//
//	func TestMain(m *testing.M) { os.Exit(emulator.Main(m, emulator.Config{})) }
//
//	func TestWork(t *testing.T) {
//		emulator.Need(t) // skips, saying so, where there is no compiler
//		...
//	}
//
//	func TestOldDriver(t *testing.T) {
//		if emulator.Rerun(t, emulator.Config{DriverVersion: 11080}) {
//			return // this test ran in a process of its own
//		}
//		...
//	}
//
// Within a process [Inject] makes the k-th call of an entry point fail, [Spoil] makes
// the math libraries return wrong results, [Record] lists their calls, and
// [Calls], [Used] and [Check] say what was called, what is still allocated and
// whether memory was misused. Device memory is filled with NaN when allocated and
// ends at a page that cannot be touched.
//
// A module's text is decoded when it is loaded (csrc/ptx_parser.cpp, ptx_decode.cpp);
// what is no PTX that is known here is refused, with the line in the log. All threads
// of a block execute an instruction together; where they part, those that are least
// far in the text go first, until they meet the others (ptx_block.cpp). Known are the
// instructions of float64, of integers of 32 and 64 bits and of predicates, memory of
// all spaces, barrier 0 and shfl.sync; neither atomics, functions nor textures.
//
// Every access of a kernel is checked (ptx_memory.cpp): alignment, the bounds of
// allocations and of shared and local memory, reads of shared and local memory that the
// block never wrote, and races in shared memory: two threads that touch the same place
// between barriers, one of them writing. So are barriers that only some threads reach.
// Such a launch fails with the code of a real device and says on standard error which
// kernel, line of PTX, block and thread it was. Registers begin as NaN.
package emulator

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// Config describes the machine to emulate. The zero value is one GPU of compute
// capability 9.0 with 1 GiB, a driver for CUDA 12.4 and a CUDA 12 toolkit.
type Config struct {
	// Devices is their number; −1 for none.
	Devices int
	// Memory is that of each device, in bytes.
	Memory int64
	// DriverVersion is CUDA's number, such as 12040.
	DriverVersion int
	// Compute is the compute capability of each device, "90,70"; the last one
	// repeats.
	Compute string
	// ComputeMode is CUDA's number for each device, likewise: 2 is prohibited.
	ComputeMode string
	// InitCode is what cuInit returns.
	InitCode int
	// Faults fail calls from the start; see [Fault].
	Faults []Fault
	// Spoiled make the math libraries compute wrongly from the start.
	Spoiled []Spoiled
	// Toolkit is the layout of the math libraries.
	Toolkit Toolkit
	// NoDriver names a libcuda that does not exist.
	NoDriver bool
	// Env are further variables, "NAME=value", set last.
	Env []string
}

// Fault makes the K-th call (from 1) of an entry point return Code.
type Fault struct {
	// Entry is the exported name, such as "cuMemAlloc_v2",
	// "cublasDgemm_v2_64" or "cusolverDnXpotrf", or the name of a kernel for
	// its launches; "*" counts all calls that use a context.
	Entry string
	K     int
	// Code is a CUDA code; for the math libraries a status of theirs if below
	// 100 (but 2 by "*" means out of memory). Sticky CUDA codes kill the
	// context: every later call returns them. [Silent] is for calls without
	// results of their own, and for kernels.
	Code int
}

// Spoiled makes every call of an entry point of the math libraries whose largest
// dimension is at least From return success and a wrong result.
type Spoiled struct {
	// Entry is the exported name, such as "cublasDgemm_v2_64".
	Entry string
	From  int
	How   Spoiling
}

// Spoiling is how a result is wrong. The place is the same each time: rows from the
// middle and columns from a quarter of the result on, within a lower triangle or a
// whole matrix, and the other way around within an upper triangle.
type Spoiling int

const (
	// BlockLeftOut leaves out a block of up to 64×64: it holds what it held before.
	BlockLeftOut Spoiling = 1 + iota
	// ElementOff changes one element by a thousandth of itself.
	ElementOff
	// BlockTransposed transposes a square block.
	BlockTransposed
)

// Call is a call of a routine of the math libraries.
type Call struct {
	// Routine is the BLAS or LAPACK name without its precision, such as "gemm".
	Routine string
	// M and N are the rows and columns of the result, K the terms of its sums.
	M, N, K int64
	// Offset is where each of the matrices A, B and C begins, in bytes from the
	// begin of its allocation, and LD its leading dimension. B is C where the result
	// is in place; all are the same where there is one matrix.
	Offset, LD [3]int64
}

// Silent is the [Fault] of a device that computes wrongly: the call does nothing
// and reports success.
const Silent = -1

// Toolkit is a layout of folders with the math libraries.
type Toolkit string

// The layouts. The first three and CUDA13 are complete; the rest must be
// refused.
const (
	CUDA12   Toolkit = ""         // toolkit of CUDA 12: lib64
	CUDA13   Toolkit = "cuda13"   // toolkit of CUDA 13: lib64
	Wheels12 Toolkit = "wheels12" // Python wheels, a folder per library
	Wheels13 Toolkit = "wheels13" // Python wheels, nvidia/cu13/lib
	// Mixed has cuBLAS of CUDA 12 and cuSOLVER of CUDA 13.
	Mixed Toolkit = "mixed"
	// MixedSparse is CUDA 12 but for libcusparse.so.12, whose name is the
	// same in CUDA 13.
	MixedSparse Toolkit = "mixedsparse"
	// Incomplete lacks cuSOLVER.
	Incomplete Toolkit = "incomplete"
	// Lacking has a cuBLAS without cublasDtrmm_v2_64 and others.
	Lacking Toolkit = "lacking"
	// NoToolkit sets no GPFIT_CUDA_LIB: the search finds what the machine or
	// Config.Env offers.
	NoToolkit Toolkit = "none"
)

// Library is the folder to name in GPFIT_CUDA_LIB for the layout.
func (p *Paths) Library(t Toolkit) string {
	switch t {
	case CUDA12:
		return filepath.Join(p.Root, "cuda12")
	case Wheels12, Wheels13:
		return filepath.Join(p.Root, string(t), "nvidia")
	}
	return filepath.Join(p.Root, string(t))
}

const (
	activeVariable   = "GPFIT_EMU_ACTIVE" // the folder of the build
	rerunVariable    = "GPFIT_EMU_RERUN"
	requiredVariable = "GPFIT_EMU_REQUIRED"
	longVariable     = "GPFIT_EMU_LONG"
)

// Long reports whether tests take their long forms, which GPFIT_EMU_LONG=1 asks for:
// every combination of what the short forms sample, minutes of processor time.
func Long() bool { return os.Getenv(longVariable) == "1" }

// active reports whether this process runs on the emulated device.
func active() bool { return os.Getenv(activeVariable) != "" }

// Main is a TestMain: it builds the emulated device, starts the test binary
// again on it (in place of this process) and returns the exit code. Where it
// cannot be built the tests run without it, and those that call [Need] are
// skipped; with GPFIT_EMU_REQUIRED=1 that is a failure.
func Main(m *testing.M, cfg Config) int {
	if active() {
		return m.Run()
	}
	p, err := build()
	if err == nil {
		err = syscall.Exec(executable(), os.Args, p.env(cfg))
	}
	fmt.Fprintf(os.Stderr, "EMULATED GPU NOT AVAILABLE: %v\n", err)
	if os.Getenv(requiredVariable) == "1" {
		return 1
	}
	return m.Run()
}

func executable() string {
	path, err := os.Executable()
	if err != nil {
		return os.Args[0]
	}
	return path
}

// Need skips the test where there is no emulated device.
func Need(t testing.TB) {
	t.Helper()
	if active() {
		return
	}
	_, err := build()
	if err == nil {
		t.Fatal("the emulated GPU is built but not in use: the package's TestMain must call emulator.Main")
	}
	t.Skipf("SKIPPED, no emulated GPU: %v", err)
}

// Build compiles the emulated device, once, into the user's cache directory,
// and skips the test where it cannot be compiled.
func Build(t testing.TB) *Paths {
	t.Helper()
	p, err := build()
	if err != nil {
		t.Skipf("SKIPPED, no emulated GPU: %v", err)
	}
	return p
}

// Env returns the environment of a process on the emulated device: this
// process's, without what would lead to other drivers or toolkits.
func Env(t testing.TB, cfg Config) []string {
	t.Helper()
	return Build(t).env(cfg)
}

// Rerun runs the calling test (or subtest) in a process of its own on the
// machine that cfg describes and reports true; in that process it reports
// false, and the test goes on. It fails if the test fails there.
func Rerun(t *testing.T, cfg Config) bool {
	t.Helper()
	if os.Getenv(rerunVariable) == t.Name() {
		return false
	}
	env := append(Env(t, cfg), rerunVariable+"="+t.Name())
	parts := strings.Split(t.Name(), "/")
	for i, part := range parts {
		parts[i] = "^" + regexp.QuoteMeta(part) + "$"
	}
	cmd := exec.Command(executable(), "-test.run="+strings.Join(parts, "/"), "-test.v", "-test.count=1", "-test.timeout=2m")
	cmd.Env = append(env, "GORACE=atexit_sleep_ms=0") // by default a second
	out, err := cmd.CombinedOutput()
	switch {
	case err != nil:
		t.Fatalf("in a process of its own: %v\n%s", err, out)
	case strings.Contains(string(out), "--- SKIP: "+t.Name()+" "):
		t.Skipf("in a process of its own:\n%s", out)
	case !strings.Contains(string(out), "--- PASS: "+t.Name()+" "):
		t.Fatalf("did not run in a process of its own:\n%s", out)
	}
	return true
}

// stripped are variables that steer gpfit's search or the loader's.
var stripped = []string{"GPFIT_EMU_", "GPFIT_CUDA_", "CUDA_", "CUBLAS_", "LD_LIBRARY_PATH=", "VIRTUAL_ENV=", "CONDA_PREFIX="}

func (p *Paths) env(cfg Config) []string {
	var env []string
next:
	for _, v := range os.Environ() {
		for _, prefix := range stripped {
			if strings.HasPrefix(v, prefix) && !strings.HasPrefix(v, requiredVariable) && !strings.HasPrefix(v, longVariable) {
				continue next
			}
		}
		env = append(env, v)
	}
	set := func(name, value string) {
		if value != "" && value != "0" {
			env = append(env, name+"="+value)
		}
	}
	set(activeVariable, p.Root)
	switch {
	case cfg.Devices < 0:
		env = append(env, "GPFIT_EMU_DEVICES=0")
	default:
		set("GPFIT_EMU_DEVICES", strconv.Itoa(cfg.Devices))
	}
	set("GPFIT_EMU_MEMORY", strconv.FormatInt(cfg.Memory, 10))
	set("GPFIT_EMU_DRIVER", strconv.Itoa(cfg.DriverVersion))
	set("GPFIT_EMU_COMPUTE", cfg.Compute)
	set("GPFIT_EMU_MODE", cfg.ComputeMode)
	set("GPFIT_EMU_INIT", strconv.Itoa(cfg.InitCode))
	var faults []string
	for _, f := range cfg.Faults {
		faults = append(faults, fmt.Sprintf("%s:%d:%d", f.Entry, f.K, f.Code))
	}
	set("GPFIT_EMU_FAULTS", strings.Join(faults, ","))
	var spoiled []string
	for _, f := range cfg.Spoiled {
		spoiled = append(spoiled, fmt.Sprintf("%s:%d:%d", f.Entry, f.From, f.How))
	}
	set("GPFIT_EMU_SPOIL", strings.Join(spoiled, ","))
	driver := p.Driver
	if cfg.NoDriver {
		driver = filepath.Join(p.Root, "missing", "libcuda.so.1")
	}
	set("GPFIT_CUDA_DRIVER", driver)
	if cfg.Toolkit != NoToolkit {
		set("GPFIT_CUDA_LIB", p.Library(cfg.Toolkit))
	}
	return append(env, cfg.Env...)
}

func supported() error {
	if !buildable && runtime.GOOS == "linux" {
		return fmt.Errorf("this build has no GPU code")
	}
	if runtime.GOOS != "linux" || (runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64") {
		return fmt.Errorf("it needs Linux on amd64 or arm64, not %s/%s", runtime.GOOS, runtime.GOARCH)
	}
	return nil
}

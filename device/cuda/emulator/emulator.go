// Package emulator runs tests on an emulated NVIDIA GPU. It consists of a libcuda.so.1 whose device
// memory is host memory and whose launches execute the loaded PTX, and of stand-ins for cuBLAS and
// cuSOLVER in C. The sources are in folder csrc. The tests build them with the machine's C and C++
// compilers, once for each state of the sources, and keep the result in the user's cache folder.
//
// The C code reads its configuration from the environment when it is loaded, and a process can load
// only one libcuda. A test package therefore starts itself again with the right environment:
//
//	func TestMain(m *testing.M) { os.Exit(emulator.Main(m, emulator.Config{})) }
//
//	func TestWork(t *testing.T) {
//		emulator.Need(t) // skips with a message if there is no compiler
//		...
//	}
//
//	func TestOldDriver(t *testing.T) {
//		if emulator.Rerun(t, emulator.Config{DriverVersion: 11080}) {
//			return // this test ran in a separate process
//		}
//		...
//	}
//
// By default every call runs at once. With [Order] work waits in its stream and runs later, in a random
// order that respects only streams and events, so that a forgotten dependency or a buffer that is
// reused too early shows (cuda_queue.c).
//
// Within a process [Inject] makes the k-th call of an entry point fail, [Spoil] makes
// the math libraries return wrong results, [Record] lists their calls, and [Calls],
// [Used] and [Check] report calls, allocated memory and misuse of memory. New device
// memory is filled with NaN and ends at a page that cannot be accessed.
//
// The emulator decodes a module's text when it loads it (csrc/ptx_parser.cpp, ptx_decode.cpp). It
// refuses text that it does not know, with the line in the log. All threads of a block execute an
// instruction together. If they diverge, the threads that are least far in the text run first,
// until they meet the others (ptx_block.cpp). The emulator knows the instructions for float64, for
// integers of 32 and 64 bits and for predicates, memory in all spaces, barrier 0 and shfl.sync, but
// no atomics, functions or textures.
//
// The emulator checks every access of a kernel (ptx_memory.cpp): alignment, the bounds of
// allocations and of shared and local memory, reads of shared and local memory that the block never
// wrote, and races in shared memory, which are accesses of two threads to the same location between
// barriers, one of them a write. It also detects barriers that only some threads reach. Such a
// launch fails with the code of a real device and reports the kernel, line of PTX, block and thread
// on standard error. Registers initially contain NaN.
package emulator

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// Config describes the machine to emulate. The zero value is one GPU of compute
// capability 9.0 with 1 GiB, a driver for CUDA 12.4 and a CUDA 12 toolkit.
type Config struct {
	// Devices is the number of devices; −1 for none.
	Devices int
	// Memory is the memory of each device, in bytes.
	Memory int64
	// DriverVersion is CUDA's version number, such as 12040.
	DriverVersion int
	// Compute lists the compute capabilities of the devices, such as "90,70"; the last one repeats.
	Compute string
	// ComputeMode lists CUDA's compute modes of the devices in the same way; 2 is prohibited.
	ComputeMode string
	// InitCode is the return code of cuInit.
	InitCode int
	// Faults makes calls fail from the start; see [Fault].
	Faults []Fault
	// Spoiled makes the math libraries compute wrongly from the start.
	Spoiled []Spoiled
	// Toolkit is the layout of the math libraries.
	Toolkit Toolkit
	// NoDriver makes the process look for a libcuda that does not exist.
	NoDriver bool
	// Order is the seed of an asynchronous device, 0 for calls that run at once; see [Order].
	Order int
	// Env lists further variables, "NAME=value", which are set last.
	Env []string
}

// Fault makes the K-th call (from 1) of an entry point return Code.
type Fault struct {
	// Entry is the exported name, such as "cuMemAlloc_v2", "cublasDgemm_v2_64" or
	// "cusolverDnXpotrf", or the name of a kernel, which stands for its launches; "*"
	// counts all calls that use a context.
	Entry string
	K     int
	// Code is a CUDA code. For the math libraries a code below 100 is one of their statuses, except
	// that 2 with "*" means out of memory. Sticky CUDA codes destroy the context: every later call
	// returns them. [Silent] is for calls without results of their own, and for kernels.
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

// Spoiling is the way in which a result is wrong. The place is the same each time: rows
// from the middle and columns from a quarter of the result on, within a lower triangle
// or a whole matrix, and the reverse within an upper triangle.
type Spoiling int

const (
	// BlockLeftOut leaves out a block of up to 64×64, which keeps its previous contents.
	BlockLeftOut Spoiling = 1 + iota
	// ElementOff changes one element by a thousandth of its value.
	ElementOff
	// BlockTransposed transposes a square block.
	BlockTransposed
)

// Silent is the [Fault] of a device that computes wrong results: the call does nothing
// and reports success.
const Silent = -1

// Toolkit is a layout of folders with the math libraries: the folder of the build, cuda12
// if empty, that GPFIT_CUDA_LIB names.
type Toolkit string

// The first three layouts and CUDA13 are complete. The others must be refused.
const (
	CUDA12   Toolkit = ""                // toolkit of CUDA 12: lib64
	CUDA13   Toolkit = "cuda13"          // toolkit of CUDA 13: lib64
	Wheels12 Toolkit = "wheels12/nvidia" // Python wheels, a folder per library
	Wheels13 Toolkit = "wheels13/nvidia" // Python wheels, nvidia/cu13/lib
	// Mixed has cuBLAS of CUDA 12 and cuSOLVER of CUDA 13.
	Mixed Toolkit = "mixed"
	// MixedSparse is CUDA 12 except for libcusparse.so.12, whose name is the same in CUDA 13.
	MixedSparse Toolkit = "mixedsparse"
	// Incomplete lacks cuSOLVER.
	Incomplete Toolkit = "incomplete"
	// Lacking has a cuBLAS without cublasDgemm_v2_64 and others.
	Lacking Toolkit = "lacking"
	// NoToolkit sets no GPFIT_CUDA_LIB, so that the search finds the toolkits of the
	// machine or of Config.Env.
	NoToolkit Toolkit = "none"
)

const (
	rerunVariable    = "GPFIT_EMU_RERUN"
	requiredVariable = "GPFIT_EMU_REQUIRED"
)

// active reports whether this process runs on the emulated device.
func active() bool { return os.Getenv(activeVariable) != "" }

// Main is a TestMain. It builds the emulated device, starts the test binary again on it
// (in place of this process) and returns the exit code. If the device cannot be built,
// the tests run without it and tests that call [Need] are skipped; with
// GPFIT_EMU_REQUIRED=1 Main reports a failure instead.
func Main(m *testing.M, cfg Config) int {
	if active() {
		return m.Run()
	}
	p, err := build()
	if err == nil {
		err = syscall.Exec(os.Args[0], os.Args, p.env(cfg))
	}
	fmt.Fprintf(os.Stderr, "EMULATED GPU NOT AVAILABLE: %v\n", err)
	if os.Getenv(requiredVariable) == "1" {
		return 1
	}
	return m.Run()
}

// Need skips the test if there is no emulated device.
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

// Build compiles the emulated device, once, into the user's cache directory. It skips
// the test if the device cannot be compiled.
func Build(t testing.TB) *Paths {
	t.Helper()
	p, err := build()
	if err != nil {
		t.Skipf("SKIPPED, no emulated GPU: %v", err)
	}
	return p
}

// Env returns the environment of a process on the emulated device: the environment of
// this process, without variables that select other drivers or toolkits.
func Env(t testing.TB, cfg Config) []string {
	t.Helper()
	return Build(t).env(cfg)
}

// Rerun runs the calling test (or subtest) in a separate process on the machine that
// cfg describes and returns true. In that process it returns false, and the test
// continues. It fails if the test fails there.
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
	cmd := exec.Command(os.Args[0], "-test.run="+strings.Join(parts, "/"), "-test.v", "-test.count=1", "-test.timeout=2m")
	cmd.Env = append(env, "GORACE=atexit_sleep_ms=0") // the default is one second
	out, err := cmd.CombinedOutput()
	switch {
	case err != nil:
		t.Fatalf("in a separate process: %v\n%s", err, out)
	case strings.Contains(string(out), "--- SKIP: "+t.Name()+" "):
		t.Skipf("in a separate process:\n%s", out)
	case !strings.Contains(string(out), "--- PASS: "+t.Name()+" "):
		t.Fatalf("did not run in a separate process:\n%s", out)
	}
	return true
}

// stripped lists variables that affect the search of gpfit or of the loader.
var stripped = []string{"GPFIT_EMU_", "GPFIT_CUDA_", "CUDA_", "CUBLAS_", "LD_LIBRARY_PATH=", "VIRTUAL_ENV=", "CONDA_PREFIX="}

func (p *Paths) env(cfg Config) []string {
	var env []string
next:
	for _, v := range os.Environ() {
		for _, prefix := range stripped {
			if strings.HasPrefix(v, prefix) && !strings.HasPrefix(v, requiredVariable) {
				continue next
			}
		}
		env = append(env, v)
	}
	var faults, spoiled []string
	for _, f := range cfg.Faults {
		faults = append(faults, fmt.Sprintf("%s:%d:%d", f.Entry, f.K, f.Code))
	}
	for _, f := range cfg.Spoiled {
		spoiled = append(spoiled, fmt.Sprintf("%s:%d:%d", f.Entry, f.From, f.How))
	}
	driver, library := p.Driver, filepath.Join(p.Root, cmp.Or(string(cfg.Toolkit), "cuda12"))
	if cfg.NoDriver {
		driver = filepath.Join(p.Root, "missing", "libcuda.so.1")
	}
	if cfg.Toolkit == NoToolkit {
		library = ""
	}
	for _, v := range []struct {
		name  string
		value any
	}{
		{activeVariable, p.Root}, {"GPFIT_EMU_DEVICES", cfg.Devices}, {"GPFIT_EMU_MEMORY", cfg.Memory},
		{"GPFIT_EMU_DRIVER", cfg.DriverVersion}, {"GPFIT_EMU_COMPUTE", cfg.Compute}, {"GPFIT_EMU_MODE", cfg.ComputeMode},
		{"GPFIT_EMU_INIT", cfg.InitCode}, {"GPFIT_EMU_FAULTS", strings.Join(faults, ",")},
		{"GPFIT_EMU_SPOIL", strings.Join(spoiled, ",")}, {"GPFIT_EMU_ORDER", cfg.Order}, {"GPFIT_CUDA_DRIVER", driver}, {"GPFIT_CUDA_LIB", library},
	} {
		if text := fmt.Sprint(v.value); text != "" && text != "0" {
			env = append(env, v.name+"="+text)
		}
	}
	return append(env, cfg.Env...)
}

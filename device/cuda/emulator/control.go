package emulator

import (
	"bytes"
	"os"
	"runtime"
	"testing"
	"unsafe"

	"gpfit/device/cuda/native"
)

// control calls a function of the emulated libcuda, the library that the driver package loads.
func control(name string, args ...uintptr) int64 {
	library, err := native.Open(os.Getenv("GPFIT_CUDA_DRIVER"))
	if err != nil {
		panic("emulator: this process does not run on the emulated device: " + err.Error())
	}
	return int64(native.Call(native.Symbol(library, name), args...))
}

func withName(name, entry string, args ...uintptr) int64 {
	b := append([]byte(entry), 0)
	var pin runtime.Pinner
	defer pin.Unpin()
	pin.Pin(&b[0])
	return control(name, append([]uintptr{uintptr(unsafe.Pointer(&b[0]))}, args...)...)
}

// Inject makes the k-th call of an entry point from now on return code; see [Fault]. At
// the end of the test it resets everything, including a dead context.
func Inject(t testing.TB, entry string, k, code int) {
	t.Helper()
	Need(t)
	t.Cleanup(Reset)
	withName("gpfit_emu_inject", entry, uintptr(k), uintptr(code))
}

// Reset clears faults, counts and violations and revives dead contexts. A device that
// has seen a sticky error stays dead; a device that is opened later works.
func Reset() { control("gpfit_emu_reset") }

// Calls returns the number of calls of an entry point since the last reset; "*" counts
// all calls that use a context.
func Calls(entry string) int { return int(withName("gpfit_emu_calls", entry)) }

// Order makes the devices asynchronous until the end of the test: copies, launches and calls of the math libraries wait in
// their streams, and run in a random order that a seed other than 0 determines, as streams and events allow. Page-locked
// memory that a copy will write contains NaN until then.
func Order(t testing.TB, seed int) {
	t.Helper()
	Need(t)
	control("gpfit_emu_order", uintptr(seed))
	t.Cleanup(func() { control("gpfit_emu_order", 0) })
}

// Busy returns the largest number of streams that had work at the same time, since the last call of [Order].
func Busy() int { return int(control("gpfit_emu_busy")) }

// Connections returns the number of queues of a context to its card when the driver started (CUDA_DEVICE_MAX_CONNECTIONS).
func Connections() int { return int(control("gpfit_emu_connections")) }

// Used returns the bytes of device memory in use.
func Used(device int) int64 { return control("gpfit_emu_used", uintptr(device)) }

// Copied returns the bytes that were copied between the host and devices.
func Copied() int64 { return control("gpfit_emu_copied") }

// Peered returns the bytes that were copied between devices.
func Peered() int64 { return control("gpfit_emu_peered") }

// SetMemory changes the memory of a device, in bytes.
func SetMemory(device int, bytes int64) {
	control("gpfit_emu_set_memory", uintptr(device), uintptr(bytes))
}

// Threads returns the number of threads that have made calls in the context of a device
// since the last reset.
func Threads(device int) int { return int(control("gpfit_emu_threads", uintptr(device))) }

// Retained returns the number of times that the primary context of a device is retained.
func Retained(device int) int { return int(control("gpfit_emu_retained", uintptr(device))) }

// Blocks returns the number of allocations.
func Blocks() int { return int(control("gpfit_emu_blocks")) }

// Handles returns the number of streams, events and modules.
func Handles() int { return int(control("gpfit_emu_handles")) }

// Violations returns the number of misuses of memory: a call with an address outside
// every allocation, a write before an allocation by a math library, which is detected
// when the allocation is freed (a write beyond it ends the process), or a kernel that
// broke a rule, whose launch failed.
func Violations() int { return int(control("gpfit_emu_violations")) }

// Check makes the test fail at its end if memory was misused, or if more memory is then
// allocated than now.
func Check(t testing.TB) {
	t.Helper()
	Need(t)
	blocks, handles, violations := Blocks(), Handles(), Violations()
	t.Cleanup(func() {
		if n := Violations(); n > violations {
			t.Errorf("emulated GPU: memory misused %d times", n-violations)
		}
		if b, h := Blocks(), Handles(); b > blocks || h > handles {
			t.Errorf("emulated GPU: %d allocations and %d handles leaked", b-blocks, h-handles)
		}
	})
}

// Spoil makes every call of an entry point of the math libraries whose largest dimension is at
// least from return success and a wrong result, until the end of the test.
func Spoil(t testing.TB, entry string, from int, how Spoiling) {
	t.Helper()
	Need(t)
	t.Cleanup(Reset)
	withName("gpfit_emu_spoil", entry, uintptr(from), uintptr(how))
}

// Call is a call of a routine of the math libraries.
type Call struct {
	// Routine is the BLAS or LAPACK name without its precision, such as "gemm".
	Routine string
	// M and N are the rows and columns of the result, K the number of terms in its sums.
	M, N, K int64
	// Offset is where each of the matrices A, B and C begins, in bytes from the
	// beginning of its allocation, and LD its leading dimension. B is C if the result
	// is in place; all three are the same if there is only one matrix.
	Offset, LD [3]int64
}

// Record returns the calls of the math libraries by f.
func Record(t testing.TB, f func()) (calls []Call) {
	t.Helper()
	for _, c := range record(t, f) {
		calls = append(calls, Call{Routine: c.name(), M: c.size[0], N: c.size[1], K: c.size[2], Offset: c.offset, LD: c.ld})
	}
	return calls
}

// noted is a recorded call; see emu_call in emu.h.
type noted struct {
	entry                         [32]byte
	size, offset, ld              [3]int64
	stream, kind, priority, event int64
}

func (c *noted) name() string {
	name, _, _ := bytes.Cut(c.entry[:], []byte{0})
	return string(name)
}

// record returns what a device records of f.
func record(t testing.TB, f func()) []noted {
	t.Helper()
	Need(t)
	control("gpfit_emu_record", 1)
	defer control("gpfit_emu_record", 0)
	f()
	count := control("gpfit_emu_noted", 0, 0)
	if count == 0 {
		return nil
	}
	all := make([]noted, count)
	var pin runtime.Pinner
	defer pin.Unpin()
	pin.Pin(&all[0])
	control("gpfit_emu_noted", uintptr(unsafe.Pointer(&all[0])), uintptr(count))
	return all
}

package emulator_test

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"unsafe"

	"gpfit/device/cuda/emulator"
	"gpfit/device/cuda/mathlib"
	"gpfit/device/cuda/native"
	"gpfit/internal/testcheck"
)

// raw calls the driver API as a program in C does, on a locked thread.
type raw struct {
	testing.TB
	library uintptr
}

func (r raw) call(name string, args ...uintptr) {
	r.Helper()
	if code := int32(native.Call(native.Symbol(r.library, name), args...)); code != 0 {
		r.Fatalf("%s: code %d", name, code)
	}
}

// openRaw makes the first device current on the thread of the test, which it locks until the end of the test.
func openRaw(t *testing.T) raw {
	t.Helper()
	runtime.LockOSThread()
	r := raw{t, testcheck.Get(native.Open(os.Getenv("GPFIT_CUDA_DRIVER")))(t)}
	r.call("cuInit", 0)
	r.call("cuCtxSetCurrent", r.made("cuDevicePrimaryCtxRetain", 0))
	t.Cleanup(func() {
		r.call("cuDevicePrimaryCtxRelease_v2", 0)
		runtime.UnlockOSThread()
	})
	return r
}

// made calls a function that writes a handle or an address.
func (r raw) made(name string, args ...uintptr) uintptr {
	r.Helper()
	out := make([]uintptr, 1)
	var pin runtime.Pinner
	defer pin.Unpin()
	pin.Pin(&out[0])
	r.call(name, append([]uintptr{uintptr(unsafe.Pointer(&out[0]))}, args...)...)
	return out[0]
}

const (
	numbers = 32
	size    = 8 * numbers
)

// pinned returns page-locked memory, and its address. (Go 1.26 fails to compile it inline.)
//
//go:noinline
func (r raw) pinned() ([]float64, uintptr) {
	at := r.made("cuMemHostAlloc", size, 0)
	p := (**float64)(unsafe.Pointer(&at)) // vet forbids a plain conversion
	return unsafe.Slice(*p, numbers), at
}

// mistakes are steps that a program may forget, in their order.
var mistakes = []string{
	"the first event is not recorded", "the second stream does not wait for the first copy", "the input is reused before the copy has read it",
	"the first stream does not wait before it overwrites", "the second buffer is overwritten while it is read", "the output is read too early",
	"the second stream does not wait for the last copy", "the other stream is synchronized", "a wait comes before the record that it means",
	"the default stream does not hold back the others",
}

// program copies numbers through two streams. It returns what came out of both, unless it makes a mistake: 1, 2, 3, …, twice
// negative, and 0.
func program(r raw, mistake string) (out []float64) {
	is := func(text string) bool { return mistake == text }
	input, in := r.pinned()
	first, one := r.pinned()
	second, two := r.pinned()
	flags := uintptr(0)
	if is("the default stream does not hold back the others") {
		flags = 1 // CU_STREAM_NON_BLOCKING
	}
	a, b, c := r.made("cuMemAlloc_v2", size), r.made("cuMemAlloc_v2", size), r.made("cuMemAlloc_v2", size)
	s, t := r.made("cuStreamCreate", flags), r.made("cuStreamCreate", flags)
	var events [4]uintptr
	for k := range events {
		events[k] = r.made("cuEventCreate", 0)
	}
	record := func(k int, stream uintptr) { r.call("cuEventRecord", events[k], stream) }
	wait := func(k int, stream uintptr) { r.call("cuStreamWaitEvent", stream, events[k], 0) }
	move := func(to, from, stream uintptr) { r.call("cuMemcpyDtoDAsync_v2", to, from, size, stream) }

	for i := range input {
		input[i] = float64(1 + i)
	}
	r.call("cuMemcpyHtoDAsync_v2", a, in, size, s)
	if !is("the first event is not recorded") {
		record(0, s)
	}
	if !is("the second stream does not wait for the first copy") {
		wait(0, t)
	}
	move(b, a, t)
	record(1, t)
	if !is("the first stream does not wait before it overwrites") {
		wait(1, s)
	}
	r.call("cuMemsetD8Async", a, 0, size, s)
	if !is("the input is reused before the copy has read it") {
		r.call("cuEventSynchronize", events[0])
	}
	for i := range input {
		input[i] *= -2
	}
	r.call("cuMemcpyHtoDAsync_v2", c, in, size, s)
	r.call("cuMemcpyDtoHAsync_v2", one, b, size, t)
	record(2, t)
	if !is("the second buffer is overwritten while it is read") {
		wait(2, s)
	}
	if is("a wait comes before the record that it means") {
		wait(3, t)
	}
	move(b, c, s)
	record(3, s)
	if !is("the output is read too early") {
		r.call("cuEventSynchronize", events[2])
	}
	out = slices.Clone(first)
	if !is("the second stream does not wait for the last copy") && !is("a wait comes before the record that it means") {
		wait(3, t)
	}
	r.call("cuMemcpyDtoHAsync_v2", two, b, size, t)
	if is("the other stream is synchronized") {
		r.call("cuStreamSynchronize", s)
	} else {
		r.call("cuStreamSynchronize", t)
	}
	out = append(out, second...)
	r.call("cuMemsetD8Async", c, 0, size, 0) // in the default stream
	r.call("cuMemcpyDtoHAsync_v2", one, c, size, s)
	r.call("cuStreamSynchronize", s)
	out = append(out, first...)

	for _, e := range events {
		r.call("cuEventDestroy_v2", e)
	}
	for _, p := range []uintptr{s, t} {
		r.call("cuStreamDestroy_v2", p)
	}
	for _, p := range []uintptr{a, b, c} {
		r.call("cuMemFree_v2", p)
	}
	for _, p := range []uintptr{in, one, two} {
		r.call("cuMemFreeHost", p)
	}
	return out
}

// TestOrder runs a program of two streams in ten orders. Without a mistake its results are right in all of them. Each
// mistake makes them wrong in at least one.
func TestOrder(t *testing.T) {
	emulator.Check(t)
	r := openRaw(t)
	var want []float64
	for _, factor := range []float64{1, -2, 0} {
		for i := range numbers {
			want = append(want, factor*float64(1+i))
		}
	}
	same := func(mistake string) (right int) {
		for seed := range 10 {
			emulator.Order(t, 1+seed)
			if slices.Equal(program(r, mistake), want) {
				right++
			}
		}
		return right
	}
	if right := same(""); right != 10 {
		t.Errorf("the program is right in %d of 10 orders", right)
	}
	for _, mistake := range mistakes {
		if right := same(mistake); right == 10 {
			t.Errorf("%s: no order shows it", mistake)
		} else {
			t.Logf("%s: %d of 10 orders show it", mistake, 10-right)
		}
	}
}

// mistakesOfTwo are steps that a program on two devices may forget.
var mistakesOfTwo = []string{
	"the copy does not wait for the other device", "the numbers are overwritten while they are copied", "the host reads too early",
	"the host overwrites what is not copied yet",
}

// programOfTwo copies numbers from registered memory to the first device, to the second, and back.
func programOfTwo(r raw, contexts [2]uintptr, mistake string) (out []float64) {
	is := func(text string) bool { return mistake == text }
	host := make([]float64, 2*numbers)
	var pin runtime.Pinner
	defer pin.Unpin()
	pin.Pin(&host[0])
	in, back := uintptr(unsafe.Pointer(&host[0])), uintptr(unsafe.Pointer(&host[numbers]))
	for i := range numbers {
		host[i] = float64(1 + i)
	}
	var memory, streams, events [2]uintptr
	for k, context := range contexts {
		r.call("cuCtxSetCurrent", context)
		memory[k], streams[k], events[k] = r.made("cuMemAlloc_v2", size), r.made("cuStreamCreate", 1), r.made("cuEventCreate", 0)
	}
	r.call("cuCtxSetCurrent", contexts[0])
	r.call("cuMemHostRegister_v2", in, 2*size, 1)
	r.call("cuMemcpyHtoDAsync_v2", memory[0], in, size, streams[0])
	r.call("cuEventRecord", events[0], streams[0])
	r.call("cuCtxSetCurrent", contexts[1])
	if !is("the copy does not wait for the other device") {
		r.call("cuStreamWaitEvent", streams[1], events[0], 0)
	}
	r.call("cuMemcpyPeerAsync", memory[1], contexts[1], memory[0], contexts[0], size, streams[1])
	r.call("cuEventRecord", events[1], streams[1])
	r.call("cuMemcpyDtoHAsync_v2", back, memory[1], size, streams[1])
	r.call("cuCtxSetCurrent", contexts[0])
	if !is("the numbers are overwritten while they are copied") {
		r.call("cuStreamWaitEvent", streams[0], events[1], 0)
	}
	r.call("cuMemsetD8Async", memory[0], 0, size, streams[0])
	if is("the host overwrites what is not copied yet") {
		host[3] = -1
	}
	r.call("cuCtxSetCurrent", contexts[1])
	if !is("the host reads too early") {
		r.call("cuStreamSynchronize", streams[1])
	}
	out = slices.Clone(host[numbers:])
	for k, context := range contexts {
		r.call("cuCtxSetCurrent", context)
		r.call("cuStreamDestroy_v2", streams[k])
		r.call("cuEventDestroy_v2", events[k])
	}
	for k, context := range contexts {
		r.call("cuCtxSetCurrent", context)
		r.call("cuMemFree_v2", memory[k])
	}
	r.call("cuCtxSetCurrent", contexts[0])
	r.call("cuMemHostUnregister", in)
	return out
}

// TestOrderOfDevices does with two devices what [TestOrder] does with two streams.
func TestOrderOfDevices(t *testing.T) {
	emulator.Need(t)
	if emulator.Rerun(t, emulator.Config{Devices: 2}) {
		return
	}
	emulator.Check(t)
	r := openRaw(t)
	contexts := [2]uintptr{r.made("cuDevicePrimaryCtxRetain", 0), r.made("cuDevicePrimaryCtxRetain", 1)}
	var want []float64
	for i := range numbers {
		want = append(want, float64(1+i))
	}
	for _, mistake := range append([]string{""}, mistakesOfTwo...) {
		right := 0
		for seed := range 20 {
			emulator.Order(t, 1+seed)
			if slices.Equal(programOfTwo(r, contexts, mistake), want) {
				right++
			}
		}
		if (right == 20) != (mistake == "") {
			t.Errorf("mistake %q: right in %d of 20 orders", mistake, right)
		}
	}
}

// TestSharedWorkspace multiplies in two streams, with a handle for each and with one for both. Some order shows that the
// products then use one workspace at the same time.
func TestSharedWorkspace(t *testing.T) {
	emulator.Need(t)
	r := openRaw(t)
	testcheck.Get(mathlib.Load())(t) // with the libraries that this one needs
	blas := raw{t, testcheck.Get(native.Open(filepath.Join(os.Getenv("GPFIT_CUDA_LIB"), "lib64", "libcublas.so.12")))(t)}
	scalars := []float64{1, 0}
	multiply := func(handle, stream, a uintptr) {
		blas.call("cublasSetStream_v2", handle, stream)
		one, zero := uintptr(unsafe.Pointer(&scalars[0])), uintptr(unsafe.Pointer(&scalars[1]))
		blas.call("cublasDgemm_v2_64", handle, 0, 0, 2, 2, 2, one, a, 2, a, 2, zero, a+64, 2)
	}
	for _, shared := range []bool{false, true} {
		before := emulator.Violations()
		for seed := range 10 {
			emulator.Order(t, 1+seed)
			first := blas.made("cublasCreate_v2")
			second := first
			if !shared {
				second = blas.made("cublasCreate_v2")
			}
			s, u, a, b := r.made("cuStreamCreate", 1), r.made("cuStreamCreate", 1), r.made("cuMemAlloc_v2", 128), r.made("cuMemAlloc_v2", 128)
			for range 4 {
				multiply(first, s, a)
				multiply(second, u, b)
			}
			r.call("cuCtxSynchronize")
			for _, p := range []uintptr{a, b} {
				r.call("cuMemFree_v2", p)
			}
			for _, p := range []uintptr{s, u} {
				r.call("cuStreamDestroy_v2", p)
			}
			if blas.call("cublasDestroy_v2", first); !shared {
				blas.call("cublasDestroy_v2", second)
			}
		}
		if seen := emulator.Violations() > before; seen != shared {
			t.Errorf("one handle for both streams: %v, a violation: %v", shared, seen)
		}
	}
}

// Package message passes messages between ranks of MPI: a launcher such as mpirun starts them. It opens the library of MPI when it is needed, without cgo, and knows the two binary
// interfaces that there are.
//
// All calls of MPI, and of what builds on it, come from one thread: see [World.Do].
package message

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"
	"unsafe"

	"gpfit/device/cuda/native"
)

// World is the group of all ranks. Its methods, except [World.Do] and [World.Abort], are called by functions that Do
// runs. Most are collective: all ranks call them in the same order.
type World struct {
	// Rank is the number of this process among Size.
	Rank, Size int
	// Near is the number of ranks on this node, of which this is number Local, and Nodes the number of nodes.
	Near, Local, Nodes int
	// Library is nil for a process alone on a machine without a library of MPI, which passes no messages.
	*Library
	work chan func()
}

// Open opens the library and initializes MPI, once. An error is the same for all calls.
var Open = sync.OnceValues(open)

func open() (*World, error) {
	l, err := Load()
	if err != nil && Launched().Size > 1 {
		return nil, err
	}
	w := &World{Size: 1, Near: 1, Nodes: 1, Library: l, work: make(chan func())}
	go func() {
		runtime.LockOSThread()
		for f := range w.work {
			f()
		}
	}()
	if err != nil {
		return w, nil
	}
	w.Do(func() { err = w.begin() })
	return w, err
}

// serialized is MPI_THREAD_SERIALIZED, and funneled is MPI_THREAD_FUNNELED, which suffices.
const (
	funneled   = 1
	serialized = 2
)

// begin initializes MPI.
func (w *World) begin() error {
	// A process that nobody has launched needs no daemon, for which Open MPI would look for ssh.
	const alone = "OMPI_MCA_ess_singleton_isolated"
	if os.Getenv("PMIX_RANK") == "" && os.Getenv(alone) == "" {
		_ = os.Setenv(alone, "1")
	}
	initialize := native.Symbol(w.handle, "MPI_Init_thread")
	if initialize == 0 {
		return fmt.Errorf("the library of MPI lacks MPI_Init_thread")
	}
	level, rank, size := make([]int32, 1), make([]int32, 1), make([]int32, 1)
	if code := native.Pass(initialize, 0, 0, serialized, level); int32(code) != 0 {
		return fmt.Errorf("MPI_Init_thread failed with code %d", int32(code))
	}
	if level[0] < funneled {
		return fmt.Errorf("this MPI takes no calls of a program with threads (level %d)", level[0])
	}
	w.call("MPI_Comm_rank", w.world, rank)
	w.call("MPI_Comm_size", w.world, size)
	w.Rank, w.Size = int(rank[0]), int(size[0])
	if l := Launched(); l.Size != w.Size {
		return fmt.Errorf("the launcher started %d ranks, but MPI knows of %d: use the mpirun of the same MPI, or srun with the right --mpi, such as --mpi=pmix for Open MPI", l.Size, w.Size)
	}
	w.countNodes()
	return nil
}

// countNodes finds the ranks that share a node.
func (w *World) countNodes() {
	name, _ := os.Hostname()
	own := make([]float64, 32) // up to 256 bytes
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&own[0])), 8*len(own)), name)
	all := w.Gather(own)
	counts := make([]float64, 2*w.Size+1) // of each rank, the ranks of its node and its number among them
	if w.Rank == 0 {
		nodes := map[string]float64{}
		of := make([]string, w.Size)
		for r := range of {
			of[r] = fmt.Sprint(all[r*len(own) : (r+1)*len(own)])
			counts[2*r+1] = nodes[of[r]]
			nodes[of[r]]++
		}
		for r := range of {
			counts[2*r] = nodes[of[r]]
		}
		counts[2*w.Size] = float64(len(nodes))
	}
	w.Broadcast(counts)
	w.Near, w.Local, w.Nodes = int(counts[2*w.Rank]), int(counts[2*w.Rank+1]), int(counts[2*w.Size])
}

// Do runs f on the thread that calls MPI, one function after the other, and waits for its end. A panic in f ends the
// program on all ranks, because the others would wait for this one forever.
func (w *World) Do(f func()) {
	done := make(chan any, 1)
	w.work <- func() {
		ended := false
		defer func() {
			if r := recover(); !ended {
				if _, crash := r.(runtime.Error); w.Size > 1 && crash {
					w.abort(fmt.Sprintf("panic: %v\n%s", r, debug.Stack()))
				}
				if w.Size > 1 {
					w.abort(fmt.Sprint(r))
				}
				done <- r
			}
		}()
		f()
		ended = true
		close(done)
	}
	if r := <-done; r != nil {
		panic(r)
	}
}

// failure is the exit code of a program whose ranks cannot go on: device unavailable.
const failure = 12

// Abort ends the program on all ranks, with a line on standard error that says why. It does not return.
func (w *World) Abort(why string) { w.Do(func() { w.abort(why) }) }

func (w *World) abort(why string) {
	host, _ := os.Hostname()
	fmt.Fprintf(os.Stderr, "gpfit: rank %d of %d, on %s: %s\n", w.Rank, w.Size, host, why)
	native.Pass(native.Symbol(w.handle, "MPI_Abort"), w.world, failure)
	os.Exit(failure)
}

// call calls a function of MPI. Other errors than a missing function end the program in the library itself, which is
// MPI's default: a rank that has gone cannot be replaced.
func (w *World) call(name string, args ...any) {
	f := native.Symbol(w.handle, name)
	if f == 0 {
		w.abort("the library of MPI lacks " + name)
	}
	if code := native.Pass(f, args...); int32(code) != 0 {
		w.abort(fmt.Sprintf("%s failed with code %d", name, int32(code)))
	}
}

// piece is the largest number of elements in one call, which counts in 32 bits.
const piece = 1 << 27

// Broadcast sends v from rank 0 to all others, whose v has the same length.
func (w *World) Broadcast(v []float64) {
	if w.Library == nil {
		return
	}
	for part := range slices.Chunk(v, piece) {
		w.call("MPI_Bcast", part, len(part), w.doubles, 0, w.world)
	}
}

// Sum adds the vectors of all ranks on rank 0. The sum is exact if at each place one rank at most has another number
// than 0. Elsewhere v is kept.
func (w *World) Sum(v []float64) {
	if w.Library == nil {
		return
	}
	for at := 0; at < len(v); at += piece {
		part := v[at:min(at+piece, len(v))]
		all := part
		if w.Rank == 0 {
			all = make([]float64, len(part))
		}
		w.call("MPI_Reduce", part, all, len(part), w.doubles, w.sum, 0, w.world)
		copy(part, all)
	}
}

// Gather returns the vectors of all ranks, one after the other, on rank 0. They have equal lengths.
func (w *World) Gather(v []float64) []float64 {
	if w.Library == nil {
		return slices.Clone(v)
	}
	var all []float64
	if w.Rank == 0 {
		all = make([]float64, w.Size*len(v))
	}
	w.call("MPI_Gather", v, len(v), w.doubles, all, len(v), w.doubles, 0, w.world)
	return all
}

// Largest returns the largest x of all ranks, on all of them.
func (w *World) Largest(x float64) float64 {
	if w.Library == nil {
		return x
	}
	own, all := []float64{x}, make([]float64, 1)
	w.call("MPI_Allreduce", own, all, 1, w.doubles, w.largest, w.world)
	return all[0]
}

// FirstError returns, on rank 0, the first error of any rank, with the rank that has it; elsewhere nil or the rank's own. All
// ranks learn whether there is one.
func (w *World) FirstError(err error) error {
	const bytes = 2048
	own := make([]float64, bytes/8)
	text := unsafe.Slice((*byte)(unsafe.Pointer(&own[0])), bytes)
	failed := 0.0
	if err != nil {
		failed = 1
		copy(text, err.Error())
	}
	if w.Largest(failed) == 0 {
		return nil
	}
	all := w.Gather(own)
	if w.Rank == 0 && err == nil {
		for r := range w.Size {
			text := unsafe.Slice((*byte)(unsafe.Pointer(&all[r*len(own)])), bytes)
			if text, _, _ := strings.Cut(string(text), "\x00"); text != "" {
				return fmt.Errorf("rank %d: %s", r, text)
			}
		}
	}
	return cmp.Or(err, errElsewhere)
}

var errElsewhere = errors.New("another rank has failed")

// Announce sends text from rank 0 to all others. These wait for it without keeping their cores busy, which ranks that wait
// in other calls do: rank 0 may have other work to do for long.
func (w *World) Announce(text []byte) []byte {
	if w.Library == nil {
		return text
	}
	length := []float64{float64(len(text))}
	w.patiently(length)
	if w.Rank > 0 {
		text = make([]byte, int(length[0]))
	}
	w.call("MPI_Bcast", text, len(text), w.bytes, 0, w.world)
	return text
}

// The waits between two looks at a message that has not arrived grow up to longest.
const (
	shortest = 5 * time.Microsecond
	longest  = time.Millisecond
)

// patiently broadcasts v.
func (w *World) patiently(v []float64) {
	request, arrived := make([]uintptr, 1), make([]int32, 1)
	w.call("MPI_Ibcast", v, len(v), w.doubles, 0, w.world, request)
	for wait := shortest; ; wait = min(2*wait, longest) {
		w.call("MPI_Test", request, arrived, w.noStatus)
		if arrived[0] != 0 {
			runtime.KeepAlive(v)
			return
		}
		if w.Rank > 0 {
			time.Sleep(wait)
		}
	}
}

// Fortran returns the handle of the group for routines in Fortran.
func (w *World) Fortran() int32 {
	if w.open {
		return int32(native.Pass(native.Symbol(w.handle, "MPI_Comm_c2f"), w.world))
	}
	return int32(w.world)
}

// Finalize ends MPI. There are no calls after it.
func (w *World) Finalize() {
	if w.Library != nil {
		w.Do(func() { w.call("MPI_Finalize") })
	}
}

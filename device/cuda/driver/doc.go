// Package driver is the part of the CUDA driver API that gpfit needs: devices,
// memory, streams, events, modules and launches. Start with [Detect] (what is
// there, and if it cannot be used, why) and [Open].
//
// There are two implementations of the raw calls behind one set of types:
//
//   - by default libcuda is opened at run time, without cgo
//     (github.com/ebitengine/purego). The same binary uses a GPU where there is
//     a driver and starts everywhere else, which a program linked to
//     libcuda.so.1 does not.
//   - under the build tag cu the calls go through gorgonia.org/cu, which is cgo
//     and calls cuInit in its init function, exiting on any error. forward.c
//     defines the symbols it links to, so that it starts without libcuda and
//     its cuInit always succeeds; the true call is made by [Detect] or [Open].
//     What cu lacks (copies of blocks, the text of errors) takes the default
//     path.
//
// The tag nogpu, and any platform but Linux on amd64 and arm64, leave a package
// that finds no device.
//
// # Threads
//
// A CUDA context is current to an operating system thread, goroutines move
// between threads, and cuBLAS and cuSOLVER use the context of the thread they
// are called on. A [Device] therefore owns one locked thread, on which its
// primary context is current, and every call runs there: [Device.Do] sends a
// function to it. Calls from within such a function run at once, so that a loop
// over tiles should be put into one Do: going to the thread and back costs ten
// microseconds or more, a call there less than one (BenchmarkCall).
//
// # Errors
//
// Calls return [*Error] with CUDA's code. Out of memory leaves the device
// usable. After a sticky error (an illegal address, a hardware fault) the
// context is dead until the process ends: [Device.Err] returns the error, every
// later call returns it without calling CUDA, and freeing does nothing.
package driver

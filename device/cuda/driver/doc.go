// Package driver calls the CUDA driver API: devices, memory, streams, events, modules and launches.
// Start with [Detect], which lists the devices and explains why one cannot be used, and [Open].
//
// By default the package opens libcuda at run time, without cgo (package native). The
// same binary uses a GPU if there is a driver and starts everywhere else, unlike a program
// linked to libcuda.so.1. The table in api.go lists the functions in use.
//
// Under the build tag cu the calls use gorgonia.org/cu, which requires cgo. Its init function
// calls cuInit and exits on any error. forward.c defines the symbols that it links to, so that it
// starts without libcuda and its cuInit always succeeds; [Detect] or [Open] makes the real call.
// Functions that cu lacks (copies of blocks, the text of errors) use the default implementation.
//
// With the tag nogpu, and on any platform other than Linux on amd64 and arm64, the
// package finds no device.
//
// # Threads
//
// A CUDA context is current to an operating system thread, goroutines move between threads, and
// cuBLAS and cuSOLVER use the context of the calling thread. A [Device] therefore owns one locked
// thread, on which its primary context is current, and every call runs there: [Device.Do] sends a
// function to it. Calls from within such a function run at once. A loop over tiles should therefore
// run within one Do: switching to the thread and back costs ten microseconds or more, a call there
// less than one (BenchmarkCall).
//
// # Errors
//
// Calls return [*Error] with CUDA's code. The device stays usable after it runs out of
// memory. After a sticky error (an illegal address, a hardware fault) the context is
// dead until the process ends: [Device.Err] and every later call return the error
// without calling CUDA, and freeing does nothing.
package driver

// Package mathlib calls cuBLAS and cuSOLVER: what gpfit needs of them, in
// float64, column-major, with 64-bit sizes (one side of a matrix can pass
// 46,340, where 32-bit indices into it overflow). Start with [Load], then
// [Library.New] for each device and stream.
//
// The libraries are opened at run time, in every build. They must come from one
// toolkit: cuSOLVER uses cuBLAS and cuSPARSE, that uses nvJitLink, and versions
// that do not belong together fail when they are loaded, or later, or compute
// wrong results. libcusparse.so.12 even has the same name in CUDA 12 and 13. So
// [Find] settles on one toolkit before anything is loaded, checks that each
// library finds what it needs in that same toolkit, and [Load] opens them all by
// their full paths, what is needed first, and never closes them. It looks in
// this order: the folder that GPFIT_CUDA_LIB names (then nowhere else); the
// loader's own path; CUDA_HOME and CUDA_PATH; /usr/local/cuda and the versions
// beside it; the distribution's folder; Python wheels of VIRTUAL_ENV,
// CONDA_PREFIX and the system. CUDA 13 is taken only where the driver supports
// it, and then before CUDA 12 of the same place.
//
// Calls are made on the thread of the device ([driver.Device.Do]) and put on
// the stream of the handle; those that return a number wait for it. Failures
// are [*Error]; where the library only says that execution failed, the driver
// is asked for the error behind it, so that [driver.IsSticky] is right.
package mathlib

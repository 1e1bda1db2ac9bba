// Package mathlib calls cuBLAS and cuSOLVER: in float64, column-major, with 64-bit sizes. One side
// of a matrix can exceed 46,340, from which 32-bit indices into it overflow. Start with [Load],
// then [Library.New] for each device and stream.
//
// Every build opens the libraries at run time. They must come from one toolkit: cuSOLVER uses
// cuBLAS and cuSPARSE, which uses nvJitLink, and versions from different toolkits fail when they
// are loaded, or later, or compute wrong results. libcusparse.so.12 even has the same name in CUDA
// 12 and 13. [Find] therefore chooses one toolkit before anything is loaded and checks that each
// library finds its dependencies in that same toolkit. [Load] opens all of them by their full
// paths, dependencies first, and never closes them. Find searches in this order: the folder that
// GPFIT_CUDA_LIB names (and then nowhere else); the loader's own path; CUDA_HOME and CUDA_PATH;
// /usr/local/cuda and the versions beside it; the distribution's folder; Python wheels of
// VIRTUAL_ENV, CONDA_PREFIX and the system. It chooses CUDA 13 only if the driver supports it, and
// then prefers it to CUDA 12 of the same place.
//
// Calls run on the thread of the device ([driver.Device.Do]) and are queued on the
// stream of the handle; calls that return a number wait for it. Failures are [*Error].
// If the library only reports that execution failed, the package asks the driver for
// the underlying error, so that [driver.IsSticky] is right.
package mathlib

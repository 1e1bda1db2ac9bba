// Package bindings tests the prototypes of the CUDA functions that packages driver and mathlib
// call through addresses found at run time (driver.h, mathlib.h). No compiler compares a call
// by address with the declaration of the called function; these tests do.
//
// Without any file from NVIDIA the tests read the sources of the packages: every bound function
// has a prototype, and every call of it passes the arguments of the prototype, by number, kind and
// width. With the headers and libraries of a toolkit, in the folder that GPFIT_CUDA_TOOLKIT names,
// they compile the prototypes, the constants and the layouts against the headers, look up the
// functions in the libraries' symbol tables, and load the libraries through package mathlib,
// which needs no GPU. check.sh fetches the toolkits and runs the tests with each; assemble.sh assembles
// the PTX with the oldest and the newest ptxas.
package bindings

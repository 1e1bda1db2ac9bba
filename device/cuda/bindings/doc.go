// Package bindings holds the prototypes of the CUDA functions that packages driver
// and mathlib call through addresses found at run time (driver.h, mathlib.h), and
// the tests that they are right. No compiler sees a call by address beside the
// declaration of what it calls; these tests do.
//
// Without anything of NVIDIA's the tests read the sources of both packages: every
// function bound has a prototype, and every call of it passes the arguments that
// the prototype has, by number, kind and width. With the headers and libraries of a
// toolkit, in the folder that GPFIT_CUDA_TOOLKIT names, they compile the prototypes,
// the constants and the layouts against the headers, look the functions up in the
// libraries' symbol tables, and load the libraries through package mathlib, which
// needs no GPU. check.sh fetches the toolkits and runs the tests with each; it also
// assembles the PTX with the oldest and the newest ptxas.
package bindings

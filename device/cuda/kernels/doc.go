// Package kernels launches gpfit's CUDA kernels. [Module] returns the PTX of the
// kernels on matrices, package ptx below writes the PTX for a covariance function, and
// one function per kernel, such as [Fill], returns a [Launch] with its blocks and
// arguments. The package calls no driver.
//
// Matrices are column-major, points are stored by column (column c of n points at x[c·n
// …]), all numbers are float64 and all sizes 64-bit. No kernel uses floating-point
// atomics, so results are bit-identical from run to run on one kind of device.
//
// The folder source contains the sources of the kernels on matrices, which generate.sh
// compiles. Package emulator executes the PTX on the CPU.
package kernels

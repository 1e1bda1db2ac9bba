// Package kernels holds the CUDA kernels of gpfit and what is needed to launch them:
// [Module] returns the PTX of those on matrices, package ptx below writes those of a
// covariance function, and one function per kernel, such as [Fill], returns a
// [Launch] with its blocks and arguments. It calls no driver.
//
// Matrices are column-major, points are stored by column (column c of n points at
// x[c·n …]), all numbers are float64 and all sizes 64-bit. No kernel uses
// floating-point atomics: results are bit-identical from run to run on one kind of
// device.
//
// The sources of the kernels on matrices are in folder source; generate.sh compiles
// them. Package emulator executes the PTX on the CPU.
package kernels

// Package kernels holds the CUDA kernels of gpfit, compiled to PTX, and what is
// needed to launch them: [Encode] translates a covariance program for them,
// [Module] returns the PTX, and one function per kernel, such as [Fill], returns a
// [Launch] with its blocks and arguments. It calls no driver.
//
// Matrices are column-major, points are stored by column (column c of n points at
// x[c·n …]), all numbers are float64 and all sizes 64-bit. Parameters θ are in
// natural units, in device memory. No kernel uses floating-point atomics: results
// are bit-identical from run to run on one kind of device.
//
// The sources are in folder source, where program.h is the place to start;
// generate.sh compiles them. Package emulator runs them on the CPU.
package kernels

// Package bench measures how fast a device evaluates the objective of a fit, and
// compares this with the speed of the device's matrix product, for `gpfit bench`.
//
// Start with [Run], which measures one job (a table of n rows, a kernel,
// parameters) on one device and returns a [Result]. [DgemmRate] measures the limit,
// [Synthetic] generates data if none are given, and memory_linux.go reads the peak
// memory.
package bench

// Package bench measures how fast a device evaluates the objective of a fit,
// next to the speed of the same device's matrix product, for `gpfit bench`.
//
// Start at [Run]: one job (a table of n rows, a kernel, parameters) on one
// device gives one [Result]. [DgemmRate] measures the limit, [Synthetic] makes
// data where none are given, and memory_linux.go reads the peak memory.
package bench

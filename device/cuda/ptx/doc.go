// Package ptx writes PTX for a covariance function: kernels generated for this one
// function, which the driver compiles when it loads them.
//
// [New] takes a [kernel.Program]; [Kernel.Text] writes one of the [Entries], each of which is
// loaded when it is first needed. The host computes the numbers that are the same for all pairs
// (the uniform values of package oplist, weights and frequencies of columns) and passes them in one
// array, which [Kernel.Uniforms] fills. The text depends only on the structure of the covariance
// function, not on its parameters, and is the same for the same function.
//
// A block works on tiles of 64×32 pairs, 8 pairs per thread: rows tx and tx+32, columns ty, ty+8,
// ty+16 and ty+24, for tx = thread mod 32 and ty = thread / 32. Threads of a warp have consecutive
// rows, so that they read and write matrices in runs of 256 bytes. If all pairs at once need too
// many registers, a thread processes them in several passes.
//
// Every operation on float64 rounds once, as written, so results are the same on all devices.
package ptx

// Package ptx writes a covariance function as PTX: kernels made for this very
// function, which the driver compiles when they are loaded.
//
// [New] takes a [kernel.Program]; [Kernel.Text] writes one of the [Entries], which
// are loaded one by one when they are first needed. Numbers that are the same for
// all pairs (the uniform values of package code, weights and frequencies of columns)
// are computed on the host and handed over in one array; [Kernel.Uniforms] fills it.
// The text depends on the shape of the covariance function alone, not on its
// parameters, and is the same for the same function.
//
// A block works on tiles of 64×32 pairs, 8 pairs per thread: rows tx and tx+32,
// columns ty, ty+8, ty+16 and ty+24, for tx = thread mod 32 and ty = thread / 32.
// Threads of a warp have consecutive rows, so that matrices are read and written in
// runs of 256 bytes. Where all pairs at once would need too many registers, a thread
// takes them in several passes.
//
// Every operation on float64 rounds once, as it is written: results are the same on
// all devices.
package ptx

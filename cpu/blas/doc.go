// Package blas is a faster gonum BLAS for float64 on amd64: an
// [Implementation] embeds gonum's own and replaces the level-3 routines Dgemm,
// Dsymm, Dsyrk, Dtrmm and Dtrsm by packed, cache-blocked, multi-threaded ones
// with AVX-512 or AVX2+FMA kernels. Everything else, and every other
// processor, is gonum's code.
//
// # Use
//
// The package needs nothing else of gpfit:
//
//	impl, err := blas.New(blas.Options{})
//	if err != nil {
//		return err // GPFIT_CPU names a variant this processor lacks
//	}
//	impl.Dgemm(gonumblas.NoTrans, gonumblas.NoTrans, m, n, k, 1, a, k, b, n, 0, c, n)
//
// It never registers itself. A program that wants gonum's mat and lapack
// packages to use it says so, once, at its start:
//
//	blas64.Use(impl)
//
// The environment variable GPFIT_CPU forces a variant: avx512, avx2 or
// generic (gonum's). An unknown name, or one that the processor lacks, is an
// error of [New].
//
// # What is promised
//
// Arguments, their checks and the panics are gonum's. Only the referenced
// triangle of a triangular or symmetric matrix is read or written, and nothing
// between the rows of a matrix whose leading dimension exceeds its width.
// beta = 0 overwrites C whatever it holds.
//
// Results are bit-identical from run to run, and for every number of threads:
// each element is one chain of fused multiply-adds along k, cut at places that
// depend on the sizes alone. They differ between variants in the last bits.
// One Implementation serves any number of goroutines; a call that finds the
// workers busy runs on its own goroutine.
//
// # NaN and Inf
//
// A NaN or Inf in an operand reaches the elements of the result that the
// formula makes it reach, also where it meets a zero. gonum skips products
// whose first factor is zero, so that in some of its routines 0·NaN and 0·Inf
// count as 0; here they are NaN. With alpha = 0, A and B are not read, as in
// the reference BLAS; gonum's Dgemm reads them. Dtrsm multiplies by the
// reciprocals of the diagonal, as gonum's does on the left side only: a
// diagonal element below 2⁻¹⁰²⁴ in magnitude, whose reciprocal overflows,
// gives Inf there where a quotient might be finite.
//
// # Where to start
//
// blas.go makes an Implementation; gemm.go is the shortest of the routines.
// Each routine writes down a program (program.go), a list of phases whose
// items are packing (pack.go), tiles of a product (compute.go) or triangular
// solves (trsm.go), and pool.go lets the threads draw the items in order. The
// kernels are in kernels_*_amd64.s, written by internal/gen.
package blas

// Package blas multiplies, solves, factors and inverts float64 matrices faster than
// gonum's BLAS. An [Implementation] embeds gonum's BLAS and replaces the level-3
// routines Dgemm, Dsymm, Dsyrk, Dtrmm and Dtrsm by packed, cache-blocked,
// multi-threaded ones. All variants share them; a variant is a set of micro-kernels:
// AVX-512 or AVX2+FMA on amd64, NEON on arm64, and Go on any processor. All other routines are
// gonum's. The same kernels serve the in-place LAPACK routines Dpotrf, Dtrtri, Dlauum
// and Dpotri: a Cholesky factorisation and the inverse from it.
//
// # Use
//
// The package can be used without the rest of gpfit:
//
//	impl, err := blas.New(blas.Options{})
//	if err != nil {
//		return err // GPFIT_CPU selects a variant that this processor lacks
//	}
//	impl.Dgemm(gonumblas.NoTrans, gonumblas.NoTrans, m, n, k, 1, a, k, b, n, 0, c, n)
//
// It never registers itself. To make gonum's mat and lapack packages use it, a
// program calls once, at its start:
//
//	blas64.Use(impl)
//
// The environment variable GPFIT_CPU selects a variant: avx512, avx2, neon or generic
// (Go). [New] returns an error for an unknown variant and for one that the
// processor lacks.
//
// # Guarantees
//
// Arguments, their checks and the panics are the same as gonum's. The routines read
// and write only the referenced triangle of a triangular or symmetric matrix, and
// never the space between rows if the leading dimension exceeds the width. beta = 0
// overwrites C regardless of its contents.
//
// Results are bit-identical from run to run, and for every number of threads: each
// element is one chain of fused multiply-adds along k, split at positions that
// depend only on the sizes. avx2 and neon have the same bits; the other variants differ
// in the last ones. Generic fuses multiplication and addition where the Go compiler
// does, for instance on arm64 and not on amd64, so its bits differ between
// architectures. Any number of goroutines can use one Implementation; a call that finds
// the workers busy runs on the caller's goroutine.
//
// A call allocates nothing once the packing buffers have grown to its sizes: at
// most 10 MB for the BLAS routines and 10·n KB for the others. The Implementation
// keeps one set of buffers.
//
// # NaN and Inf
//
// A NaN or Inf in an operand propagates to all elements of the result that depend
// on it by the formula, even if it is multiplied by zero. gonum skips products
// whose first factor is zero, so some of its routines treat 0·NaN and 0·Inf as 0;
// here they are NaN. With alpha = 0, A and B are not read, as in the reference
// BLAS; gonum's Dgemm reads them. Dtrsm multiplies by the reciprocals of the
// diagonal; gonum's does so only on the left side. A diagonal element below 2⁻¹⁰²⁴
// in magnitude, whose reciprocal overflows, therefore gives Inf where a quotient
// might be finite.
//
// # Reading the code
//
// blas.go makes an Implementation; gemm.go is the shortest routine. Each routine
// builds a program (program.go), a list of phases whose items are packing
// (pack.go), tiles of a product (compute.go), triangular solves (trsm.go) or
// diagonal blocks (cholesky.go). pool.go runs programs on the threads
// of internal/team.
// kernels.go lists the micro-kernels; kernels_portable.go, in Go, shows what each does.
// The separate module internal/gen generates those in assembly, kernels_*_amd64.s and
// kernels_neon_arm64.s:
//
//	go generate ./cpu/blas && git diff --exit-code -- cpu/blas
//
// regenerates them and fails if they were not up to date.
package blas

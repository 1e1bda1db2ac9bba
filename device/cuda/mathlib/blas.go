package mathlib

import (
	"unsafe"

	"gpfit/device/cuda/driver"
)

// Transpose selects a matrix or its transpose.
type Transpose uintptr

// These are values of cublasOperation_t.
const (
	NoTrans Transpose = 0
	Trans   Transpose = 1
)

// Side is the side on which the triangular matrix stands.
type Side uintptr

// These are values of cublasSideMode_t.
const (
	Left  Side = 0
	Right Side = 1
)

// These are values of cublasFillMode_t and cublasDiagType_t.
const (
	lower   = 0
	upper   = 1
	nonUnit = 0
)

// Gemm queues C = alpha·op(A)·op(B) + beta·C on the stream; op(A) is m×k, op(B) k×n, C
// m×n (cublasDgemm_64). It takes 2mnk flops.
func (h *Handle) Gemm(ta, tb Transpose, m, n, k int64, alpha float64, a, b driver.Matrix, beta float64, c driver.Matrix) error {
	return h.dev.Do(func() error {
		return h.run(blasGemm, h.blas, uintptr(ta), uintptr(tb), uintptr(m), uintptr(n), uintptr(k), uintptr(unsafe.Pointer(&alpha)),
			uintptr(a.A), uintptr(a.LD), uintptr(b.A), uintptr(b.LD), uintptr(unsafe.Pointer(&beta)), uintptr(c.A), uintptr(c.LD))
	})
}

// Strided is a sequence of matrices of one shape. Each begins Stride numbers after the
// previous matrix.
type Strided struct {
	driver.Matrix
	Stride int64
}

// GemmBatched queues C = alpha·op(A)·op(B) + beta·C, as [Handle.Gemm] does, for the first
// count matrices of each batch (cublasDgemmStridedBatched_64).
func (h *Handle) GemmBatched(ta, tb Transpose, m, n, k int64, alpha float64, a, b Strided, beta float64, c Strided, count int64) error {
	return h.dev.Do(func() error {
		return h.run(blasGemmBatched, h.blas, uintptr(ta), uintptr(tb), uintptr(m), uintptr(n), uintptr(k), uintptr(unsafe.Pointer(&alpha)),
			uintptr(a.A), uintptr(a.LD), uintptr(a.Stride), uintptr(b.A), uintptr(b.LD), uintptr(b.Stride),
			uintptr(unsafe.Pointer(&beta)), uintptr(c.A), uintptr(c.LD), uintptr(c.Stride), uintptr(count))
	})
}

// Symm queues C = A·B on the stream for a symmetric A, of which it reads the upper
// triangle; B and C are m×n (cublasDsymm_64).
func (h *Handle) Symm(m, n int64, a, b, c driver.Matrix) error {
	one, zero := 1.0, 0.0
	return h.dev.Do(func() error {
		return h.run(blasSymm, h.blas, uintptr(Left), upper, uintptr(m), uintptr(n), uintptr(unsafe.Pointer(&one)),
			uintptr(a.A), uintptr(a.LD), uintptr(b.A), uintptr(b.LD), uintptr(unsafe.Pointer(&zero)), uintptr(c.A), uintptr(c.LD))
	})
}

// Trsm overwrites B (m×n) with op(L)⁻¹·B (Left) or B·op(L)⁻¹ (Right) for the lower
// triangle L, on the stream (cublasDtrsm_64).
func (h *Handle) Trsm(side Side, trans Transpose, m, n int64, l, b driver.Matrix) error {
	one := 1.0
	return h.dev.Do(func() error {
		return h.run(blasTrsm, h.blas, uintptr(side), lower, uintptr(trans), nonUnit, uintptr(m), uintptr(n),
			uintptr(unsafe.Pointer(&one)), uintptr(l.A), uintptr(l.LD), uintptr(b.A), uintptr(b.LD))
	})
}

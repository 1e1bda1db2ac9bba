package mathlib

import (
	"unsafe"

	"gpfit/device/cuda/driver"
)

// Transpose says whether a matrix is used as it is or transposed.
type Transpose int

// Values of cublasOperation_t.
const (
	NoTrans Transpose = 0
	Trans   Transpose = 1
)

// Uplo says which triangle holds the matrix; the other one is not touched.
type Uplo int

// Values of cublasFillMode_t.
const (
	Lower Uplo = 0
	Upper Uplo = 1
)

// Side says on which side the special matrix stands.
type Side int

// Values of cublasSideMode_t.
const (
	Left  Side = 0
	Right Side = 1
)

// Diag says whether the diagonal is stored or all ones.
type Diag int

// Values of cublasDiagType_t.
const (
	NonUnit Diag = 0
	Unit    Diag = 1
)

// Gemm puts C = alpha·op(A)·op(B) + beta·C on the stream; op(A) is m×k, op(B)
// k×n, C m×n (cublasDgemm_64). 2mnk flops.
func (h *Handle) Gemm(ta, tb Transpose, m, n, k int64, alpha float64, a driver.Ptr, lda int64, b driver.Ptr, ldb int64, beta float64, c driver.Ptr, ldc int64) error {
	return h.dev.Do(func() error {
		return h.run(blasGemm, h.blas, uintptr(ta), uintptr(tb), uintptr(m), uintptr(n), uintptr(k), uintptr(unsafe.Pointer(&alpha)),
			uintptr(a), uintptr(lda), uintptr(b), uintptr(ldb), uintptr(unsafe.Pointer(&beta)), uintptr(c), uintptr(ldc))
	})
}

// Syrk puts C = alpha·op(A)·op(A)ᵀ + beta·C on the stream for one triangle of
// the n×n matrix C; op(A) is n×k (cublasDsyrk_64). n²k flops.
func (h *Handle) Syrk(uplo Uplo, trans Transpose, n, k int64, alpha float64, a driver.Ptr, lda int64, beta float64, c driver.Ptr, ldc int64) error {
	return h.dev.Do(func() error {
		return h.run(blasSyrk, h.blas, uintptr(uplo), uintptr(trans), uintptr(n), uintptr(k), uintptr(unsafe.Pointer(&alpha)),
			uintptr(a), uintptr(lda), uintptr(unsafe.Pointer(&beta)), uintptr(c), uintptr(ldc))
	})
}

// Symm puts C = alpha·A·B + beta·C (Left) or alpha·B·A + beta·C (Right) on the
// stream for a symmetric A of which one triangle is read; B and C are m×n
// (cublasDsymm_64).
func (h *Handle) Symm(side Side, uplo Uplo, m, n int64, alpha float64, a driver.Ptr, lda int64, b driver.Ptr, ldb int64, beta float64, c driver.Ptr, ldc int64) error {
	return h.dev.Do(func() error {
		return h.run(blasSymm, h.blas, uintptr(side), uintptr(uplo), uintptr(m), uintptr(n), uintptr(unsafe.Pointer(&alpha)),
			uintptr(a), uintptr(lda), uintptr(b), uintptr(ldb), uintptr(unsafe.Pointer(&beta)), uintptr(c), uintptr(ldc))
	})
}

// Trsm overwrites B (m×n) by alpha·op(A)⁻¹·B (Left) or alpha·B·op(A)⁻¹ (Right)
// for a triangular A, on the stream (cublasDtrsm_64).
func (h *Handle) Trsm(side Side, uplo Uplo, trans Transpose, diag Diag, m, n int64, alpha float64, a driver.Ptr, lda int64, b driver.Ptr, ldb int64) error {
	return h.dev.Do(func() error {
		return h.run(blasTrsm, h.blas, uintptr(side), uintptr(uplo), uintptr(trans), uintptr(diag), uintptr(m), uintptr(n),
			uintptr(unsafe.Pointer(&alpha)), uintptr(a), uintptr(lda), uintptr(b), uintptr(ldb))
	})
}

// Trmm puts C = alpha·op(A)·B (Left) or alpha·B·op(A) (Right) on the stream for
// a triangular A; B and C are m×n, and may be the same matrix with the same
// leading dimension (cublasDtrmm_64).
func (h *Handle) Trmm(side Side, uplo Uplo, trans Transpose, diag Diag, m, n int64, alpha float64, a driver.Ptr, lda int64, b driver.Ptr, ldb int64, c driver.Ptr, ldc int64) error {
	return h.dev.Do(func() error {
		return h.run(blasTrmm, h.blas, uintptr(side), uintptr(uplo), uintptr(trans), uintptr(diag), uintptr(m), uintptr(n),
			uintptr(unsafe.Pointer(&alpha)), uintptr(a), uintptr(lda), uintptr(b), uintptr(ldb), uintptr(c), uintptr(ldc))
	})
}

// Gemv puts y = alpha·op(A)·x + beta·y on the stream; A is m×n
// (cublasDgemv_64).
func (h *Handle) Gemv(trans Transpose, m, n int64, alpha float64, a driver.Ptr, lda int64, x driver.Ptr, incx int64, beta float64, y driver.Ptr, incy int64) error {
	return h.dev.Do(func() error {
		return h.run(blasGemv, h.blas, uintptr(trans), uintptr(m), uintptr(n), uintptr(unsafe.Pointer(&alpha)), uintptr(a), uintptr(lda),
			uintptr(x), uintptr(incx), uintptr(unsafe.Pointer(&beta)), uintptr(y), uintptr(incy))
	})
}

// Symv puts y = alpha·A·x + beta·y on the stream for a symmetric n×n matrix of
// which one triangle is read (cublasDsymv_64).
func (h *Handle) Symv(uplo Uplo, n int64, alpha float64, a driver.Ptr, lda int64, x driver.Ptr, incx int64, beta float64, y driver.Ptr, incy int64) error {
	return h.dev.Do(func() error {
		return h.run(blasSymv, h.blas, uintptr(uplo), uintptr(n), uintptr(unsafe.Pointer(&alpha)), uintptr(a), uintptr(lda),
			uintptr(x), uintptr(incx), uintptr(unsafe.Pointer(&beta)), uintptr(y), uintptr(incy))
	})
}

// Trsv overwrites x by op(A)⁻¹·x for a triangular n×n matrix, on the stream
// (cublasDtrsv_64).
func (h *Handle) Trsv(uplo Uplo, trans Transpose, diag Diag, n int64, a driver.Ptr, lda int64, x driver.Ptr, incx int64) error {
	return h.dev.Do(func() error {
		return h.run(blasTrsv, h.blas, uintptr(uplo), uintptr(trans), uintptr(diag), uintptr(n), uintptr(a), uintptr(lda), uintptr(x), uintptr(incx))
	})
}

// Dot returns xᵀy and waits for it (cublasDdot_64).
func (h *Handle) Dot(n int64, x driver.Ptr, incx int64, y driver.Ptr, incy int64) (r float64, err error) {
	err = h.dev.Do(func() error {
		return h.run(blasDot, h.blas, uintptr(n), uintptr(x), uintptr(incx), uintptr(y), uintptr(incy), uintptr(unsafe.Pointer(&r)))
	})
	return r, err
}

// Axpy puts y += alpha·x on the stream (cublasDaxpy_64).
func (h *Handle) Axpy(n int64, alpha float64, x driver.Ptr, incx int64, y driver.Ptr, incy int64) error {
	return h.dev.Do(func() error {
		return h.run(blasAxpy, h.blas, uintptr(n), uintptr(unsafe.Pointer(&alpha)), uintptr(x), uintptr(incx), uintptr(y), uintptr(incy))
	})
}

// Scal puts x *= alpha on the stream (cublasDscal_64).
func (h *Handle) Scal(n int64, alpha float64, x driver.Ptr, incx int64) error {
	return h.dev.Do(func() error {
		return h.run(blasScal, h.blas, uintptr(n), uintptr(unsafe.Pointer(&alpha)), uintptr(x), uintptr(incx))
	})
}

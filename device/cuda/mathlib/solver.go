package mathlib

import (
	"fmt"
	"unsafe"

	"gpfit/device/cuda/driver"
)

// real64 is CUDA_R_64F of cudaDataType.
const real64 = 1

// WorkSize is the memory that a call of cuSOLVER needs beside its matrix, in
// bytes. The host's part is kept by the handle.
type WorkSize struct {
	Device, Host int64
}

// PotrfSize returns what Potrf needs (cusolverDnXpotrf_bufferSize).
func (h *Handle) PotrfSize(uplo Uplo, n int64, a driver.Ptr, lda int64) (w WorkSize, err error) {
	err = h.dev.Do(func() error {
		return h.run(solverPotrfSize, h.solver, h.params, uintptr(uplo), uintptr(n), real64, uintptr(a), uintptr(lda), real64,
			uintptr(unsafe.Pointer(&w.Device)), uintptr(unsafe.Pointer(&w.Host)))
	})
	return w, err
}

// Potrf overwrites one triangle of the n×n matrix A by its Cholesky factor, L
// with A = LLᵀ for Lower, and waits for it (cusolverDnXpotrf). work is device
// memory of size.Device bytes. info is 0, or the order of the leading minor that
// is not positive definite: then the triangle holds part of a factor, and err
// is nil. n³/3 flops.
func (h *Handle) Potrf(uplo Uplo, n int64, a driver.Ptr, lda int64, work driver.Ptr, size WorkSize) (info int, err error) {
	return h.solve(size, func(host uintptr) error {
		return h.run(solverPotrf, h.solver, h.params, uintptr(uplo), uintptr(n), real64, uintptr(a), uintptr(lda), real64,
			uintptr(work), uintptr(size.Device), host, uintptr(size.Host), uintptr(h.info))
	})
}

// TrtriSize returns what Trtri needs (cusolverDnXtrtri_bufferSize).
func (h *Handle) TrtriSize(uplo Uplo, diag Diag, n int64, a driver.Ptr, lda int64) (w WorkSize, err error) {
	err = h.dev.Do(func() error {
		return h.run(solverTrtriSize, h.solver, uintptr(uplo), uintptr(diag), uintptr(n), real64, uintptr(a), uintptr(lda),
			uintptr(unsafe.Pointer(&w.Device)), uintptr(unsafe.Pointer(&w.Host)))
	})
	return w, err
}

// Trtri overwrites one triangle of the n×n matrix A by its inverse as a
// triangular matrix and waits for it (cusolverDnXtrtri). work is as in Potrf.
// info is 0, or the place (from 1) of a zero on the diagonal. n³/3 flops.
func (h *Handle) Trtri(uplo Uplo, diag Diag, n int64, a driver.Ptr, lda int64, work driver.Ptr, size WorkSize) (info int, err error) {
	return h.solve(size, func(host uintptr) error {
		return h.run(solverTrtri, h.solver, uintptr(uplo), uintptr(diag), uintptr(n), real64, uintptr(a), uintptr(lda),
			uintptr(work), uintptr(size.Device), host, uintptr(size.Host), uintptr(h.info))
	})
}

// solve runs a call of cuSOLVER with a workspace on the host and reads its
// info. The workspace is on Go's heap, which does not move, and kept by h.
func (h *Handle) solve(size WorkSize, fn func(host uintptr) error) (info int, err error) {
	err = h.dev.Do(func() error {
		if int64(len(h.host)) < size.Host {
			h.host = make([]byte, size.Host)
		}
		if err := fn(uintptr(unsafe.Pointer(&h.host[0]))); err != nil {
			return err
		}
		value := make([]int32, 1)
		if err := driver.CopyToHost(h.stream, value, h.info); err != nil {
			return err
		}
		info = int(value[0])
		return nil
	})
	if err == nil && info < 0 {
		err = fmt.Errorf("cusolver: argument %d is wrong", -info)
	}
	return info, err
}

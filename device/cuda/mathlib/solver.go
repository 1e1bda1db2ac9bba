package mathlib

import (
	"fmt"
	"unsafe"

	"gpfit/device/cuda/driver"
)

// real64 is CUDA_R_64F of cudaDataType.
const real64 = 1

// Potrf overwrites the lower triangle of the n×n matrix A with its Cholesky factor L, A = LLᵀ, and
// waits for it (cusolverDnXpotrf). minor is 0, or the order of the leading minor that is not
// positive definite; the triangle then holds part of a factor, and err is nil. It takes n³/3 flops.
func (h *Handle) Potrf(n int64, a driver.Matrix) (minor int, err error) {
	err = h.dev.Do(func() error {
		if err := h.openSolver(); err != nil {
			return err
		}
		var device, host int64
		if err := h.run(solverPotrfSize, h.solver, h.params, lower, uintptr(n), real64, uintptr(a.A), uintptr(a.LD), real64,
			uintptr(unsafe.Pointer(&device)), uintptr(unsafe.Pointer(&host))); err != nil {
			return err
		}
		if err := h.reserve(device, host); err != nil {
			return err
		}
		if err := h.run(solverPotrf, h.solver, h.params, lower, uintptr(n), real64, uintptr(a.A), uintptr(a.LD), real64,
			uintptr(h.work), uintptr(device), uintptr(unsafe.Pointer(&h.host[0])), uintptr(host), uintptr(h.info)); err != nil {
			return err
		}
		minor, err = h.readInfo()
		return err
	})
	return minor, err
}

// reserve makes cuSOLVER's workspaces at least as large as requested, in bytes. The
// host's workspace is on Go's heap, which does not move.
func (h *Handle) reserve(device, host int64) error {
	if int64(len(h.host)) < host {
		h.host = make([]byte, host)
	}
	if device <= h.size {
		return nil
	}
	if err := h.dev.Free(h.work); err != nil {
		return err
	}
	h.work, h.size = 0, 0
	p, err := h.dev.Alloc(device)
	if err != nil {
		return err
	}
	h.work, h.size = p, device
	return nil
}

// readInfo waits for cuSOLVER and returns its info.
func (h *Handle) readInfo() (int, error) {
	info := make([]int32, 1)
	if err := driver.CopyToHost(h.stream, info, h.info); err != nil {
		return 0, err
	}
	if info[0] < 0 {
		return 0, fmt.Errorf("cusolver: argument %d is wrong", -info[0])
	}
	return int(info[0]), nil
}

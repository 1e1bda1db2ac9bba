package mathlib

import (
	"fmt"
	"unsafe"
)

// Emulation is a rule for when the libraries may compute products of float64 numbers
// from integer products on the tensor cores. The results then do not conform to IEEE
// 754.
type Emulation int32

// These are values of cublasEmulationStrategy_t, except that [Native] forbids
// emulation.
const (
	Native        Emulation = 0 // float64 arithmetic, on tensor cores if the device has them
	WhereFaster   Emulation = 1 // "performant"
	WherePossible Emulation = 2 // "eager"
)

// String returns NVIDIA's name of the strategy.
func (e Emulation) String() string {
	switch e {
	case WhereFaster:
		return "performant"
	case WherePossible:
		return "eager"
	}
	return "native"
}

// EmulationVariable and strategyVariable are the variables with which users of cuBLAS
// 13 choose emulation.
const (
	EmulationVariable = "CUBLAS_EMULATE_DOUBLE_PRECISION"
	strategyVariable  = "CUBLAS_EMULATION_STRATEGY"
)

// RequestedEmulation returns the emulation that the user's environment requests:
// [Native] unless CUBLAS_EMULATE_DOUBLE_PRECISION is 1.
func RequestedEmulation(getenv func(string) string) Emulation {
	switch {
	case getenv(EmulationVariable) != "1":
		return Native
	case getenv(strategyVariable) == "eager":
		return WherePossible
	}
	return WhereFaster
}

// mathMode is a cublasMath_t, solverMode a cusolverMathMode_t.
type (
	mathMode   int32
	solverMode int32
)

// The default mode of cuBLAS computes with no fewer bits than float64 has, on FP64
// tensor cores if the device has them; its pedantic mode would not use these.
const (
	defaultMath        mathMode   = 0
	emulatedMath       mathMode   = 8
	solverDefaultMath  solverMode = 1
	solverEmulatedMath solverMode = 4
)

// setMathMode sets the math modes and reads them back, so that they do not depend on a
// changed default or on another part of the process. Libraries before CUDA 13 cannot
// emulate float64 and ignore a request. It must run on the thread of the device.
func (h *Handle) setMathMode(want Emulation) error {
	strategies := h.lib.Toolkit.Major >= 13 && h.lib.fn[blasSetStrategy] != 0
	if !strategies {
		want = Native
	}
	blas, solver := defaultMath, solverDefaultMath
	if want != Native {
		blas, solver = emulatedMath, solverEmulatedMath
	}
	if err := h.run(blasSetMathMode, h.blas, uintptr(blas)); err != nil {
		return err
	}
	var gotBLAS mathMode
	if err := h.run(blasGetMathMode, h.blas, uintptr(unsafe.Pointer(&gotBLAS))); err != nil {
		return err
	}
	if gotBLAS != blas {
		return fmt.Errorf("cuBLAS reports math mode %d after gpfit set mode %d", gotBLAS, blas)
	}
	if strategies {
		if err := h.setStrategy(want); err != nil {
			return err
		}
	}
	if h.lib.fn[solverSetMathMode] == 0 {
		return nil
	}
	if err := h.run(solverSetMathMode, h.solver, uintptr(solver)); err != nil {
		return err
	}
	var gotSolver solverMode
	if err := h.run(solverGetMathMode, h.solver, uintptr(unsafe.Pointer(&gotSolver))); err != nil {
		return err
	}
	if gotSolver != solver {
		return fmt.Errorf("cuSOLVER reports math mode %d after gpfit set mode %d", gotSolver, solver)
	}
	return nil
}

// setStrategy sets when cuBLAS emulates, if its math mode permits emulation, and reads
// the setting back.
func (h *Handle) setStrategy(want Emulation) error {
	if err := h.run(blasSetStrategy, h.blas, uintptr(want)); err != nil {
		return err
	}
	if err := h.run(blasGetStrategy, h.blas, uintptr(unsafe.Pointer(&h.emulation))); err != nil {
		return err
	}
	if h.emulation != want {
		return fmt.Errorf("cuBLAS reports emulation strategy %d after gpfit set %d", h.emulation, want)
	}
	return nil
}

// Emulation returns the setting of the libraries.
func (h *Handle) Emulation() Emulation { return h.emulation }

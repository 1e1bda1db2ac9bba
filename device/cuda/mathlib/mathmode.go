package mathlib

import (
	"fmt"
	"unsafe"
)

// Emulation says whether the libraries may compute products of float64 numbers from
// integer products on the tensor cores. The results then do not conform to IEEE 754.
type Emulation int32

// Values of cublasEmulationStrategy_t, but that [Native] forbids emulation.
const (
	Native        Emulation = 0 // float64 arithmetic, on tensor cores where there are any
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

// EmulationVariable and strategyVariable are those with which cuBLAS 13 lets users
// choose emulation.
const (
	EmulationVariable = "CUBLAS_EMULATE_DOUBLE_PRECISION"
	strategyVariable  = "CUBLAS_EMULATION_STRATEGY"
)

// RequestedEmulation is what the user's environment asks for: [Native] unless
// CUBLAS_EMULATE_DOUBLE_PRECISION is 1.
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
// tensor cores where there are any; its pedantic mode would do without these.
const (
	defaultMath        mathMode   = 0
	emulatedMath       mathMode   = 8
	solverDefaultMath  solverMode = 1
	solverEmulatedMath solverMode = 4
)

// setMathMode sets the math modes and reads them back, so that neither a default that
// changes nor another part of the process decides. Libraries before CUDA 13 cannot
// emulate float64; there a request has no effect. It must be on the thread of the
// device.
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
		return fmt.Errorf("cuBLAS is in math mode %d after mode %d was set", gotBLAS, blas)
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
		return fmt.Errorf("cuSOLVER is in math mode %d after mode %d was set", gotSolver, solver)
	}
	return nil
}

// setStrategy sets when cuBLAS emulates, if its math mode lets it, and reads it back.
func (h *Handle) setStrategy(want Emulation) error {
	if err := h.run(blasSetStrategy, h.blas, uintptr(want)); err != nil {
		return err
	}
	if err := h.run(blasGetStrategy, h.blas, uintptr(unsafe.Pointer(&h.emulation))); err != nil {
		return err
	}
	if h.emulation != want {
		return fmt.Errorf("cuBLAS has the emulation strategy %d after %d was set", h.emulation, want)
	}
	return nil
}

// Emulation returns what the libraries were set to.
func (h *Handle) Emulation() Emulation { return h.emulation }

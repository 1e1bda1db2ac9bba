package mathlib

// Emulation is a rule for when the libraries may compute products of float64 numbers
// from integer products on the tensor cores. The results then do not conform to IEEE
// 754.
type Emulation int32

// These are values of cublasEmulationStrategy_t, except that [Native] forbids emulation.
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

// These are values of cublasMath_t and cusolverMathMode_t. The default mode of cuBLAS computes with no fewer bits than float64 has, on FP64
// tensor cores if the device has them; its pedantic mode would not use these.
const (
	defaultMath        = 0
	emulatedMath       = 8
	solverDefaultMath  = 1
	solverEmulatedMath = 4
)

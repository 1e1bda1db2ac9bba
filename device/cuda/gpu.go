package cuda

import "gpfit/device/cuda/mathlib"

// The arguments of the matrix routines, in short.
const (
	plain      = mathlib.NoTrans
	transposed = mathlib.Trans
	left       = mathlib.Left
	right      = mathlib.Right
)

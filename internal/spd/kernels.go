package spd

import "gpfit/internal/variant"

//go:generate go run -C internal/gen . -isa avx512 -out ../../kernels_avx512_amd64.s -stubs ../../kernels_avx512_amd64.go -pkg spd
//go:generate go run -C internal/gen . -isa avx2 -out ../../kernels_avx2_amd64.s -stubs ../../kernels_avx2_amd64.go -pkg spd
//go:generate go run -C internal/gen ./neon -out ../../kernels_neon_arm64.s -stubs ../../kernels_neon_arm64.go -pkg spd

// kernels names the micro-kernels of a variant. Its methods, in kernels_GOARCH.go, call
// them directly, so that the compiler knows that they keep no pointer.
type kernels struct {
	set   variant.Variant
	lanes int // rows of a panel
}

func kernelsOf(v variant.Variant) kernels {
	if v == variant.AVX512 {
		return kernels{set: v, lanes: 8}
	}
	return kernels{set: v, lanes: goLanes}
}

// group is the largest number of panels that a micro-kernel multiplies at once.
const group = 3

// What a product does with its tile C.
const (
	replace         = iota // C = B·Aᵀ
	replaceNegative        // C = −B·Aᵀ
	add                    // C += B·Aᵀ
	subtract               // C −= B·Aᵀ
)

// goLanes are the rows of a panel of the other variants.
const goLanes = 4

// roundUp returns the next multiple of unit.
func roundUp(n, unit int) int { return (n + unit - 1) / unit * unit }

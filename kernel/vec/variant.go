package vec

import "gpfit/internal/variant"

//go:generate go run -C internal/gen . -isa avx512 -out ../../vec_avx512_amd64.s -stubs ../../vec_avx512_amd64.go -pkg vec
//go:generate go run -C internal/gen . -isa avx2 -out ../../vec_avx2_amd64.s -stubs ../../vec_avx2_amd64.go -pkg vec
//go:generate go run ./internal/dispatch

const (
	generic = variant.Generic
	avx2    = variant.AVX2
	avx512  = variant.AVX512
)

// active is the variant in use. After the start, only tests change it.
var active = choose(variant.Choose())

// choose returns the variant for one of package variant. There is none for NEON, nor for a
// name in GPFIT_CPU that is an error, which the CPU's device returns.
func choose(v variant.Variant, err error) variant.Variant {
	if err != nil || v == variant.NEON {
		return generic
	}
	return v
}
